import { realpathSync } from 'node:fs'
import { questionAbout } from '../../core/interaction.ts'
import { isRecord } from '../../core/is-record.ts'
import { fullyVisible, visibleName } from '../../platform/visible-text.ts'
import { cutToWidth } from '../../tui/terminal/text-width.ts'
import type { PendingApproval } from '../../workflow/agent/pending-calls.ts'
import { callsNamed } from '../../workflow/agent/pending-calls.ts'
import { CliError } from '../cli-error.ts'
import { promptFacts } from '../sessions/prompt-facts.ts'

/** A waiting call, on a line of a list. */
export function waitingTitle(call: Pick<PendingApproval, 'isQuestion' | 'name' | 'input'>): string {
  const what = call.isQuestion
    ? `asks: ${questionIn(call.input)}`
    : `wants to: ${call.name} ${JSON.stringify(call.input)}`
  return cutToWidth(visibleName(what.slice(0, 500)), 100)
}

/** A waiting call in full, and how to answer it. Made from the call itself, so that the person sees what is allowed. */
export function waitingLines(call: PendingApproval, agentId: string, waiting: readonly PendingApproval[]): string[] {
  const name = fullyVisible(agentId)
  const answered = fullyVisible(nameOfCall(call, agentId, waiting))
  if (call.isQuestion)
    return [
      `The agent asks: ${fullyVisible(questionIn(call.input))}`,
      ...optionsIn(call.input).map((option) => `    - ${option}`),
      `To answer: libero agents answer ${name} ${answered} "…"`,
    ]
  const input = fullyVisible(JSON.stringify(call.input, null, 2), { lines: 'kept' }).split('\n')
  return [
    `The agent needs an approval: ${fullyVisible(call.name)}${reasonText(call)}`,
    ...[...folderLines(call), ...promptFacts(call.request), ...input].map((line) => `    ${line}`),
    `To answer: libero agents answer ${name} ${answered} --allow (or --deny)`,
    ...choicesOf(call).flatMap(({ scope, words }) =>
      scope === 'once' ? [] : [`    --allow --scope ${scope}: ${words}`],
    ),
  ]
}

/** For how long a call may be allowed, besides once. */
export const scopesOffered = (call: Pick<PendingApproval, 'request' | 'callId'>): string[] =>
  choicesOf(call).flatMap(({ scope }) => (scope === 'once' ? [] : [scope]))

/** What the question offers, in its words. */
function choicesOf({ request, callId }: Pick<PendingApproval, 'request' | 'callId'>) {
  const { choices } = questionAbout(request, callId)
  return (Array.isArray(choices) ? choices : [])
    .filter(isRecord)
    .flatMap(({ scope, words }) =>
      typeof scope === 'string' && typeof words === 'string' ? [{ scope, words: fullyVisible(words) }] : [],
    )
}

/** The folder in which a call would run, as a line of a prompt. */
export function folderLines(call: PendingApproval): string[] {
  const folder = askedFolder(call)
  return folder === undefined ? [] : [`runs in: ${fullyVisible(folder)}`]
}

/** The name of a call to type: the short id if it is unique, else the whole one. */
export function nameOfCall(call: PendingApproval, agentId: string, waiting: readonly PendingApproval[]): string {
  const isShort = call.sessionId === agentId && callsNamed(call.callId, waiting).length === 1
  return isShort ? call.callId : call.approvalId
}

/** The reason, unless it only repeats that an approval is needed. */
export const reasonText = ({ reason }: Pick<PendingApproval, 'reason'>): string =>
  reason === 'permission-required' ? '' : ` (${fullyVisible(reason)})`

/** A waiting call as JSON. */
export function waitingJson(call: PendingApproval): object {
  const { callId, approvalId, name, input, reason, isQuestion, sessionId } = call
  const folder = askedFolder(call)
  return {
    callId,
    approvalId,
    kind: isQuestion ? 'question' : 'permission',
    tool: name,
    input,
    reason,
    ...(folder !== undefined && { folder }),
    agentId: sessionId,
  }
}

export const questionIn = (input: Readonly<Record<string, unknown>>): string =>
  typeof input.question === 'string' ? input.question : JSON.stringify(input)

function optionsIn({ options }: Readonly<Record<string, unknown>>): string[] {
  if (!Array.isArray(options)) return []
  return options.slice(0, 50).flatMap((option: unknown) => {
    if (!isRecord(option) || typeof option.label !== 'string') return []
    const { label, description } = option
    return [fullyVisible(typeof description === 'string' ? `${label}: ${description}` : label)]
  })
}

/** The folder that the approval request shows for a call; `undefined` for a question, or if it shows none. */
function askedFolder({ request, callId }: Pick<PendingApproval, 'request' | 'callId'>): string | undefined {
  const payload = isRecord(request) && isRecord(request.payload) ? request.payload : {}
  const calls = Array.isArray(payload.calls) ? payload.calls.filter(isRecord) : []
  const own = calls.find(({ call }) => isRecord(call) && call.callId === callId) ?? payload
  const lines = isRecord(own.consent) && Array.isArray(own.consent.lines) ? own.consent.lines : []
  const line = lines.find((one): one is string => typeof one === 'string' && one.startsWith(runsIn))
  return line?.includes('[REDACTED:') ? undefined : line?.slice(runsIn.length)
}

const runsIn = 'runs in: '

/** Throws unless this is the folder of the call: an approval is valid for one folder only. */
export function requireAskedFolder(call: PendingApproval, cwd: string): void {
  const folder = askedFolder(call)
  if (folder === undefined || isSameFolder(folder, cwd)) return
  const [where, here] = [fullyVisible(folder), fullyVisible(cwd)]
  throw new CliError(
    `${fullyVisible(call.name)} is to run in ${where}, but this is ${here}; allow it there (cd ${where}), or deny it with --deny. Nothing was done`,
  )
}

function isSameFolder(folder: string, cwd: string): boolean {
  return (
    folder === fullyVisible(cwd) || folder === fullyVisible(realPathOf(cwd)) || realPathOf(folder) === realPathOf(cwd)
  )
}

function realPathOf(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    return path
  }
}

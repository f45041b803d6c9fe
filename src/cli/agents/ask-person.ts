import type { Interactor } from '../../authority/interaction/interactor-queue.ts'
import type { Interact } from '../../core/interaction.ts'
import { isRecord } from '../../core/is-record.ts'
import { fullyVisible } from '../../platform/visible-text.ts'
import type { PendingApproval } from '../../workflow/agent/pending-calls.ts'
import type { Workflow } from '../../workflow/workflow.ts'
import { interactWith } from '../assembly/workspace.ts'
import { CliError } from '../cli-error.ts'
import { promptFacts } from '../sessions/prompt-facts.ts'
import type { OpenedWorkflow } from './open-workflow.ts'
import { folderLines, questionIn, reasonText, requireAskedFolder } from './pending-calls.ts'

/** The person's reply to a waiting call. */
interface Reply {
  /** The call that the person allowed. */
  readonly allowed?: PendingApproval
  give(workflow: Workflow, agentId: string): ReturnType<Workflow['answerQuestion']>
}

/**
 * Asks the person at the terminal about a waiting call; `undefined` if the person does not answer. Rejects if the
 * person allows a call that is to run in another folder than `cwd`.
 */
export async function askPerson(
  person: Interactor,
  call: PendingApproval,
  { signal, cwd }: { readonly signal: AbortSignal; readonly cwd: string },
): Promise<Reply | undefined> {
  const ask = await interactWith(person)
  if (call.isQuestion) {
    const text = await askForText(ask, call, signal)
    if (text === undefined) return undefined
    return { give: (workflow, agentId) => workflow.answerQuestion(agentId, call.approvalId, text) }
  }
  const answer = await ask({ kind: kindOf(call), payload: payloadOf(call) }, signal)
  if (answer.status === 'timeout') return undefined
  const isAllowed = answer.status === 'accepted'
  const note = !isAllowed && answer.reason !== undefined && answer.reason !== '' ? { note: answer.reason } : {}
  if (isAllowed) requireAskedFolder(call, cwd)
  const decision = isAllowed ? 'allow' : 'deny'
  return {
    ...(isAllowed && { allowed: call }),
    give: (workflow, agentId) => workflow.resolveApproval(agentId, call.approvalId, decision, { by: 'user', ...note }),
  }
}

/** An empty answer is probably a slip, so the question is repeated. */
async function askForText(ask: Interact, call: PendingApproval, signal: AbortSignal): Promise<string | undefined> {
  const payload = payloadOf(call)
  let hint = ''
  for (;;) {
    const prompt = `${payload.prompt}${hint}`
    const answer = await ask({ kind: kindOf(call), payload: { ...payload, prompt } }, signal)
    if (answer.status !== 'accepted') return undefined
    const text = answerText(answer.value)
    if (text.trim() !== '') return text
    hint = '\n(Nothing was typed. Type an answer, or leave it for later with Esc.)'
  }
}

function kindOf({ isQuestion, input }: PendingApproval): 'Confirm' | 'Select' | 'Ask' {
  if (!isQuestion) return 'Confirm'
  const hasOptions = Array.isArray(input.options) && input.options.length > 0
  return hasOptions && input.inputType !== 'text' ? 'Select' : 'Ask'
}

function payloadOf(call: PendingApproval): Record<string, unknown> {
  const { input, callId: questionId } = call
  const kind = kindOf(call)
  if (kind === 'Confirm') {
    const args = fullyVisible(JSON.stringify(input, null, 2), { lines: 'kept' })
    return {
      kind,
      prompt: `May the agent use ${fullyVisible(call.name)}?${reasonText(call)}\n${[...folderLines(call), ...promptFacts(call.request), args].join('\n')}`,
    }
  }
  if (kind === 'Ask') return { kind, prompt: questionIn(input), questionId }
  const multiSelect = input.inputType === 'multi-select'
  const allowFreeform = input.allowFreeform !== false
  return { kind, prompt: questionIn(input), options: input.options, multiSelect, allowFreeform, questionId }
}

/** The answer as `ask-question` expects it: a label, a text, or a JSON list of both. */
function answerText(value: unknown): string {
  if (Array.isArray(value)) return JSON.stringify(value.map(labelOf))
  return labelOf(value)
}

const labelOf = (option: unknown): string =>
  isRecord(option) && typeof option.label === 'string' ? option.label : String(option)

interface Question {
  readonly person: Interactor
  readonly agentId: string
  readonly call: PendingApproval
  readonly cwd: string
  /** Closes the prompt. Aborted at the end in any case. */
  readonly closing: AbortController
}

/** Asks the person about a waiting call, until it is answered here, or `answered` in another process, or withdrawn. */
export async function askUntilAnswered(
  opened: Pick<OpenedWorkflow, 'workflow' | 'store'>,
  { person, agentId, call, cwd, closing }: Question,
): Promise<Reply | 'answered' | undefined> {
  const { signal } = closing
  const isAnswered = untilAnsweredElsewhere(opened, { agentId, call, signal }).then((isOver) => {
    if (isOver) closing.abort()
    return isOver
  })
  try {
    const reply = await askPerson(person, call, { signal, cwd }).catch((error: unknown) => {
      if (error instanceof CliError) throw error // otherwise the dialog was closed, which has been reported
    })
    closing.abort()
    return reply ?? ((await isAnswered) ? 'answered' : undefined)
  } finally {
    closing.abort()
  }
}

/**
 * Whether a call stopped waiting before `signal` aborted: it was answered in another process, replaced by a new message,
 * or its agent was stopped. Never rejects: if the call cannot be followed, the prompt stays open.
 */
export async function untilAnsweredElsewhere(
  { workflow, store }: Pick<OpenedWorkflow, 'workflow' | 'store'>,
  { agentId, call, signal }: Pick<Question, 'agentId' | 'call'> & { readonly signal: AbortSignal },
): Promise<boolean> {
  const isPending = async (): Promise<boolean> => {
    const waiting = await workflow.pending(agentId).catch(() => [])
    return waiting.some(({ approvalId }) => approvalId === call.approvalId)
  }
  const follow = async (id: string): Promise<boolean> => {
    const after = (await store.find(id))?.head ?? 0
    if (!(await isPending())) return true
    for await (const _ of store.watch(id, { after, signal })) if (!signal.aborted && !(await isPending())) return true
    return false
  }
  // A call of a sub-agent is answered in its own log, or dropped in the log of its parent.
  const both = [...new Set([agentId, call.sessionId])].map(async (id) => {
    if (!(await follow(id))) throw new Error('no longer followed')
    return true
  })
  return Promise.any(both).catch(() => false)
}

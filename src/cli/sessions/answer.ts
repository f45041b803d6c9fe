import type { SessionStore } from '../../core/store.ts'
import { fullyVisible } from '../../platform/visible-text.ts'
import { type OpenCall, openCalls } from '../../sessions/open-calls.ts'
import { loadSession } from '../../sessions/session.ts'
import { CliError, exitCodes, UsageError } from '../cli-error.ts'
import { editsOffered, readEditsFlag } from '../edits-flag.ts'
import type { Io } from '../io.ts'
import { jsonText } from '../text.ts'
import { findSession } from './find-session.ts'
import { requireSessionId, type SessionArgs, withStore } from './open-store.ts'
import { promptFacts } from './prompt-facts.ts'
import { isAgentId } from './session-id.ts'

type AnswerArgs = SessionArgs<{
  readonly note?: string
  readonly edits?: string
  readonly text?: string
  readonly json?: boolean
}>

/** `libero sessions answer`: lists the calls that need an answer, or answers one of them. */
export async function answer({ values, words }: AnswerArgs, io: Io): Promise<number> {
  const { session, callId, decision } = readWords(words, values)
  return withStore(io, async (store) => {
    const id = await findSession(store, session)
    const waiting = await openCalls(store, id)
    if (values.json) io.out(jsonText(waiting))
    else if (waiting.length === 0) io.err(`Session ${fullyVisible(id)} waits for nothing`)
    if (decision === undefined && values.text === undefined) {
      if (!values.json) for (const call of waiting) for (const line of callLines(call, id)) io.out(line)
      return exitCodes.done
    }
    if (waiting.length === 0) return exitCodes.error
    if (isAgentId(id))
      throw new CliError(`${fullyVisible(id)} is an agent; answer it with: libero agents answer ${fullyVisible(id)}`)
    const call = findCall(waiting, id, callId)
    await sendAnswer(store, call, { ...values, decision }, io)
    const label = decision === undefined ? 'Answered' : decisionLabels[decision]
    io.err(
      `${label}${values.edits === undefined ? '' : `, edits ${fullyVisible(values.edits)} only`}: ${fullyVisible(call.name)} (${fullyVisible(call.callId)}); continue with: libero sessions resume ${fullyVisible(id)}`,
    )
    return exitCodes.done
  })
}

const decisionLabels = { allow: 'Allowed, for this once', deny: 'Refused' }

type AnswerDecision = keyof typeof decisionLabels | undefined

function readWords(words: readonly string[], { note, edits, text }: AnswerArgs['values']) {
  const session = requireSessionId(words, 'answer')
  const rest = words.slice(1)
  const last = rest.at(-1)
  const decision: AnswerDecision = last === 'allow' || last === 'deny' ? last : undefined
  if (decision) rest.pop()
  if (rest.length > 1) throw new UsageError(`sessions answer takes allow or deny, got "${fullyVisible(rest[1]!)}"`)
  if (decision && text !== undefined)
    throw new UsageError('--text answers a question, allow and deny decide about a call; give one of them')
  if (note !== undefined && !decision) throw new UsageError('--note needs allow or deny; add one of them')
  if (edits !== undefined && decision !== 'allow') throw new UsageError('--edits needs allow; add it')
  return { session, callId: rest[0], decision }
}

/** Built from the call itself, so that the person sees exactly what they allow. */
function callLines(call: OpenCall, id: string): string[] {
  const { sessionId, callId, name, input, reason, wasAsked, request } = call
  const where = sessionId === id ? '' : ` (of ${fullyVisible(sessionId)})`
  const what = wasAsked ? 'waits for a decision' : `asks: ${fullyVisible(reason)}`
  const lines = fullyVisible(JSON.stringify(input, null, 2), { lines: 'kept' }).split('\n')
  const edits = editsOffered(call)
  const hint = edits > 0 ? [`It has ${edits} edits; allow only some of them with: allow --edits 1,2`] : []
  const details = [...promptFacts(request), ...lines, ...hint].map((line) => `    ${line}`)
  return [`${fullyVisible(callId)}  ${fullyVisible(name)} ${what}${where}`, ...details]
}

/** Models number their calls, so a child's call may have the id of another: calls of session `id` come first. */
function findCall(waiting: readonly OpenCall[], id: string, callId: string | undefined): OpenCall {
  const named = waiting.map((call) => `${fullyVisible(call.callId)} (${fullyVisible(call.name)})`).join(', ')
  if (callId === undefined) {
    if (waiting.length === 1) return waiting[0]!
    throw new UsageError(`${waiting.length} calls wait: ${named}; name one of them before allow or deny`)
  }
  const matches = waiting.filter((one) => one.callId === callId)
  const call = matches.length === 1 ? matches[0] : matches.find(({ sessionId }) => sessionId === id)
  if (call) return call
  if (matches.length === 0)
    throw new CliError(`No call "${fullyVisible(callId)}" waits for an answer; waiting: ${named}`)
  const owners = matches.map(({ sessionId }) => fullyVisible(sessionId)).join(', ')
  throw new CliError(
    `${matches.length} calls have the id "${fullyVisible(callId)}", in the sessions ${owners}; name one of these instead of ${fullyVisible(id)}`,
  )
}

async function sendAnswer(
  store: SessionStore,
  call: OpenCall,
  { decision, note, text, edits: only }: AnswerArgs['values'] & { readonly decision: AnswerDecision },
  io: Io,
): Promise<void> {
  const session = await loadSession(store, call.sessionId)
  const by = io.env.USER || io.env.USERNAME || 'user'
  if (!call.wasAsked) {
    if (text === undefined)
      throw new UsageError(`${fullyVisible(call.name)} asked a question; answer it with --text "…"`)
    await session.answer(call.callId, { content: text, by })
    return
  }
  if (decision === undefined) throw new UsageError(`${fullyVisible(call.name)} waits for a decision; say allow or deny`)
  const edits = readEditsFlag({ ...(only !== undefined && { edits: only }), ...(note !== undefined && { note }) }, call)
  const { createAuthority } = await import('../../authority/authority.ts')
  const authority = createAuthority({ home: io.home })
  try {
    const said = note !== undefined && { note }
    await authority.answer(session, call.callId, { decision, by, ...(edits ? { edits } : said) })
  } finally {
    await authority.close()
  }
}

import type { Decision, ToolOrigin } from '../core/authority.ts'
import type { HookContexts } from '../core/hook-map.ts'
import type { EntryOf, WantedSignature } from '../core/log.ts'
import type { Run } from '../core/run.ts'
import type { AnswerKey } from './grants/answer-key.ts'
import type { ApprovalScope } from './grants/grants.ts'
import type { InteractionOutcome, Interactions } from './interaction/interactions.ts'

type Gate = HookContexts['tool:gate']

/** A question about one or several calls, as it is shown and stored in the log. */
export interface Question {
  readonly kind: 'Approve' | 'grantStageTool'
  readonly calls: readonly QuestionedCall[]
  readonly payload: Readonly<Record<string, unknown>>
  readonly timeoutMs?: number
}

/** One call of a question. */
export interface QuestionedCall {
  readonly callId: string
  readonly digest: string
  readonly name: string
  readonly input: Gate['input']
  readonly parentCallId?: string
  readonly origin: ToolOrigin
  /** The scopes a person may choose. A wider one counts as `once`. */
  readonly scopes: readonly ApprovalScope[]
  readonly reason: string
}

type Verdicts =
  | { readonly status: 'answered'; readonly by: string; readonly answers: ReadonlyMap<string, Answer> }
  /** No interactor is attached for this question, or the last one left. */
  | { readonly status: 'unattended' | 'left'; readonly correlationId?: string }

/** The answer about one call. */
export interface Answer {
  readonly decision: 'allow' | 'deny' | 'expired'
  readonly scope: ApprovalScope
  readonly expiresAt?: number
  readonly note?: string
}

interface AskContext {
  readonly run: Run
  readonly interactions: Interactions
  readonly key: AnswerKey
  readonly sessionId: string
}

/**
 * Asks a question. The log stores it first, so that it survives a crash and another process can answer it. The first
 * answer counts, from wherever it comes.
 */
export async function askPerson(question: Question, asking: AskContext): Promise<Verdicts> {
  const { run, interactions } = asking
  const request = { kind: question.kind, payload: question.payload }
  if (interactions.whoAnswers(question.kind) === 'unattended') {
    const { correlationId } = await interactions.interact(request, { signal: run.cancellation.signal })
    return { status: 'unattended', correlationId }
  }
  const answered = new AbortController()
  const elsewhere = answerFromElsewhere(question, asking, answered.signal)
  elsewhere.catch(() => {}) // the race below handles the rejection
  try {
    for (const call of question.calls) await logQuestion(asking, call, question.payload)
    const here = interactions.interact(request, {
      signal: AbortSignal.any([run.cancellation.signal, answered.signal]),
      ...(question.timeoutMs !== undefined && { timeoutMs: question.timeoutMs }),
    })
    here.catch(() => {}) // it rejects when the other answer came first
    const first = await Promise.race([here, elsewhere])
    if ('entry' in first) return fromLog(first.entry)
    if (first.status === 'unattended' || first.status === 'left') return first
    const verdicts = fromPerson(question, first as Answered)
    for (const call of question.calls) await logAnswer(asking, call, verdicts.by, verdicts.answers.get(call.callId)!)
    return verdicts
  } finally {
    answered.abort()
  }
}

async function logQuestion(
  { run, key }: AskContext,
  about: QuestionedCall,
  payload: Question['payload'],
): Promise<void> {
  const { callId, digest, reason, name, input, parentCallId, origin } = about
  const known = run.log.transcript.approvals.get(callId)
  const signature = signatureOf(key)
  const isAsked = known?.type === 'approval_requested' && known.digest === digest
  if (isAsked && known.signature?.keyId === signature.keyId) return
  const nested = parentCallId !== undefined && { call: { name, input } }
  const asked = { callId, digest, reason, request: payload, signature, origin, ...nested }
  await run.log.append({ type: 'approval_requested', ...asked })
}

/** The key an answer must be signed with, as the question states it. */
export const signatureOf = ({ id }: AnswerKey): WantedSignature => (id === undefined ? {} : { keyId: id })

/** Reports to hooks why an answer does not count, before the question is asked again. */
export function reportInvalidAnswer(
  { hooks }: Run,
  { callId, name }: Pick<QuestionedCall, 'callId' | 'name'>,
  { by, mac }: Pick<EntryOf<'approval_answered'>, 'by' | 'mac'>,
): Promise<void> | void {
  const reason = mac === undefined ? 'it is not signed' : 'it is not signed with the key of this authority'
  if (hooks.has('approval:invalid')) return hooks.tell('approval:invalid', { callId, name, by, reason })
}

/** Waits for an answer from another process, through the session. An invalid one is reported, and the question asked again. */
function answerFromElsewhere(
  { calls: [about], payload }: Question,
  asking: AskContext,
  signal: AbortSignal,
): Promise<{ entry: EntryOf<'approval_answered'> }> {
  const { run, key, sessionId } = asking
  const { callId, digest } = about!
  const askAgain = async (entry: EntryOf<'approval_answered'>): Promise<void> => {
    await reportInvalidAnswer(run, about!, entry)
    await logQuestion(asking, about!, payload)
  }
  return new Promise((resolve, reject) => {
    const off = run.log.subscribe((entry) => {
      if (entry.type !== 'approval_answered' || entry.callId !== callId || entry.digest !== digest) return
      if (isGenuine(entry, key, sessionId)) resolve({ entry })
      else askAgain(entry).catch(reject)
    })
    signal.addEventListener('abort', off, { once: true })
  })
}

/** Whether an answer in a log was signed with the key. A denial needs no signature. */
export function isGenuine(
  answer: Pick<EntryOf<'approval_answered'>, 'callId' | 'digest' | 'decision' | 'by' | 'mac'>,
  key: AnswerKey,
  sessionId: string,
): boolean {
  const { callId, digest, decision, by, mac } = answer
  if (decision !== 'allow') return true
  return mac !== undefined && key.verify({ sessionId, callId, digest, decision, by }, mac)
}

function fromLog({ callId, decision, by }: EntryOf<'approval_answered'>): Verdicts {
  return { status: 'answered', by, answers: new Map([[callId, { decision, scope: 'once' }]]) }
}

function fromPerson({ kind, calls }: Question, outcome: Answered): Verdicts & { status: 'answered' } {
  const by = outcome.by ?? 'user'
  const answers = new Map(calls.map((call) => [call.callId, answerFor(kind, call, outcome)]))
  return { status: 'answered', by, answers }
}

type Answered = Extract<InteractionOutcome, { status: 'accepted' | 'rejected' | 'timeout' }>

function answerFor(kind: Question['kind'], { callId, scopes }: QuestionedCall, outcome: Answered): Answer {
  if (outcome.status === 'timeout') return { decision: 'expired', scope: 'once', note: 'no answer came in time' }
  if (outcome.status === 'rejected') return { decision: 'deny', scope: 'once', note: outcome.reason }
  const { value } = outcome
  if (typeof value !== 'object' || value === null)
    return value === false
      ? { decision: 'deny', scope: 'once' }
      : { decision: 'allow', scope: plainYes(kind, scopes, outcome.by) }
  const { scope, expiresAt, note, calls } = value as Partial<PersonalAnswer>
  const decision = calls ? calls[callId] : 'allow'
  const offered = scope !== undefined && scopes.includes(scope)
  return {
    // A call that a batch answer does not name is denied.
    decision: decision === 'allow' ? 'allow' : 'deny',
    scope: offered ? scope : 'once',
    ...(typeof expiresAt === 'number' && { expiresAt }),
    ...(typeof note === 'string' && { note }),
  }
}

/** An answer without a scope counts for the session where that may be offered, but not in stages and not from `yolo`. */
function plainYes(kind: Question['kind'], scopes: readonly ApprovalScope[], by: string | undefined): ApprovalScope {
  return kind === 'Approve' && by !== 'yolo' && scopes.includes('session') ? 'session' : 'once'
}

/** What an interactor may answer to `Approve`, besides `true` (for the session) and `false`. Without a scope: once. */
export interface PersonalAnswer {
  readonly scope?: ApprovalScope
  /** When a grant ends, in milliseconds since 1970. */
  readonly expiresAt?: number
  /** For the model. */
  readonly note?: string
  /** In a prompt about several calls: the decision by call id. A missing call is denied. */
  readonly calls?: Readonly<Record<string, 'allow' | 'deny'>>
}

/** Writes the signed answer to the log, so that a crash does not repeat the question. */
async function logAnswer(
  { run, key, sessionId }: AskContext,
  about: QuestionedCall,
  by: string,
  answer: Answer,
): Promise<void> {
  const { callId, digest } = about
  const { decision } = answer
  const known = run.log.transcript.approvals.get(callId)
  if (known?.type !== 'approval_requested' || known.digest !== digest) return
  const mac = decision === 'allow' && { mac: key.sign({ sessionId, callId, digest, decision, by }) }
  const said = answer.note ? { note: [{ type: 'text' as const, text: answer.note }] } : {}
  await run.log.append({ type: 'approval_answered', callId, digest, decision, by, ...mac, ...said })
}

/** The decision for a denied or unanswered call. */
export function denialBy(by: string, { decision, note }: Answer): Decision {
  const code = decision === 'expired' ? 'ApprovalTimedOut' : 'ApprovalDenied'
  const why = decision === 'expired' ? 'no answer came in time' : note ? `denied by ${by}: ${note}` : `denied by ${by}`
  return { verdict: 'deny', by: 'person', why, code }
}

import type { ApprovalExtent, ApprovalScope, Decision, ToolOrigin } from '../core/authority.ts'
import { denialsText, type EditDecision, isDenied } from '../core/edit-outcomes.ts'
import type { HookContexts } from '../core/hook-map.ts'
import type { EntryOf, WantedSignature } from '../core/log.ts'
import type { Run } from '../core/run.ts'
import { requestApproval } from '../core/tool-gate.ts'
import type { AnswerKey } from './grants/answer-key.ts'
import { readGrantRule } from './grants/grant-rule.ts'
import type { UsedAnswers } from './grants/used-answers.ts'
import { type ApprovalOption, chosenOption } from './interaction/approval-options.ts'
import type { InteractionOutcome, Interactions } from './interaction/interactions.ts'
import { nextAttempt } from './use-answers.ts'

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
  /** What a person may choose. A scope that is not among them counts as `once`. */
  readonly choices: readonly ApprovalOption[]
  /** How many edits it has that can be decided about one by one. */
  readonly edits: number
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
  /** Its commands run outside any sandbox. */
  readonly where?: 'outside'
  /** The decision about each edit, if some are denied. */
  readonly edits?: readonly EditDecision[]
  /** The rule to keep for the project. */
  readonly rule?: string
}

interface AskContext {
  readonly run: Run
  readonly interactions: Interactions
  readonly key: AnswerKey
  readonly used: UsedAnswers
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
    if ('entry' in first) return fromLog(question, first.entry)
    if (first.status === 'unattended' || first.status === 'left') return first
    const verdicts = fromPerson(question, first as Answered)
    for (const call of question.calls) await logAnswer(asking, call, verdicts.by, verdicts.answers.get(call.callId)!)
    return verdicts
  } finally {
    answered.abort()
  }
}

function logQuestion({ run, key }: AskContext, about: QuestionedCall, request: Question['payload']): Promise<void> {
  const { digest, reason, origin } = about
  return requestApproval(run, about, origin, { digest, reason, request, signature: signatureOf(key) })
}

/** The key an answer must be signed with, as the question states it. */
export const signatureOf = ({ id }: AnswerKey): WantedSignature => (id === undefined ? {} : { keyId: id })

/** Reports to hooks why an answer does not count, before the question is asked again. */
export function reportInvalidAnswer(
  { hooks }: Run,
  { callId, name }: Pick<QuestionedCall, 'callId' | 'name'>,
  { by }: Pick<EntryOf<'approval_answered'>, 'by'>,
  reason: string,
): Promise<void> | void {
  if (hooks.has('approval:invalid')) return hooks.tell('approval:invalid', { callId, name, by, reason })
}

/** Waits for an answer from another process, through the session. An invalid one is reported, and the question asked again. */
function answerFromElsewhere(
  { calls: [about], payload }: Question,
  asking: AskContext,
  signal: AbortSignal,
): Promise<{ entry: EntryOf<'approval_answered'> }> {
  const { run } = asking
  const { callId, digest } = about!
  return new Promise((resolve, reject) => {
    const receive = async (entry: EntryOf<'approval_answered'>): Promise<void> => {
      const reason = await whyInvalid(entry, { ...asking, ...about! })
      if (reason === undefined) return resolve({ entry })
      await reportInvalidAnswer(run, about!, entry, reason)
      await logQuestion(asking, about!, payload)
    }
    const off = run.log.subscribe((entry) => {
      if (entry.type !== 'approval_answered' || entry.callId !== callId || entry.digest !== digest) return
      receive(entry).catch(reject)
    })
    signal.addEventListener('abort', off, { once: true })
  })
}

/** Why an answer in a log does not count: an `allow` must be signed with the key, and lets its call through once. */
export async function whyInvalid(
  answer: StoredExtent & Pick<EntryOf<'approval_answered'>, 'callId' | 'digest' | 'decision' | 'by' | 'mac'>,
  { run, key, used, sessionId, edits }: Omit<AskContext, 'interactions'> & Pick<QuestionedCall, 'edits'>,
): Promise<string | undefined> {
  const { callId, digest, decision, by, mac } = answer
  if (decision !== 'allow') return undefined
  if (mac === undefined) return 'it is not signed'
  if (!key.verify({ sessionId, callId, digest, decision, by, ...extentOf(answer) }, mac))
    return 'it is not signed with the key of this authority'
  if (answer.edits && answer.edits.length !== edits)
    return `it decides about ${answer.edits.length} edits, but the call has ${edits} to decide about`
  const isUsed = run.session && (await used.isUsed({ sessionId, mac, attempt: nextAttempt(run, callId) }))
  return isUsed ? 'the call has already run by it' : undefined
}

/**
 * The extent of an answer, as signed and logged. Missing fields mean: scope `once`, the place that was proposed, all edits
 * allowed. An answer that denies an edit counts for its call only.
 */
export function extentOf({ scope = 'once', where, edits, rule }: ApprovalExtent): StoredExtent {
  const isPartial = edits?.some(isDenied) === true
  return {
    ...(scope !== 'once' && !isPartial && { scope }),
    ...(where === 'outside' && { where }),
    ...(isPartial && { edits }),
    ...(scope === 'project' && !isPartial && rule !== undefined && { rule }),
  }
}

type StoredExtent = Pick<EntryOf<'approval_answered'>, 'scope' | 'where' | 'edits' | 'rule'>

function fromLog({ calls }: Question, entry: EntryOf<'approval_answered'>): Verdicts {
  const { callId, by } = entry
  const { choices } = calls.find((call) => call.callId === callId)!
  return { status: 'answered', by, answers: new Map([[callId, loggedAnswer(entry, choices)]]) }
}

/** The answer in a log entry, reduced to what the question offered. */
export function loggedAnswer(
  answer: StoredExtent & Pick<Answer, 'decision'>,
  choices: readonly ApprovalOption[],
): Answer {
  const { decision } = answer
  return decision === 'allow' ? allowing(choices, answer) : { decision, scope: 'once' }
}

function allowing(choices: readonly ApprovalOption[], wanted: ApprovalExtent): Answer {
  const { edits } = extentOf(wanted)
  if (edits?.every(isDenied)) return { decision: 'deny', scope: 'once', note: denialsText(edits) }
  const chosen = chosenOption(choices, edits ? { ...wanted, scope: 'once' } : wanted)
  if (!chosen) return { decision: 'deny', scope: 'once', note: 'it was allowed inside a sandbox, and there is none' }
  const { where } = chosen
  const kept = keptFor(chosen, edits ? undefined : wanted.rule)
  return { decision: 'allow', ...kept, ...(where === 'outside' && { where }), ...(edits && { edits }) }
}

/** How long an answer counts, and by which rule. If its rule was not offered or is invalid, the answer counts once. */
function keptFor({ scope, rule: offered }: ApprovalOption, rule: string | undefined): Pick<Answer, 'scope' | 'rule'> {
  if (rule === undefined) return { scope }
  if (scope !== 'project' || !offered) return { scope: 'once' }
  try {
    readGrantRule(rule, offered)
    return { scope, rule }
  } catch {
    return { scope: 'once' }
  }
}

function fromPerson({ kind, calls }: Question, outcome: Answered): Verdicts & { status: 'answered' } {
  const by = outcome.by ?? 'user'
  const answers = new Map(calls.map((call) => [call.callId, answerFor(kind, call, outcome)]))
  return { status: 'answered', by, answers }
}

type Answered = Extract<InteractionOutcome, { status: 'accepted' | 'rejected' | 'timeout' }>

function answerFor(kind: Question['kind'], { callId, choices }: QuestionedCall, outcome: Answered): Answer {
  if (outcome.status === 'timeout') return { decision: 'expired', scope: 'once', note: 'no answer came in time' }
  if (outcome.status === 'rejected') return { decision: 'deny', scope: 'once', note: outcome.reason }
  const { value } = outcome
  if (typeof value !== 'object' || value === null)
    return value === false
      ? { decision: 'deny', scope: 'once' }
      : allowing(choices, { scope: plainYes(kind, outcome.by) })
  const { expiresAt, note, calls, ...extent } = value as Partial<PersonalAnswer>
  // A call that a batch answer does not name is denied.
  const own: CallVerdict = calls ? callVerdict(calls[callId]) : { decision: 'allow' }
  const said = own.note ?? note
  if (own.decision !== 'allow') return { decision: 'deny', scope: 'once', ...(said !== undefined && { note: said }) }
  return {
    ...(said !== undefined && { note: said }),
    ...allowing(choices, { ...extent, ...(own.edits && { edits: own.edits }) }),
    ...(typeof expiresAt === 'number' && { expiresAt }),
  }
}

const callVerdict = (verdict: 'allow' | 'deny' | CallVerdict = 'deny'): CallVerdict =>
  typeof verdict === 'object' ? verdict : { decision: verdict }

/** The scope of a plain `true`: the session where that may be offered, but once in stages and from `yolo`. */
function plainYes(kind: Question['kind'], by: string | undefined): ApprovalScope {
  return kind === 'Approve' && by !== 'yolo' ? 'session' : 'once'
}

/** What an interactor may answer to `Approve`, besides `true` (for the session) and `false`. Without a scope: once. */
export interface PersonalAnswer extends ApprovalExtent {
  /** When a grant ends, in milliseconds since 1970. */
  readonly expiresAt?: number
  /** For the model. */
  readonly note?: string
  /** In a prompt about several calls: the decision by call id. A missing call is denied. */
  readonly calls?: Readonly<Record<string, 'allow' | 'deny' | CallVerdict>>
}

/** The decision about one call of several. */
export interface CallVerdict extends Pick<ApprovalExtent, 'edits'> {
  readonly decision: 'allow' | 'deny'
  /** For the model. Default: that of the whole answer. */
  readonly note?: string
}

/** Writes the signed answer to the log, so that a crash does not repeat the question. */
async function logAnswer(
  { run, key, sessionId }: AskContext,
  about: QuestionedCall,
  by: string,
  answer: Answer,
): Promise<void> {
  const { callId, digest } = about
  const { decision, expiresAt } = answer
  const known = run.log.transcript.approvals.get(callId)
  if (known?.type !== 'approval_requested' || known.digest !== digest) return
  // The log does not keep `expiresAt`. With a wider scope, an answer read from it would make a grant without an end.
  const extent = extentOf(expiresAt === undefined ? answer : { ...answer, scope: 'once' })
  const signed = decision === 'allow' && {
    ...extent,
    mac: key.sign({ sessionId, callId, digest, decision, by, ...extent }),
  }
  const said = answer.note ? { note: [{ type: 'text' as const, text: answer.note }] } : {}
  await run.log.append({ type: 'approval_answered', callId, digest, decision, by, ...signed, ...said })
}

/** The decision for a denied or unanswered call. */
export function denialBy(by: string, { decision, note }: Answer): Decision {
  const code = decision === 'expired' ? 'ApprovalTimedOut' : 'ApprovalDenied'
  const why = decision === 'expired' ? 'no answer came in time' : note ? `denied by ${by}: ${note}` : `denied by ${by}`
  return { verdict: 'deny', by: 'person', why, code }
}

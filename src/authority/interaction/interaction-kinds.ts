import { show } from '../../core/behavior.ts'
import { areEditDecisions, readEditDecisions } from '../../core/edit-outcomes.ts'
import { CodedError } from '../../core/errors.ts'
import {
  type InteractionKind,
  type InteractionPayloads,
  type InteractionRequest,
  type InteractionResponse,
  questionAbout,
} from '../../core/interaction.ts'
import { isRecord } from '../../core/is-record.ts'
import { copyJson } from '../../core/turn.ts'

/** A valid question: its kind is known, and its payload has the fields of that kind. */
export interface CheckedInteraction extends InteractionRequest {
  readonly kind: InteractionKind
}

/** Throws on an unknown kind or a payload that does not match it. Returns a copy. */
export function checkInteraction(request: InteractionRequest): CheckedInteraction {
  const { kind, payload } = request ?? {}
  if (!isKind(kind))
    throw new CodedError(
      'Validation/InteractionKindUnknown',
      `${show(kind)} is no kind of question; use one of ${Object.keys(fields).join(', ')}`,
    )
  if (typeof payload !== 'object' || payload === null) throw mismatch(kind, 'payload', 'an object', payload)
  if (payload.kind !== kind) throw mismatch(kind, 'payload.kind', show(kind), payload.kind)
  for (const [field, wanted] of Object.entries<Wanted>(fields[kind]))
    if (!checks[wanted](payload[field])) throw mismatch(kind, `payload.${field}`, wanted, payload[field])
  return { kind, payload: copyJson(payload) }
}

/** How long a question of this kind may be shown: for a duration, or until a fixed time. */
export function timeLimitOf({ kind, payload }: CheckedInteraction): TimeLimit {
  if (kind === 'Auth.DeviceCode') return { until: payload.expiresAt as number }
  if (isPlan({ kind, payload })) return { ms: 30 * 60_000 } // it is read, and may be changed in an editor
  return { ms: kind === 'Confirm' ? 60_000 : 120_000 }
}

/** A question for yes or no about a plan may be answered with a changed plan, which is a yes to that one. */
const isPlan = ({ kind, payload }: CheckedInteraction): boolean =>
  kind === 'Confirm' && typeof payload.plan === 'string'

export type TimeLimit = { readonly ms: number } | { readonly until: number }

type Wanted = keyof typeof checks

const checks = {
  'a text': (value: unknown) => typeof value === 'string',
  'a list': (value: unknown) => Array.isArray(value),
  'a time in ms since the epoch': (value: unknown) => Number.isFinite(value),
}

const fields: { readonly [Kind in InteractionKind]: { readonly [Field in keyof InteractionPayloads[Kind]]: Wanted } } =
  {
    Ask: { prompt: 'a text' },
    Approve: { toolId: 'a text', approvalKey: 'a text', description: 'a text' },
    Select: { prompt: 'a text', options: 'a list' },
    Confirm: { prompt: 'a text' },
    'Auth.DeviceCode': { url: 'a text', code: 'a text', expiresAt: 'a time in ms since the epoch' },
    'Auth.Password': { prompt: 'a text' },
    grantStageTool: { toolId: 'a text', stageExecutionId: 'a text', argsDigest: 'a text' },
    trustProject: { path: 'a text', summary: 'a text' },
  }

function isKind(kind: unknown): kind is InteractionKind {
  return typeof kind === 'string' && Object.hasOwn(fields, kind)
}

function mismatch(kind: InteractionKind, field: string, wanted: string, got: unknown): CodedError {
  const needs = ['kind', ...Object.keys(fields[kind])].join(', ')
  return new CodedError(
    'Validation/InteractionPayloadMismatch',
    `${field} of a question of kind ${kind} must be ${wanted}, got ${show(got)}; its payload needs ${needs}`,
  )
}

/** A response or a short form: `false` rejects a yes-or-no question; every other value is accepted with that value. */
export type InteractionAnswer = InteractionResponse | boolean | string | readonly unknown[]

/**
 * The response for an answer. Throws on invalid answers: only a clear yes counts as one. A word such as `session` for an
 * approval becomes `{ scope: 'session' }`. Decisions about the edits of a call must be one for each edit.
 */
export function readAnswer(
  kind: InteractionKind,
  answer: unknown,
  payload: InteractionRequest['payload'],
): InteractionResponse {
  const isValue = yesOrNo.has(kind) && isRecord(answer) && !('status' in answer)
  const response = responseOf(isValue ? { status: 'accepted', value: answer } : answer)
  if (!response) throw wrongAnswer(kind, 'a response, true, false, a text or a list')
  if (response.status !== 'accepted' || !yesOrNo.has(kind)) return response
  const { value } = response
  if (value === false) return { status: 'rejected', reason: 'declined' }
  if (value === true) return response
  if (isPlan({ kind, payload }) && isRecord(value) && typeof value.plan === 'string' && value.plan.trim() !== '')
    return { status: 'accepted', value: { plan: value.plan } }
  if (kind === 'Confirm') throw wrongAnswer(kind, 'true or false')
  if (isScope(value)) return { status: 'accepted', value: { scope: value } }
  if (isDetailed(value)) {
    checkEdits(payload, value as { readonly edits?: unknown; readonly calls?: object })
    return response
  }
  throw wrongAnswer(
    kind,
    `true, false, one of ${scopes.join(', ')}, or an object with ${Object.keys(details).join(', ')}`,
  )
}

const yesOrNo = new Set<InteractionKind>(['Approve', 'Confirm', 'grantStageTool'])
const scopes = ['once', 'session', 'project']

/** Only known words count as yes: a typed `n` is a text too. */
function isScope(value: unknown): boolean {
  return typeof value === 'string' && scopes.includes(value)
}

const details: Record<string, (value: unknown) => boolean> = {
  scope: isScope,
  expiresAt: Number.isFinite,
  note: (value) => typeof value === 'string',
  where: (value) => value === 'inside' || value === 'outside',
  edits: areEditDecisions,
  rule: (value) => typeof value === 'string',
  calls: (value) => isRecord(value) && Object.values(value).every(isVerdict),
}

const isDecision = (value: unknown): boolean => value === 'allow' || value === 'deny'

function isVerdict(value: unknown): boolean {
  if (!isRecord(value)) return isDecision(value)
  const { decision, note = '', edits, ...others } = value
  const isKnown = isDecision(decision) && typeof note === 'string' && Object.keys(others).length === 0
  return isKnown && (edits === undefined || areEditDecisions(edits))
}

/** Throws if an answer does not decide about exactly the edits of each call. */
function checkEdits(payload: InteractionRequest['payload'], answer: { edits?: unknown; calls?: object }): void {
  const { edits, calls } = answer
  if (edits !== undefined) readEditDecisions(edits, editsIn(payload))
  for (const [callId, verdict] of Object.entries(calls ?? {}))
    if (isRecord(verdict) && verdict.edits !== undefined)
      readEditDecisions(verdict.edits, editsIn(questionAbout(payload, callId)))
}

const editsIn = (payload: Readonly<Record<string, unknown>>): number => Number(payload.edits ?? 0)

/** At least one field, and only known ones: `{ approved: false }` is no yes. */
function isDetailed(value: unknown): boolean {
  if (!isRecord(value) || Object.keys(value).length === 0) return false
  return Object.entries(value).every(([field, detail]) => Object.hasOwn(details, field) && details[field]!(detail))
}

/** Copies known fields only: an answer may come from another machine and contain anything. */
function responseOf(answer: unknown): InteractionResponse | undefined {
  if (typeof answer === 'boolean' || typeof answer === 'string' || Array.isArray(answer))
    return { status: 'accepted', value: answer }
  if (typeof answer !== 'object' || answer === null || !('status' in answer)) return undefined
  if (answer.status === 'timeout') return { status: 'timeout' }
  if (answer.status === 'accepted' && 'value' in answer) return { status: 'accepted', value: answer.value }
  if (answer.status !== 'rejected') return undefined
  const reason = 'reason' in answer && typeof answer.reason === 'string' ? answer.reason : ''
  return { status: 'rejected', reason }
}

/** Does not quote the answer, which may be a password. */
function wrongAnswer(kind: InteractionKind, wanted: string): CodedError {
  return new CodedError(
    'Validation/InteractionAnswerInvalid',
    `an answer to a question of kind ${kind} must be ${wanted}`,
  )
}

/** What happens to a question when no person can be asked: `halt` leaves it open, `yolo` accepts nearly everything. */
export type Headless = 'halt' | 'yolo'

/** The answer of `yolo`. None for trust in a project: only a person may grant that. */
export function yoloAnswer(
  kind: InteractionKind,
  payload: InteractionRequest['payload'],
): InteractionResponse | undefined {
  switch (kind) {
    case 'Approve':
    case 'Confirm':
    case 'grantStageTool':
      return { status: 'accepted', value: true }
    case 'Select':
      return { status: 'accepted', value: (payload.options as readonly unknown[])[0] ?? null }
    case 'Ask':
      return { status: 'accepted', value: '' }
    case 'Auth.DeviceCode':
    case 'Auth.Password':
      return { status: 'accepted', value: null }
    case 'trustProject':
      return undefined
  }
}

/** Sent to the program when no person can be asked. */
export interface PermissionRequired {
  readonly kind: 'permission-required'
  readonly requestKind: InteractionKind
  readonly correlationId: string
  readonly hint: string
}

/** States for any kind of question what is missing and what to do about it. */
export function permissionRequired(requestKind: InteractionKind, correlationId: string): PermissionRequired {
  const hint =
    requestKind === 'trustProject'
      ? 'no person can be asked whether this project is trusted; trust it beforehand, or run where a person can be asked'
      : `no person can be asked a question of kind ${requestKind}; attach an interactor, answer it from another process, or allow it by a rule`
  return { kind: 'permission-required', requestKind, correlationId, hint }
}

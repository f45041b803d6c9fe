import { CodedError } from '../../core/errors.ts'
import type { InteractionKind, InteractionResponse } from '../../core/interaction.ts'
import { isRecord } from '../../core/is-record.ts'

/** A response, or what stands for one: `false` for a no where yes or no was asked, all else for accepted with that value. */
export type InteractionAnswer = InteractionResponse | boolean | string | readonly unknown[]

/**
 * The response that an answer stands for. Throws for what cannot be one: nothing that is not clearly a yes becomes one.
 * A word such as `session` for an approval becomes `{ scope: 'session' }`.
 */
export function readAnswer(kind: InteractionKind, answer: unknown): InteractionResponse {
  const response = responseOf(yesOrNo.has(kind) && isDetailed(answer) ? { status: 'accepted', value: answer } : answer)
  if (!response) throw wrongAnswer(kind, 'a response, true, false, a text or a list')
  if (response.status !== 'accepted' || !yesOrNo.has(kind)) return response
  const { value } = response
  if (value === false) return { status: 'rejected', reason: 'declined' }
  if (value === true) return response
  if (kind === 'Confirm') throw wrongAnswer(kind, 'true or false')
  if (isScope(value)) return { status: 'accepted', value: { scope: value } }
  if (isDetailed(value)) return response
  throw wrongAnswer(
    kind,
    `true, false, one of ${scopes.join(', ')}, or an object with ${Object.keys(details).join(', ')}`,
  )
}

const yesOrNo = new Set<InteractionKind>(['Approve', 'Confirm', 'grantStageTool'])
const scopes = ['once', 'session', 'project', 'always']

/** A typed `n` is a text too, so only known words say yes. */
function isScope(value: unknown): boolean {
  return typeof value === 'string' && scopes.includes(value)
}

const details: Record<string, (value: unknown) => boolean> = {
  scope: isScope,
  expiresAt: Number.isFinite,
  note: (value) => typeof value === 'string',
  calls: (value) => isRecord(value) && Object.values(value).every((one) => one === 'allow' || one === 'deny'),
}

/** Only what is known, and at least something of it: `{ approved: false }` is no yes. */
function isDetailed(value: unknown): boolean {
  if (!isRecord(value) || Object.keys(value).length === 0) return false
  return Object.entries(value).every(([field, detail]) => Object.hasOwn(details, field) && details[field]!(detail))
}

/** The fields by hand: an answer may come from another machine and carry anything. */
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

/** Without the answer itself, which may be a password. */
function wrongAnswer(kind: InteractionKind, wanted: string): CodedError {
  return new CodedError(
    'Validation/InteractionAnswerInvalid',
    `an answer to a question of kind ${kind} must be ${wanted}`,
  )
}

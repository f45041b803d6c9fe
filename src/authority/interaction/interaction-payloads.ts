import { show } from '../../core/behavior.ts'
import { CodedError } from '../../core/errors.ts'
import type { InteractionKind, InteractionPayloads, InteractionRequest } from '../../core/interaction.ts'
import { copyJson } from '../../core/turn.ts'

/** A question that was found to be one: its kind is known, and its payload has what that kind needs. */
export interface CheckedInteraction extends InteractionRequest {
  readonly kind: InteractionKind
}

/** Throws unless the kind is known and the payload is what it needs. What comes back shares nothing with the request. */
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

/** How long a question of this kind may stand before somebody: for so many ms, or until a moment that nobody can put off. */
export function timeLimitOf({ kind, payload }: CheckedInteraction): TimeLimit {
  if (kind === 'Auth.DeviceCode') return { until: payload.expiresAt as number }
  return { ms: kind === 'Confirm' ? 60_000 : 120_000 }
}

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

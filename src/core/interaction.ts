import { isRecord } from './is-record.ts'

/** The kinds of questions to a person, with their payloads. `payload.kind` repeats the kind. */
export interface InteractionPayloads {
  Ask: { readonly prompt: string }
  Approve: { readonly toolId: string; readonly approvalKey: string; readonly description: string }
  Select: { readonly prompt: string; readonly options: readonly unknown[] }
  Confirm: { readonly prompt: string }
  'Auth.DeviceCode': { readonly url: string; readonly code: string; readonly expiresAt: number }
  'Auth.Password': { readonly prompt: string }
  grantStageTool: { readonly toolId: string; readonly stageExecutionId: string; readonly argsDigest: string }
  trustProject: { readonly path: string; readonly summary: string }
}

export type InteractionKind = keyof InteractionPayloads

/** A question to a person. `payload` has the fields of `InteractionPayloads[kind]`, and may have more. */
export interface InteractionRequest {
  readonly kind: string
  readonly payload: Readonly<Record<string, unknown>>
}

export type InteractionResponse =
  | { readonly status: 'accepted'; readonly value: unknown }
  | { readonly status: 'rejected'; readonly reason: string }
  | { readonly status: 'timeout' }

/** Asks a person; rejects if the run is cancelled meanwhile. */
export type Interact = (
  request: InteractionRequest,
  signal: AbortSignal,
  /** Whether the call that asks can be left open and answered later. */
  asking?: { readonly isDurable: boolean },
) => Promise<InteractionResponse>

/** The part of a request that is about one call. A halted run wraps the payload once more; a question may be about several. */
export function questionAbout(request: unknown, callId: string): Readonly<Record<string, unknown>> {
  if (!isRecord(request)) return {}
  const payload = isRecord(request.payload) ? request.payload : request
  const calls: readonly unknown[] = Array.isArray(payload.calls) ? payload.calls : []
  const own = calls.find((one) => isRecord(one) && isRecord(one.call) && one.call.callId === callId)
  return isRecord(own) ? own : payload
}

/** What a person can be asked, and what each question carries. `payload.kind` repeats the kind. */
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

/** A typed question to a person. `payload` depends on `kind`, see `InteractionPayloads`, and may carry more. */
export interface InteractionRequest {
  readonly kind: string
  readonly payload: Readonly<Record<string, unknown>>
}

export type InteractionResponse =
  | { readonly status: 'accepted'; readonly value: unknown }
  | { readonly status: 'rejected'; readonly reason: string }
  | { readonly status: 'timeout' }

/** Asks whoever can answer; rejects when the run is stopped meanwhile. */
export type Interact = (
  request: InteractionRequest,
  signal: AbortSignal,
  /** Whether the call that asks can be left open and answered later. */
  asking?: { readonly isDurable: boolean },
) => Promise<InteractionResponse>

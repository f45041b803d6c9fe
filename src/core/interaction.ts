/** A typed question to a person. `payload` depends on `kind`; see the authority for the kinds. */
export interface InteractionRequest {
  readonly kind: string
  readonly payload: Readonly<Record<string, unknown>>
}

export type InteractionResponse =
  | { readonly status: 'accepted'; readonly value: unknown }
  | { readonly status: 'rejected'; readonly reason: string }
  | { readonly status: 'timeout' }

/** Asks whoever can answer; rejects when the run is stopped meanwhile. */
export type Interact = (request: InteractionRequest, signal: AbortSignal) => Promise<InteractionResponse>

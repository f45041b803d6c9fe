import type { EntryBody } from '../../core/log.ts'
import type { ModelEvent, ModelRequest, ProviderMeta } from '../../core/provider.ts'
import type { ToolSpec } from '../../core/tool.ts'
import type { ReadResult } from '../../core/tool-result.ts'
import type { Message } from '../../core/turn.ts'
import type { TapedError } from './taped-error.ts'

/**
 * What crossed a border, in order. Readings and beginnings happen when the program comes to them; the others
 * (`isDelivered`) come from outside, and replay lets each in only after everything that was before it on the tape.
 */
export type TapeItem =
  | { readonly type: 'now'; readonly value: number }
  | { readonly type: 'id'; readonly value: string }
  | { readonly type: 'random'; readonly value: number }
  | { readonly type: 'timer'; readonly n: number; readonly ms: number }
  | { readonly type: 'fired'; readonly n: number }
  | {
      readonly type: 'request'
      readonly n: number
      readonly by: number
      readonly session?: string
      readonly request: TapedRequest
    }
  | { readonly type: 'event'; readonly n: number; readonly event: ModelEvent }
  | { readonly type: 'failed'; readonly n: number; readonly error: TapedError }
  | { readonly type: 'ended'; readonly n: number }
  | ({ readonly type: 'execute'; readonly n: number } & TapedCall)
  | ({ readonly type: 'step'; readonly n: number } & ToolStep)
  | { readonly type: 'result'; readonly n: number; readonly result: TapedResult }

/** What is on a tape beside the order of things: the providers, and what they said about prices and windows. */
export type TapeFact =
  | { readonly type: 'provider'; readonly n: number; readonly meta: ProviderMeta; readonly has: readonly string[] }
  | {
      readonly type: 'answer'
      readonly by: number
      readonly question: string
      readonly about: string
      readonly value: unknown
    }

/** A model request without what differs from one process to the next. */
export interface TapedRequest {
  readonly model: string
  readonly settings: Readonly<Record<string, unknown>>
  readonly system: string
  readonly tools: readonly ToolSpec[]
  readonly messages: readonly Message[]
}

/** A tool at work: `execute`, or what it says `before` about a call. */
export interface TapedCall {
  readonly tool: string
  readonly part: 'execute' | 'before'
  readonly callId: string
  readonly key: string
  readonly input: unknown
}

/** What a tool did through its context while it worked. A child agent cannot be taped: a tool that has one runs again. */
export type ToolStep =
  | { readonly did: 'append'; readonly bodies: readonly EntryBody[] }
  | { readonly did: 'call'; readonly tool: string; readonly input: unknown }
  | { readonly did: 'progress'; readonly text: string }
  | { readonly did: 'fork' }

export type TapedResult =
  | { readonly outcome: ReadResult }
  | { readonly facts: unknown }
  | { readonly suspended: string }
  | { readonly error: TapedError }

/** The request as it is compared and stored. Messages are values, so they need no copy; the list they stand in does. */
export function tapedRequest(request: ModelRequest): TapedRequest {
  const { model, system, tools, messages, sessionId: _, ...settings } = request
  return { model, settings, system, tools: [...tools], messages: [...messages] }
}

import type { ToolOrigin } from './authority.ts'
import type { AgentError, AgentProviderError } from './errors.ts'
import type { ModelRequest, Refusal, Repair, StopReason } from './provider.ts'
import type { Session } from './store.ts'
import type { ToolSpec } from './tool.ts'
import type { Message, SessionTurn, TurnUsage } from './turn.ts'

/** In the context of every hook that belongs to a turn. Where it also has a `turn`, that is the number of the model call in the run, from 1. */
export interface OfTurn {
  readonly turnId: string
}

/** Calls per tool in a run. */
export type Counts = Readonly<Record<string, number>>

/** The hooks of a model call, in firing order. */
export interface ModelHooks {
  /** For extensions: fires before `context:transform`, where the embedder sees the messages. */
  'request:prepare': OfTurn & {
    readonly turn: number
    model: string
    messages: readonly Message[]
    tools: readonly ToolSpec[]
    thinkingBudget?: number
    /** Set by a handler: the run ends with this error and nothing is sent. */
    refuse?: AgentError
  }
  'context:transform': OfTurn & { messages: Message[] }
  'system:transform': OfTurn & { readonly turn: number; system: string; readonly session?: Session }
  'turn:before': OfTurn & { readonly turn: number; readonly options: ModelRequest }
  /** A part of the conversation could not be sent as it is in the log; the request has a repaired copy. */
  repair: OfTurn & Repair
  'oauth:refresh': OfTurn & { readonly provider: string; readonly expires?: number }
  /** The service accepted the request. */
  'stream:start': OfTurn & { readonly attempt: number }
  /** Everything streamed so far is void: another attempt begins. */
  'stream:retry': OfTurn & {
    readonly attempt: number
    readonly reason: string
    /** The service's own code for what failed. */
    readonly code?: string
    readonly delayMs?: number
  }
  'stream:thinking': OfTurn & { readonly delta: string; readonly text: string; readonly attempt: number }
  'stream:text': OfTurn & { readonly delta: string; readonly text: string; readonly attempt: number }
  'stream:tool:start': OfTurn & {
    readonly callId: string
    readonly name: string
    readonly displayName: string
    /** Absent if there is no such tool. */
    readonly origin?: ToolOrigin
  }
  'stream:tool:args': OfTurn & { readonly callId: string; readonly delta: string }
  'stream:tool:end': OfTurn & { readonly callId: string }
  /** Fires only if the reply has text. */
  'stream:end': OfTurn & { readonly text: string }
  /**
   * The service refuses the conversation. A handler that changed it sets `retry`; then the request is built and sent again.
   * Fires at most seven times in a turn, `request:overflow` included.
   */
  'request:refused': OfTurn & {
    readonly turn: number
    readonly request: ModelRequest
    readonly error: AgentProviderError
    readonly refused: Refusal
    retry: boolean
  }
  /** The request does not fit into the context. A handler that made it smaller sets `retry`; then the request is built and sent again. */
  'request:overflow': OfTurn & {
    readonly turn: number
    readonly request: ModelRequest
    /** The run ends with this error if no handler sets `retry`. */
    error: AgentProviderError
    retry: boolean
  }
  /** Fires after every model call. For a failed one, `usage` covers what was streamed until then. */
  'turn:after': OfTurn & {
    readonly turn: number
    readonly usage: TurnUsage
    readonly stop: StopReason | 'error' | 'aborted'
    readonly message?: Message
    readonly sessionTurn?: SessionTurn
    readonly toolCounts: Counts
    readonly error?: Error
    /** The text streamed before the failure; absent if the stream had not begun. */
    readonly partial?: string
    /** That text as a turn of the conversation; absent if it is empty. */
    readonly interrupted?: SessionTurn
  }
  usage: OfTurn & { readonly turn: number; readonly usage: TurnUsage; readonly totals: TurnUsage }
}

import type { AgentEvent, RunStatus, SessionTurn } from '../events/events.ts'

/** The agent that `serveZot` serves. */
export interface RpcHost {
  readonly version: string
  readonly provider: string
  readonly cwd: string
  readonly model: string
  /** Sends the agent's events to the listener from now on. Returns a function that stops that. */
  follow(listener: (event: AgentEvent) => void): () => void
  /** Resolves when the run has ended, with or without an `error`. */
  prompt(message: string, images: readonly RpcImage[]): Promise<RunOutcome>
  /** Summarizes all but the last messages. Rejects if there is nothing to summarize, or no summary came. */
  compact(): Promise<string>
  /** Aborts the current run, if there is one. */
  abort(): void
  /** Only called while no run is under way. */
  clear(): Promise<void>
  /** The conversation as the model would see it. */
  messages(): readonly SessionTurn[]
  /** Takes effect with the next model call. Throws for a model that the provider does not have. */
  setModel(model: string): Promise<void>
  models(): Promise<readonly RpcModel[]>
  /** The name of a tool for models and clients, if tools have aliases. */
  toolName?(name: string): string
  /** Streaming has to wait for the promise while the reader is slow. */
  applyBackpressure(isReady: () => Promise<void> | undefined): void
}

export interface RpcImage {
  readonly mimeType: string
  /** Base64. */
  readonly data: string
}

export interface RunOutcome {
  readonly status: RunStatus
  /** `budget`, `max_turns`, `permission-required`, … */
  readonly stopReason: string
  readonly error?: string
}

export interface RpcModel {
  readonly id: string
  readonly provider: string
  readonly contextWindow: number
  readonly maxOutput: number
  readonly reasoning: boolean
}

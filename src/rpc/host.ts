import type { AgentEvent, SessionTurn } from '../events/events.ts'

/** The agent behind a wire, as whoever serves it hands it in. */
export interface RpcHost {
  readonly version: string
  readonly provider: string
  readonly cwd: string
  readonly model: string
  /** What an event of the agent's looks like from now on. */
  follow(listener: (event: AgentEvent) => void): () => void
  /** Resolves when the run has ended, however it ended; what went wrong says `error`. */
  prompt(message: string, images: readonly RpcImage[]): Promise<RunOutcome>
  /** Sums up all but the last messages. Rejects when there is nothing to sum up, or no summary came. */
  compact(): Promise<string>
  /** Stops what is under way; harmless when nothing is. */
  abort(): void
  /** Only called when nothing is under way. */
  clear(): Promise<void>
  /** The conversation as the model would be shown it. */
  messages(): readonly SessionTurn[]
  /** From the next model call on. Throws for one that its provider does not have. */
  setModel(model: string): Promise<void>
  models(): Promise<readonly RpcModel[]>
  /** The name that models and clients know a tool by, where tools have aliases. */
  toolName?(name: string): string
  /** Called where the reader is slow: whatever streams waits for the promise. */
  holdBack(isReady: () => Promise<void> | undefined): void
}

export interface RpcImage {
  readonly mimeType: string
  /** Base64. */
  readonly data: string
}

export interface RunOutcome {
  readonly status: 'completed' | 'aborted' | 'error' | 'suspended'
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

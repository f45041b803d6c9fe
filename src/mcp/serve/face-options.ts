import type { MakeAgent } from './seat.ts'

/** What a face is made of. */
export interface McpFaceOptions {
  /** What clients are told who this is. */
  readonly name: string
  readonly version: string
  /** Told to clients, for their models. */
  readonly instructions?: string
  /** Makes an agent, another one each time. */
  readonly agent: MakeAgent
  /** The agent itself as the tool `run_agent`, and each of its tools. Default: both. */
  readonly expose?: { readonly agent?: boolean; readonly tools?: boolean }
  readonly sessions?: {
    /** How many conversations are kept in memory. Default 50. */
    readonly most?: number
    /** Whether you have a conversation that is not kept any more: then `agent` is called with its `sessionId`. */
    readonly knows?: (sessionId: string) => boolean | Promise<boolean>
  }
  /** Hears of clients that broke the protocol, and the like. Default: nobody does. */
  readonly onError?: (problem: string) => void
}

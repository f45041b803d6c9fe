import type { ParentCall } from './log.ts'
import type { Meta } from './meta.ts'

/** Which run it is: of which agent, for which call of the agent above, and who sent the message that it answers. */
export interface RunFacts {
  readonly runId: string
  /** The agent's name, where it has one. */
  readonly agent?: string
  readonly sessionId?: string
  /** How many spawns lie above this run. */
  readonly depth: number
  /** The call that a child works for. */
  readonly parent?: ParentCall
  /** What came with the message: who sent it, a trace, a reply address. */
  readonly meta?: Meta
}

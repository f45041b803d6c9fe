import type { EntryOf, ParentCall } from './log.ts'
import type { Meta } from './meta.ts'

/** A run, as the log describes it. */
export interface RunRecord {
  readonly id: string
  readonly model: string
  /** The agent's name. */
  readonly agent?: string
  /** The call that a child works for. */
  readonly parent?: ParentCall
  /** Sent along with the message that the run answers. */
  readonly meta?: Meta
  /** The process that ran it. */
  readonly processId?: string
  /** Its span, as a `traceparent`. */
  readonly trace?: string
  readonly startedAt: number
  /** The number of turns in the conversation before it. */
  readonly firstTurn: number
  /** It has sent a request to the model. */
  hasAskedModel?: true
  endedAt?: number
  /** Absent while it runs. */
  status?: EntryOf<'run_ended'>['status']
  stop?: string
  /** The number of its last entry. */
  endSeq?: number
  /** The number of turns in the conversation when the run ended. */
  turnCountAtEnd?: number
  /** The number of the stop request, if one came through the inbox. */
  stopSeq?: number
}

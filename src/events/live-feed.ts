import type { OpenReply, Run } from '../core/run.ts'
import { followOne, type ProvisionalEvent } from './events.ts'

/** What a run streams, for one reader. */
export interface LiveFeed {
  /** Asks for a snapshot of the open reply, if there is one. */
  snapshot(): void
  leave(): void
}

/** For a reader that joins in the middle of a reply: what was streamed of it so far. */
export interface SnapshotEvent {
  readonly durable: false
  readonly type: 'snapshot'
  /** The number of the last log entry before it. */
  readonly after: number
  readonly reply: OpenReply
}

/** Joins a run of this process. `emit` gets a snapshot first, then what the run streams. */
export function joinRun(run: Run, emit: (event: ProvisionalEvent | SnapshotEvent) => void): LiveFeed {
  const snapshot = (): void => {
    const { openReply } = run.progress
    if (!openReply || run.log.transcript.findLastTurn(({ id }) => id === openReply.turnId)) return
    const { turnId, attempt, text, thinking, calls } = openReply
    const reply = { turnId, attempt, text, thinking, calls: calls.map((call) => ({ ...call })) }
    emit({ durable: false, type: 'snapshot', after: run.log.head, reply })
  }
  snapshot()
  const stops = followOne(run, (event) => {
    if (!event.durable) emit(event)
  })
  return {
    snapshot,
    leave() {
      for (const stop of stops) stop()
    },
  }
}

import type { EntryBody, LogEntry } from '../core/log.ts'
import { Transcript } from '../core/transcript.ts'

export interface ForkedPast {
  readonly entries: readonly LogEntry[]
  /** What the new session adds to it, to stand on its own. */
  readonly ending: readonly EntryBody[]
}

/**
 * The past that a fork shares. A turn that still waits for results is left out with all that follows it: its calls may
 * be running, and nobody wants them run in both.
 */
export function forkedPast(entries: readonly LogEntry[], from: string, atSeq: number): ForkedPast {
  let shared = entries.slice(0, atSeq)
  const { openTurn } = replay(shared)
  if (openTurn)
    shared = shared.slice(
      0,
      shared.findLastIndex((entry) => entry.type === 'turn' && entry.turn.id === openTurn.id),
    )
  const { activeRun } = replay(shared)
  const origin: EntryBody = { type: 'state', owner: 'fork', value: { session: from, seq: shared.length } }
  if (!activeRun) return { entries: shared, ending: [origin] }
  // Its messages are delivered where it goes on, not here.
  const end = { status: 'aborted', stop: 'forked', dropsTo: shared.length } as const
  return { entries: shared, ending: [{ type: 'run_ended', runId: activeRun.id, ...end }, origin] }
}

function replay(entries: readonly LogEntry[]): Transcript {
  const transcript = new Transcript()
  for (const entry of entries) transcript.apply(entry)
  return transcript
}

import type { EntryBody } from '../core/log.ts'
import type { SessionStore, SessionSummary } from '../core/store.ts'
import { type History, readCheckpoint, replay } from './checkpoints/checkpoint.ts'
import { eachEntryBackwards, readHistory } from './history.ts'

/** Where a fork parts from its original. */
export interface ForkPoint {
  /** The number of entries that both share. */
  readonly head: number
  readonly history: History
  /** The first entries of the fork alone: they complete what it shares. */
  readonly ending: readonly EntryBody[]
}

/**
 * Where a fork at an entry parts from its original. A turn that still waits for results is left out with all that follows
 * it: its calls may be running, and must not run in both sessions.
 */
export async function readForkPoint(
  store: SessionStore,
  { id, checkpoint }: Pick<SessionSummary, 'id' | 'checkpoint'>,
  atSeq: number,
): Promise<ForkPoint> {
  const isBefore = checkpoint === undefined || checkpoint <= atSeq
  const last = isBefore ? checkpoint : await lastCheckpoint(store, id, atSeq)
  const read = await readHistory(store, { id, ...(last !== undefined && { checkpoint: last }) }, { upTo: atSeq })
  const transcript = replay(read)
  const open = transcript.seqOf(transcript.turnWithOpenCalls?.id)
  const head = open === undefined ? atSeq : open - 1
  const history = { ...read, entries: read.entries.filter(({ seq }) => seq <= head) }
  const { activeRun, inbox } = replay(history)
  const origin: EntryBody = { type: 'state', owner: 'fork', value: { session: id, seq: head } }
  // Messages that wait are delivered in the original session, and in no other: the fork begins with nothing to do.
  const withdrawn = inbox.map(({ id: input }): EntryBody => ({ type: 'withdrawn', input }))
  if (!activeRun) return { head, history, ending: [...withdrawn, origin] }
  const end = { status: 'aborted', stop: 'forked', dropsTo: head } as const
  return { head, history, ending: [{ type: 'run_ended', runId: activeRun.id, ...end }, origin] }
}

/** Finds the last checkpoint up to an entry, by reading from there to the beginning. */
async function lastCheckpoint(store: SessionStore, id: string, atSeq: number): Promise<number | undefined> {
  for await (const entry of eachEntryBackwards(store, id, atSeq + 1)) if (readCheckpoint(entry)) return entry.seq
  return undefined
}

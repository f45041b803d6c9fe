import type { EntryBody, LogEntry } from '../../core/log.ts'
import type { Transcript } from '../../core/transcript.ts'
import { checkpointOf } from './checkpoint.ts'

/** A checkpoint is written when opening the session from it reads this many entries fewer. */
export const leastEntriesSaved = 500

/** The checkpoint to write after these entries: after a compaction or a run, if it saves enough, or for a new pin. */
export function checkpointAfter(written: readonly LogEntry[], transcript: Transcript): EntryBody | undefined {
  if (!written.some(mayNeedCheckpoint)) return undefined
  return checkpointOf(transcript, { least: leastEntriesSaved, pinned: pinnedIn(transcript) })
}

const mayNeedCheckpoint = (entry: LogEntry): boolean =>
  entry.type === 'compaction' || entry.type === 'run_ended' || (entry.type === 'state' && entry.owner === 'pins')

/** The ids of the turns that `session.pin` was called for. */
function pinnedIn({ states }: Transcript): ReadonlySet<unknown> {
  const ids = states.get('pins')
  return new Set(Array.isArray(ids) ? ids : [])
}

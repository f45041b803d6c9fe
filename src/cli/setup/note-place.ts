import type { Extension } from '../../core/run.ts'
import { placeOf } from '../sessions/place.ts'
import { cwdIn, noteOwner } from '../sessions/summary.ts'

/** Lets the first run of a session write down where it was begun: no writing before there is something to keep. */
export function notePlace(cwd: string): Extension {
  return {
    name: 'note-place',
    async start({ log, depth }) {
      if (depth > 0 || cwdIn(log.transcript.states.get(noteOwner)) !== undefined) return
      await log.append({ type: 'state', owner: noteOwner, value: { cwd: placeOf(cwd) } })
    },
  }
}

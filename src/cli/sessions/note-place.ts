import type { EntryBody } from '../../core/log.ts'
import type { Extension } from '../../core/run.ts'
import { placeOf } from './place.ts'
import { cwdIn, noteOwner } from './summary.ts'

/** Lets the first run of a session write down where it was begun: no writing before there is something to keep. */
export function notePlace(cwd: string): Extension {
  return {
    name: 'note-place',
    start({ log, depth, working }) {
      if (depth > 0 || cwdIn(log.transcript.states.get(noteOwner)) !== undefined) return
      // Not waited for: it is written with what comes next. A log that cannot be written ends the run without our help.
      const writing = Promise.resolve(log.append(placeNote(cwd)))
      working.add(writing.catch(() => {}))
    },
  }
}

/** Says where a session was begun. */
export function placeNote(cwd: string): EntryBody {
  return { type: 'state', owner: noteOwner, value: { cwd: placeOf(cwd) } }
}

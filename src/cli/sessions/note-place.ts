import type { EntryOf } from '../../core/log.ts'
import type { Extension } from '../../core/run.ts'
import { placeOf } from './place.ts'
import { cwdIn, noteOwner } from './summary.ts'

/**
 * Lets the first run of a session write down where it was begun: no writing before there is something to keep, and in
 * one append with the prompt, so that a session which has one is found in its folder, whenever the process dies.
 */
export function notePlace(cwd: string): Extension {
  return {
    name: 'note-place',
    begin({ log, depth }) {
      const isKnown = cwdIn(log.transcript.states.get(noteOwner)) !== undefined
      return depth > 0 || isKnown ? [] : [placeNote(cwd)]
    },
  }
}

/** Says where a session was begun. */
export function placeNote(cwd: string): Omit<EntryOf<'state'>, 'seq' | 'id' | 'at'> {
  return { type: 'state', owner: noteOwner, value: { cwd: placeOf(cwd) } }
}

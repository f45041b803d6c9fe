import { realpathSync } from 'node:fs'
import type { EntryOf } from '../../core/log.ts'
import type { Extension } from '../../core/run.ts'
import { cliStateOwner, recordedFolder } from './summary.ts'

/** A folder by its one true name: a person comes to it by links, a shell may not. */
export function realFolder(cwd: string): string {
  try {
    return realpathSync.native(cwd)
  } catch {
    return cwd // it may be gone, or on another machine
  }
}

/**
 * Lets the first run of a session write down where it was begun: no writing before there is something to keep, and in
 * one append with the prompt, so that a session which has one is found in its folder, whenever the process dies.
 */
export function recordFolder(cwd: string): Extension {
  return {
    name: 'note-place',
    begin({ log, facts: { depth } }) {
      const isKnown = recordedFolder(log.transcript.states.get(cliStateOwner)) !== undefined
      return depth > 0 || isKnown ? [] : [folderEntry(cwd)]
    },
  }
}

/** Says where a session was begun. */
export function folderEntry(cwd: string): Omit<EntryOf<'state'>, 'seq' | 'id' | 'at'> {
  return { type: 'state', owner: cliStateOwner, value: { cwd: realFolder(cwd) } }
}

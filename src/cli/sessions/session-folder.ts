import { realpathSync } from 'node:fs'
import { isRecord } from '../../core/is-record.ts'
import type { EntryOf } from '../../core/log.ts'
import type { Extension } from '../../core/run.ts'
import type { Transcript } from '../../core/transcript.ts'

/** Resolves links, so that a folder has one name however the person got there. */
export function realFolder(cwd: string): string {
  try {
    return realpathSync.native(cwd)
  } catch {
    return cwd // it is gone, or on another machine
  }
}

/**
 * Makes the first run of a session record its folder. The entry is appended together with the prompt, so that the
 * session can be found by its folder even if the process dies right after.
 */
export function recordFolder(cwd: string): Extension {
  return {
    name: 'record-folder',
    begin({ log, facts: { depth } }) {
      return depth > 0 || recordedFolder(log.transcript) !== undefined ? [] : [folderEntry(cwd)]
    },
  }
}

export function folderEntry(cwd: string): Omit<EntryOf<'state'>, 'seq' | 'id' | 'at'> {
  return { type: 'state', owner: stateOwner, value: { cwd: realFolder(cwd) } }
}

/** The folder in which a session was begun, if by the command line. */
export function recordedFolder({ states }: Pick<Transcript, 'states'>): string | undefined {
  const value = states.get(stateOwner)
  return isRecord(value) && typeof value.cwd === 'string' ? value.cwd : undefined
}

const stateOwner = 'cli'

import { lstatSync } from 'node:fs'
import { join } from 'node:path'
import { withReadErrors } from './file-errors.ts'
import { namesIn, refuseLink } from './files.ts'
import { inboxPath } from './inbox-file.ts'
import { isHeld, readLease } from './lease-file.ts'
import { logPath, movedPath } from './log-file.ts'

/** Whether a session exists: it has an entry or a message, or a process is about to write to it. */
export function sessionExists(folder: string, now: number): boolean {
  refuseLink(folder)
  if (hasEntries(folder) || sizeOf(inboxPath(folder)) > 0) return true
  const lease = readLease(folder)
  return lease !== undefined && isHeld(lease, now)
}

/** Whether nothing would be lost with a session: it was leased and never written. */
export function isUnwritten(folder: string): boolean {
  return !hasEntries(folder) && namesIn(join(folder, 'children')).length === 0
}

const hasEntries = (folder: string): boolean => sizeOf(logPath(folder)) > 0 || sizeOf(movedPath(folder)) > 0

function sizeOf(path: string): number {
  return withReadErrors(path, () => lstatSync(path, { throwIfNoEntry: false }))?.size ?? 0
}

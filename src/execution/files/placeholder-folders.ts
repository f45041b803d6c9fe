import { readdirSync } from 'node:fs'
import { placeholderMark } from '../../platform/placeholder-mark.ts'

/** Whether a folder is a placeholder, of any process, alive or dead. */
export function hasPlaceholderMark(path: string): boolean {
  return (marksIn(path)?.length ?? 0) > 0
}

/** Whether a folder is empty except for marks. A placeholder is empty for a moment when it is created and removed. */
export function isEmptyFolder(path: string): boolean {
  return marksIn(path) !== undefined
}

/** Undefined if it is missing, no folder, or contains anything else. */
function marksIn(path: string): string[] | undefined {
  try {
    const names = readdirSync(path)
    return names.every((name) => name.startsWith(placeholderMark)) ? names : undefined
  } catch {
    return undefined
  }
}

import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { codeOf } from '../../core/errors.ts'
import { placeholderMark } from '../../platform/placeholder-mark.ts'
import { isProcessMark } from '../../platform/process-identity.ts'

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
    return names.every((name) => isMark(path, name)) ? names : undefined
  } catch {
    return undefined
  }
}

/** Nothing else, or a command could hide its files from file tools by such a name. */
function isMark(folder: string, name: string): boolean {
  if (!name.startsWith(placeholderMark) || !isProcessMark(name.slice(placeholderMark.length))) return false
  try {
    return readdirSync(join(folder, name)).length === 0
  } catch (error) {
    return codeOf(error) === 'ENOENT' // just removed
  }
}

import { realpathSync } from 'node:fs'

/** Resolves links, so that a folder has one name however the person got there. */
export function realFolder(cwd: string): string {
  try {
    return realpathSync.native(cwd)
  } catch {
    return cwd // it is gone, or on another machine
  }
}

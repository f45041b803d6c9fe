import { realpathSync } from 'node:fs'

/** A folder by its one true name: a person comes to it by links, a shell may not. */
export function placeOf(cwd: string): string {
  try {
    return realpathSync.native(cwd)
  } catch {
    return cwd // it may be gone, or on another machine
  }
}

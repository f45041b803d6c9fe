import { posix } from 'node:path'
import { visibleName } from '../../../platform/visible-text.ts'

/** A path as git is asked for it; throws for one that leads out of the folder. */
export function innerPath(path: string): string {
  const shown = visibleName(path.slice(0, 200))
  if (path === '' || path.length > longestPath) throw new Error(`"${shown}" is no path; name a file in the repository`)
  const plain = posix.normalize(path)
  if (posix.isAbsolute(plain) || plain === '..' || plain.startsWith('../'))
    throw new Error(`"${shown}" leads out of the folder; give a path relative to it, without ".."`)
  return plain
}

const longestPath = 4096

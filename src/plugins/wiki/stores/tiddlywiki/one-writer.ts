import { lstat } from 'node:fs/promises'
import { join } from 'node:path'
import { AgentError } from '../../../../core/errors.ts'
import { withLock } from '../../../../platform/lock.ts'

/**
 * Does something to the files of a wiki while no other store does, in this process or another. TiddlyWiki itself knows
 * nothing of it: what a person saves at the same moment is only looked for.
 */
export async function oneWriter<T>(folder: string, work: () => Promise<T>): Promise<T> {
  // The lock must not make a folder anew that somebody took away.
  if (!(await kindOf(folder))?.isDirectory()) return work()
  const own = join(folder, '.libero')
  const lock = join(own, 'wiki.lock')
  const [ownKind, lockKind] = [await kindOf(own), await kindOf(lock)]
  // A wiki may come from anywhere: a link leads out of it, and a pipe would be waited for.
  const odd = (ownKind && !ownKind.isDirectory() && own) || (lockKind && !lockKind.isFile() && lock)
  if (odd) throw new AgentError(`${odd} is no plain folder or file; nothing was written, take it away`)
  return withLock(lock, work, { waitMs: 10_000 })
}

const kindOf = (path: string) => lstat(path).catch(() => undefined)

import { lstatSync, mkdirSync, realpathSync, type Stats } from 'node:fs'
import { isInside } from './protected-paths.ts'

/** The roots of one handle, as they were when it was made. */
export interface SettledRoots {
  /**
   * Those that are there. Bubblewrap follows links anew for each command: throws when a root is not what it was, because a
   * command may have put a link to anywhere in its place.
   */
  present(): string[]
}

/**
 * Missing ones are made. Not those inside another root, which may become files: they can be written there as all else, and
 * are never bound themselves.
 */
export function settledRoots(roots: readonly string[]): SettledRoots {
  const isInner = (root: string): boolean => roots.some((other) => other !== root && isInside(other, root))
  for (const root of roots) if (!look(root) && !isInner(root)) mkdirSync(root, { recursive: true })
  const known = new Map(roots.map((root) => [root, look(root)]))

  return {
    present: () =>
      [...known].flatMap(([root, before]) => {
        const now = look(root)
        if (!before || !now) return []
        if (realpathSync.native(root) !== root || !isSame(before, now)) throw replaced(root)
        return [root]
      }),
  }
}

/** A file may be written anew: without a link on the way it still lies where it was allowed. */
function isSame(before: Stats, now: Stats): boolean {
  if (before.isFile()) return now.isFile()
  return now.isDirectory() && before.dev === now.dev && before.ino === now.ino
}

function look(path: string): Stats | undefined {
  return lstatSync(path, { throwIfNoEntry: false })
}

function replaced(root: string): Error {
  return new Error(
    `The root ${root} is not the folder any more that it was when this handle was made: it was moved, or something else was put in its place. Nothing was run. Look at what is there now; if it is as it should be, spawn another handle`,
  )
}

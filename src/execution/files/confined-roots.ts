import { readlinkSync, realpathSync } from 'node:fs'
import { basename, dirname, isAbsolute, join, resolve, sep } from 'node:path'
import { fileError } from './confined-path.ts'

/** The folders that files must really lie in. */
export interface Roots {
  /** Real paths; undefined: everything is inside. */
  readonly folders: readonly string[] | undefined
  /** Throws `EOUTSIDE` when a real path, to which the asked one led, is not inside. */
  check(real: string, asked: string): void
  /** The error for an asked path that leads somewhere else. */
  outside(asked: string, where: string): Error
}

/**
 * Where the roots really are is settled once: a root that lies inside another one could otherwise be replaced by a link to
 * anywhere, and what it points to would be allowed.
 */
export function settleRoots(roots: readonly string[] | 'any'): Roots {
  const folders = roots === 'any' ? undefined : roots.map(settle)

  function outside(asked: string, where: string): Error {
    const what = where === `"${asked}"` ? `${where} is` : `"${asked}" leads to ${where}, which is`
    const places = folders?.length ? folders.join(', ') : 'there are none'
    const advice = 'Work inside these; whoever runs the agent can allow more folders'
    return fileError('EOUTSIDE', `${what} outside the folders that tools may use (${places}). ${advice}`, asked)
  }

  return {
    folders,
    check(real, asked) {
      if (folders && !folders.some((folder) => isInside(folder, real))) throw outside(asked, `"${real}"`)
    },
    outside,
  }
}

function settle(root: string): string {
  if (!isAbsolute(root)) throw new Error(`The root folder "${root}" must be an absolute path`)
  return whereabouts(resolve(root))
}

/** The real path of what is there, or would be: links are followed as far as there are any, also when they lead to nothing. */
export function whereabouts(path: string, links = 40): string {
  try {
    return realpathSync.native(path)
  } catch {
    const parent = dirname(path)
    if (parent === path) return path
    const target = links > 0 ? linkTarget(path) : undefined
    if (target !== undefined) return whereabouts(resolve(whereabouts(parent, links), target), links - 1)
    return join(whereabouts(parent, links), basename(path))
  }
}

function linkTarget(path: string): string | undefined {
  try {
    return readlinkSync(path)
  } catch {
    return undefined
  }
}

/** By whole names: `/w/project-x` is not inside `/w/project`. */
function isInside(folder: string, path: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : folder + sep)
}

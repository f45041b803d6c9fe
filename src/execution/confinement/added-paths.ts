import { statSync } from 'node:fs'
import { join } from 'node:path'
import type { SandboxProfile } from '../../core/execution.ts'
import type { Mount } from '../bubblewrap/args.ts'
import { isInside } from '../bubblewrap/protected-paths.ts'
import { isRealPath, realPathOf } from '../files/confined-path.ts'
import { showing } from './shown-paths.ts'

/** What the user adds to the sandboxes of commands; absolute paths. */
export interface SandboxPaths {
  /** Files and folders that commands can read. */
  readonly read?: readonly string[]
  /** Folders that commands in `workspace-write` can write too. */
  readonly caches?: readonly string[]
}

interface AddedPaths {
  readonly mounts: readonly Mount[]
  /** Those in which files may be hidden. */
  readonly folders: readonly string[]
  /** By which programs find their caches. */
  readonly variables: Readonly<Record<string, string>>
}

/**
 * The added paths at present, for a profile. Links are followed once, before the first command: a command that writes into a
 * cache could put one there.
 */
export function createAddedPaths({ read = [], caches = [] }: SandboxPaths, home: string, workspace: readonly string[]) {
  const shown = read.flatMap(showing).filter(({ path, how }) => how === 'link' || isPart(path, home))
  const written = [...new Set(caches.map((path) => realPathOf(path)))].filter(
    (path) => isPart(path, home) && !workspace.some((root) => isInside(root, path) || isInside(path, root)),
  )
  return (profile: SandboxProfile): AddedPaths => {
    const present = shown.filter(({ path, how }) => how === 'link' || isRealPath(path))
    const open = profile === 'workspace-write' ? written.filter((path) => isRealPath(path) && isFolder(path)) : []
    const isOpen = (name: string): boolean =>
      open.some((path) => isInside(path, join(home, name)) || isInside(join(home, name), path))
    return {
      mounts: [...present, ...open.map((path): Mount => ({ path, how: 'write' }))],
      folders: [...present.flatMap(({ path, how }) => (how === 'read' ? [path] : [])), ...open],
      variables: Object.fromEntries(
        Object.entries(cachesAtHome).flatMap(([variable, name]) =>
          isOpen(name) ? [[variable, join(home, name)]] : [],
        ),
      ),
    }
  }
}

/** Where programs have their caches below the home folder, if a variable does not say otherwise. */
const cachesAtHome = { XDG_CACHE_HOME: '.cache', npm_config_cache: '.npm', GOCACHE: '.cache/go-build' }

/** The root folder, the home folder and what contains it would be the whole machine; the system's own folders are no files. */
export function isPart(path: string, home: string): boolean {
  return !isInside(path, home) && !['/proc', '/sys', '/dev', '/run'].some((own) => isInside(own, path))
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
}

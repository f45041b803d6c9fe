import { existsSync, statSync } from 'node:fs'
import { homedir } from 'node:os'
import type { SandboxLayout } from './args.ts'
import { hiddenPaths } from './hidden-paths.ts'
import { isVoid, type Placeholders } from './placeholders.ts'
import { isInside, nestedGitFolders, type Protection, protectionOf } from './protected-paths.ts'

export interface SandboxPolicyOptions {
  /** Real paths, as all of these. */
  readonly roots: readonly string[]
  /** The roots as they were named: a protected path that is one of them may be written. */
  readonly named: readonly string[]
  readonly readOnly: readonly string[]
  readonly hidden: readonly string[] | undefined
  /** The folders for temporary files. */
  readonly temporaryAt: readonly string[]
  readonly placeholders: Placeholders
}

type Files = Pick<SandboxLayout, 'roots' | 'readOnly' | 'hidden' | 'temporaryAt'> & { readonly protection?: Protection }

/** What one handle may see and write. */
export interface SandboxPolicy {
  /** As it stands at this moment. With `free`, also what was protected. */
  files(how: { readonly writes: boolean; readonly free?: readonly string[] }): Promise<Files>
  /** Whether a path is kept from being written although it lies in a root. */
  isProtected(path: string): boolean
}

export function sandboxPolicy(options: SandboxPolicyOptions): SandboxPolicy {
  const { roots, named, readOnly, hidden, temporaryAt, placeholders } = options
  const isRoot = process.getuid?.() === 0
  const nested = Promise.all(roots.map(nestedGitFolders)).then((found) => found.flat())

  const isPlaceholder = (path: string): boolean => !roots.includes(path) && (placeholders.has(path) || isVoid(path))

  function protection(git: readonly string[], missing: readonly string[], free: readonly string[]): Protection {
    const terms = { free: [...roots, ...named, ...free], nested: git, placeholders }
    const each = roots.filter(isFolder).map((root) => protectionOf(root, terms))
    return {
      existing: each.flatMap(({ existing }) => existing),
      pinned: each.flatMap(({ pinned }) => pinned),
      missing: [...new Set([...each.flatMap((one) => one.missing), ...missing])],
      watched: each.flatMap(({ watched }) => watched),
    }
  }

  return {
    async files({ writes, free = [] }) {
      const git = await nested
      const { there, missing } = hiddenPaths({ hidden, home: homedir(), isRoot, roots, isPlaceholder })
      return {
        roots: roots.filter((root) => existsSync(root)),
        readOnly,
        hidden: there,
        temporaryAt,
        ...(writes && { protection: protection(git, missing, free) }),
      }
    },

    isProtected(path) {
      const { existing, missing, watched } = protection([], [], [])
      return [...existing, ...missing, ...watched].some((one) => isInside(one, path))
    },
  }
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false
}

import { type Stats, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { codeOf } from '../../core/errors.ts'
import { whereabouts } from '../files/confined-roots.ts'
import type { HiddenPath } from './args.ts'
import { isInside } from './protected-paths.ts'

/** Where people keep what opens other doors, below their home. */
export const secretsAtHome: readonly string[] = [
  ...['.ssh', '.gnupg', '.aws', '.azure', '.kube', '.docker', '.config/gcloud', '.config/doctl', '.config/op'],
  ...['.netrc', '.npmrc', '.pypirc', '.git-credentials', '.config/git/credentials', '.config/gh', '.config/hub'],
  ...[
    '.cargo/credentials',
    '.cargo/credentials.toml',
    '.gem/credentials',
    '.m2/settings.xml',
    '.gradle/gradle.properties',
  ],
  ...['.terraform.d/credentials.tfrc.json', '.vault-token', '.password-store', '.local/share/keyrings', '.pgpass'],
  ...[
    '.libero',
    '.claude',
    '.codex',
    '.gemini',
    '.config/github-copilot',
    '.1password',
    '.mozilla',
    '.config/google-chrome',
  ],
  ...['.config/chromium', '.bash_history', '.zsh_history', '.python_history', '.node_repl_history', '.psql_history'],
]

/** What the kernel shows to root only, and so to the commands of root. */
const secretsOfRoot = ['/etc/shadow', '/etc/shadow-', '/etc/gshadow', '/etc/gshadow-', '/etc/sudoers', '/etc/ssh']

export interface HiddenOptions {
  /** In place of the usual ones. */
  readonly hidden?: readonly string[] | undefined
  readonly home: string
  readonly isRoot: boolean
  /** A usual one is not hidden when the work is done in it. */
  readonly roots: readonly string[]
  /** Whether something is there only to keep its name. */
  readonly isPlaceholder?: (path: string) => boolean
}

/** What must not be read: what is there of it, and what could come into being inside a root. */
export function hiddenPaths(options: HiddenOptions): { there: HiddenPath[]; missing: string[] } {
  const usual = options.hidden === undefined
  const home = whereabouts(options.home)
  const named = options.hidden ?? [
    ...secretsAtHome.map((name) => join(home, name)),
    ...(options.isRoot ? secretsOfRoot : []),
  ]
  const there: HiddenPath[] = []
  const missing: string[] = []
  for (const name of named) {
    const found = look(name)
    const path = found || !usual ? whereabouts(name) : name
    if (usual && options.roots.some((root) => isInside(path, root))) continue
    const isInRoot = options.roots.some((root) => isInside(root, path))
    if (found && !(isInRoot && options.isPlaceholder?.(path))) there.push({ path, isFolder: found.isDirectory() })
    else if (isInRoot && look(dirname(path)) && !options.isPlaceholder?.(dirname(path))) missing.push(path)
  }
  return { there, missing }
}

function look(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false })
  } catch (error) {
    // What we may not look at, commands may not read either.
    if (['ENOTDIR', 'EACCES', 'ELOOP'].includes(codeOf(error) ?? '')) return undefined
    throw error
  }
}

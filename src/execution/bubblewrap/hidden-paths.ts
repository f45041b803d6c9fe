import { type Stats, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { codeOf } from '../../core/errors.ts'
import { realPathOf } from '../files/confined-path.ts'
import type { HiddenPath } from './args.ts'
import { isInside } from './protected-paths.ts'

/** Common locations of credentials below the home folder. */
const secretsAtHome: readonly string[] = [
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
  ...['Library/Keychains', 'Library/Cookies', 'Library/Safari', 'Library/Messages', 'Library/Mail'],
  ...['Library/Application Support/Google/Chrome', 'Library/Application Support/Firefox'],
  ...['.config/chromium', '.bash_history', '.zsh_history', '.python_history', '.node_repl_history', '.psql_history'],
]

/** Files that only root may read, and so the commands of root too. */
const secretsOfRoot = ['/etc/shadow', '/etc/shadow-', '/etc/gshadow', '/etc/gshadow-', '/etc/sudoers', '/etc/ssh']

interface HiddenOptions {
  /** Replaces the default list. */
  readonly hidden?: readonly string[] | undefined
  readonly home: string
  readonly isRoot: boolean
  /** A default path is not hidden if a root is inside it. */
  readonly roots: readonly string[]
  /** Whether a path is only a placeholder. */
  readonly isPlaceholder?: (path: string) => boolean
}

/** The paths to hide: existing ones, and missing ones that could be created inside a root. */
export function hiddenPaths(options: HiddenOptions): { there: HiddenPath[]; missing: string[] } {
  const isDefault = options.hidden === undefined
  const home = realPathOf(options.home)
  const named = options.hidden ?? [
    ...secretsAtHome.map((name) => join(home, name)),
    ...(options.isRoot ? secretsOfRoot : []),
  ]
  const there: HiddenPath[] = []
  const missing: string[] = []
  for (const name of named) {
    const found = look(name)
    const path = found || !isDefault ? realPathOf(name) : name
    if (isDefault && options.roots.some((root) => isInside(path, root))) continue
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
    // Commands cannot read either what this process cannot access.
    if (['ENOTDIR', 'EACCES', 'ELOOP'].includes(codeOf(error) ?? '')) return undefined
    throw error
  }
}

import { dirname } from 'node:path'
import type { HiddenPath, Mount, SandboxLayout } from '../bubblewrap/args.ts'
import type { ClosedView } from '../bubblewrap/policy.ts'

/** What a sandbox shows. All paths are real and absolute, and exist. What is not named here does not exist inside. */
export interface SandboxFacts {
  /** The folders of the workspace. */
  readonly workspace: readonly string[]
  /** The home folder, which is replaced by an empty one; absent if it cannot be, such as `/`, or is to be seen. */
  readonly home: string | undefined
  /** Read-only: the system, the toolchains of `PATH`, the git folder of the workspace, what was judged; and links to them. */
  readonly seen: readonly Mount[]
  /** Credentials: covered where something shows them that was not named for them. */
  readonly secrets: readonly HiddenPath[]
  /** Covered always. */
  readonly hidden: readonly HiddenPath[]
  /** The git folders below the workspace. */
  readonly repositories: readonly string[]
}

/** What there is in a sandbox beside the workspace, and what is covered. */
export function closedView(facts: SandboxFacts): ClosedView {
  const base = closedRoot(facts)
  const mounts = byPath([...base, ...facts.workspace.map(read)])
  const shows = (path: string): boolean => isShown(path, mounts) || mounts.has(path)
  const secrets = facts.secrets.filter(({ path }) => isShown(path, mounts))
  const hidden = facts.hidden.filter(({ path }) => shows(path))
  return { base, hidden: [...secrets, ...hidden], repositories: facts.repositories, shows }
}

type Files = Pick<SandboxLayout, 'base' | 'roots' | 'readOnly' | 'hidden' | 'temporaryAt'>

/** The files of a sandbox in which nothing can be written but its own temporary folders. */
export function readOnlyFiles(facts: SandboxFacts): Files {
  const { base, hidden } = closedView(facts)
  return { base, hidden, roots: facts.workspace, readOnly: [], temporaryAt: [] }
}

function closedRoot({ home, seen, workspace }: SandboxFacts): Mount[] {
  const temporary: Mount[] = ['/tmp', ...(home === undefined ? [] : [home])].map((path) => ({ path, how: 'memory' }))
  const all = [...temporary, otherTemporary([...workspace, home ?? '/', ...seen.map(({ path }) => path)]), ...seen]
  const outer = byPath([...all, ...workspace.map(read)])
  // What an outer mount shows already needs none of its own, and no link can be made there.
  const needed = all.filter((mount) => !['read', 'link'].includes(mount.how) || !isShown(mount.path, outer))
  return [...byPath(needed).values()]
}

const varTmp = '/var/tmp'

/** Nothing can be mounted behind a link. */
function otherTemporary(paths: readonly string[]): Mount {
  if (paths.some((path) => path.startsWith(`${varTmp}/`))) return { path: varTmp, how: 'memory' }
  return { path: varTmp, how: 'link', from: '/tmp' }
}

/** Mounts by their paths. Of two at one path the later one counts: a workspace may be the home folder. */
type MountsByPath = ReadonlyMap<string, Mount>

const byPath = (mounts: readonly Mount[]): MountsByPath => new Map(mounts.map((mount) => [mount.path, mount]))

/** Whether a path is visible because of a folder above it. */
function isShown(path: string, mounts: MountsByPath): boolean {
  for (let at = path; at !== '/'; ) {
    at = dirname(at)
    const nearest = mounts.get(at)
    if (nearest) return nearest.how === 'read' || nearest.how === 'write'
  }
  return false
}

const read = (path: string): Mount => ({ path, how: 'read' })

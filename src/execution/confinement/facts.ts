import type { Confinement } from '../../core/execution.ts'
import type { Mount } from '../bubblewrap/args.ts'
import { hiddenPaths } from '../bubblewrap/hidden-paths.ts'
import { isInside } from '../bubblewrap/protected-paths.ts'
import { isRealPath, realPathOf } from '../files/confined-path.ts'
import { createAddedPaths, type SandboxPaths } from './added-paths.ts'
import { cacheMounts } from './caches.ts'
import { credentialFiles } from './credential-files.ts'
import { createHiddenFiles } from './hidden-files.ts'
import { ownPrograms } from './own-programs.ts'
import type { SandboxFacts } from './profile.ts'
import { type Repository, repositoryOf } from './repository.ts'
import { networkPaths, showing, showingSystem, toolchainsOf } from './shown-paths.ts'
import { tokenFiles } from './token-files.ts'

export interface PlaceOptions {
  /** The folder of the handle; absolute. */
  readonly cwd: string
  /** Further folders of the workspace; absolute. */
  readonly roots: readonly string[]
  /** The home folder of this user. */
  readonly home: string
  /** Variables for all commands; later ones win. Their `PATH` counts before that of this process. */
  readonly env?: readonly (Readonly<Record<string, string>> | undefined)[]
  /** What the user adds. */
  readonly added?: SandboxPaths | undefined
}

/** What a command may see; a part of its confinement. */
export type Sight = Pick<Confinement, 'hidden' | 'reads'> &
  Partial<Pick<Confinement, 'profile' | 'hosts' | 'home'>> & {
    /** What its tool brings along. */
    readonly programs?: readonly string[] | undefined
  }

/** What a sandbox shows, the `PATH` of its commands, and variables about what the user added. */
export type PresentFacts = SandboxFacts & {
  readonly path: readonly string[]
  readonly variables: Readonly<Record<string, string>>
}

export interface FactFinder {
  find(sight: Sight): Promise<PresentFacts>
  /** Where commands in `workspace-write` write: the workspace, and the git folder that belongs to it. */
  writable(): string[]
}

/** Finds out what sandboxes of one workspace show. The workspace is resolved once: a command could replace it by a link. */
export function createFactFinder({ cwd, roots, home: named, env = [], added = {} }: PlaceOptions): FactFinder {
  const home = realPathOf(named)
  const spelled = [...new Set([cwd, ...roots])]
  const workspace = [...new Set(spelled.map((root) => realPathOf(root)))]
  const addedPaths = createAddedPaths(added, home, workspace)
  const hiddenFiles = createHiddenFiles()
  const isRoot = process.getuid?.() === 0
  let system: SystemFacts | undefined

  async function systemFor(projects: readonly string[]): Promise<SystemFacts> {
    const all = env.findLast((one) => one?.PATH !== undefined)?.PATH ?? process.env.PATH ?? '/usr/bin:/bin'
    const of = [all, ...projects].join('\0')
    if (system?.of === of) return system
    const { path, shown } = toolchainsOf(all, home, projects)
    const others = [...shown, ...(await ownPrograms()), ...spelled, named].flatMap(showing)
    const seen = [...showingSystem(), ...others.filter((one) => one.how === 'link' || !isInside(one.path, home))]
    system = { of, path, seen, shown: shown.map((one) => realPathOf(one)) }
    return system
  }

  const repositories = (): Repository[] => workspace.flatMap((root) => repositoryOf(root, home) ?? [])

  return {
    async find({ hidden, reads, hosts = [], home: sight = 'empty', profile = 'read-only', programs = [] }) {
      const found = repositories()
      const own = addedPaths(profile)
      const outside = found.flatMap((one) => one.outside)
      const { seen, shown, path } = await systemFor([...workspace, ...found.map(({ top }) => top)])
      const present = workspace.filter(isRealPath)
      // What was judged is the path itself: a link that was put there since leads elsewhere.
      const judged = reads.filter((one) => one !== '/' && !isOwn(one) && isRealPath(one))
      const further = [...programs, ...(hosts === 'any' ? networkPaths : [])].flatMap(showing)
      const open = sight === 'readable' && isRealPath(home) ? [home] : []
      const projects = [...new Set([...present, ...outside, ...judged, ...own.folders])]
      const files = await hiddenFiles.find(hidden, { projects, programs: [...open, ...shown] })
      return {
        workspace: present,
        home: open.length === 0 && canBeEmpty(home) ? home : undefined,
        seen: [
          ...seen,
          ...further,
          ...[...open, ...outside, ...judged].map((one): Mount => ({ path: one, how: 'read' })),
          ...open.flatMap(cacheMounts),
          ...own.mounts,
        ],
        secrets: [
          ...hiddenPaths({ home, isRoot, roots: present }).there,
          ...open.flatMap(credentialFiles).filter(({ path }) => !present.some((root) => isInside(root, path))),
          ...tokenFiles(files.settings),
        ],
        hidden: files.hidden,
        repositories: files.repositories,
        path,
        variables: own.variables,
      }
    },

    writable: () => [...workspace, ...repositories().flatMap(({ git }) => git ?? [])],
  }
}

/** What does not change as long as `PATH` and the folders of the projects stay. */
interface SystemFacts {
  readonly of: string
  readonly seen: readonly Mount[]
  /** The folders of toolchains. */
  readonly shown: readonly string[]
  readonly path: readonly string[]
}

/** The sandbox has these itself. */
function isOwn(path: string): boolean {
  return ['/proc', '/dev'].some((own) => isInside(own, path))
}

/** Users of services have homes such as `/` and `/usr/sbin`. */
function canBeEmpty(home: string): boolean {
  return home !== '/' && !['/usr', '/bin', '/sbin', '/lib', '/etc', '/proc', '/dev'].some((one) => isInside(one, home))
}

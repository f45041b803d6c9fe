import { type Dirent, existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Confinement } from '../../core/execution.ts'
import type { HiddenPath, Mount } from '../bubblewrap/args.ts'
import { hiddenPaths } from '../bubblewrap/hidden-paths.ts'
import { isInside } from '../bubblewrap/protected-paths.ts'
import { isRealPath, realPathOf } from '../files/confined-path.ts'
import { createAddedPaths, type SandboxPaths } from './added-paths.ts'
import { createCredentialSearch, createToolchainSearch } from './credential-files.ts'
import { createHiddenFiles, mostHidden } from './hidden-files.ts'
import type { SandboxFacts } from './profile.ts'
import { type Repository, repositoryOf } from './repository.ts'
import { networkPaths, showing, showingSystem, systemPaths, toolchainsOf } from './shown-paths.ts'
import { homeSettings, sharedSettings, tokenFiles } from './token-files.ts'

export interface PlaceOptions {
  /** The folder of the handle; absolute. */
  readonly cwd: string
  /** Further folders of the workspace; absolute. */
  readonly roots: readonly string[]
  /** The real paths that these folders had when the handle was made. Default: those at the first use. */
  readonly realPathOf?: (folder: string) => string
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
export function createFactFinder(options: PlaceOptions): FactFinder {
  const { cwd, roots, home: named, env = [], added = {} } = options
  const home = realPathOf(named)
  const spelled = [...new Set([cwd, ...roots])]
  const workspace = [...new Set(spelled.map(options.realPathOf ?? ((root) => realPathOf(root))))]
  // Only the links: where they lead now is shown if it is the workspace, and nothing else is.
  const spellings = [...spelled, named].flatMap(showing).filter(({ how }) => how === 'link')
  const addedPaths = createAddedPaths(added, home, workspace)
  const hiddenFiles = createHiddenFiles()
  const findCredentials = createCredentialSearch()
  const findInToolchains = createToolchainSearch()
  const isRoot = process.getuid?.() === 0
  let system: SystemFacts | undefined

  async function systemFor(projects: readonly string[]): Promise<SystemFacts> {
    const all = env.findLast((one) => one?.PATH !== undefined)?.PATH ?? process.env.PATH ?? '/usr/bin:/bin'
    const of = [all, ...projects].join('\0')
    if (system?.of === of) return system
    const { path, shown } = toolchainsOf(all, home, projects)
    const others = [...shown, ...(await ownPrograms())].flatMap(showing)
    const seen = [...showingSystem(), ...spellings]
    const tools = others.filter((one) => one.how === 'link' || !isInside(one.path, home))
    const real = [...new Set(shown.map((one) => realPathOf(one)))]
    const ofSystem = systemPaths()
    const own = real.filter((one) => ![...ofSystem, ...projects].some((folder) => isInside(folder, one)))
    system = { of, path, seen, tools, shown: real, own, settings: sharedSettings(path) }
    return system
  }

  const repositories = (): Repository[] => workspace.flatMap((root) => repositoryOf(root, home) ?? [])

  return {
    async find({ hidden, reads, hosts = [], home: sight = 'empty', profile = 'read-only', programs = [] }) {
      const found = repositories()
      const own = addedPaths(profile)
      const outside = found.flatMap((one) => one.outside)
      const {
        seen,
        tools,
        shown,
        own: toolchains,
        settings,
        path,
      } = await systemFor([...workspace, ...found.map(({ top }) => top)])
      const present = workspace.filter(isRealPath)
      const lost = workspace.find((root) => !present.includes(root) && existsSync(root))
      if (lost !== undefined) throw replacedByLink(lost)
      // What was judged is the path itself: a link that was put there since leads elsewhere.
      const judged = reads.filter((one) => one !== '/' && !isOwn(one) && isRealPath(one))
      const further = [...programs, ...(hosts === 'any' ? networkPaths : [])].flatMap(showing)
      const open = sight === 'readable' && isRealPath(home) ? [home] : []
      const projects = [...new Set([...present, ...outside, ...judged, ...own.folders])]
      const files = await hiddenFiles.find(hidden, { projects, programs: [...open, ...shown] })
      const known = hiddenPaths({ home, isRoot, roots: present }).there
      const closed = [...known, ...files.hidden].flatMap(({ path, isFolder }) =>
        isFolder && !projects.some((one) => isInside(path, one)) ? [path] : [],
      )
      const credentials = open.length > 0 ? await findCredentials(home, closed) : []
      const atHome = open.flatMap((folder) => homeSettings.map((name) => join(folder, name)))
      const beside = await findInToolchains(
        toolchains,
        [...known, ...files.hidden, ...credentials].map((one) => one.path),
      )
      return {
        workspace: present,
        home: open.length === 0 && canBeEmpty(home) ? home : undefined,
        seen: [
          ...seen,
          // A command of another workspace may write there, and put a link in the place of one.
          ...tools.filter(({ path, how }) => how === 'link' || isRealPath(path)).map(mayMove),
          ...further,
          ...[...open, ...outside, ...judged].map((one) => mayMove({ path: one, how: 'read' })),
          ...open.flatMap(cacheMounts),
          ...own.mounts.map(mayMove),
        ],
        secrets: [
          ...known,
          ...notTooMany([
            ...credentials.filter(({ path }) => !present.some((root) => isInside(root, path))),
            ...beside.secrets,
            ...tokenFiles([...new Set([...files.settings, ...settings, ...beside.settings, ...atHome])]),
          ]),
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

const mayMove = (mount: Mount): Mount => ({ ...mount, mayMove: true })

/** What does not change as long as `PATH` and the folders of the projects stay. */
interface SystemFacts {
  readonly of: string
  readonly seen: readonly Mount[]
  /** The toolchains of `PATH`, and the programs that Libero's tools start. */
  readonly tools: readonly Mount[]
  /** The folders of toolchains. */
  readonly shown: readonly string[]
  /** Those of them outside of the system. */
  readonly own: readonly string[]
  /** Settings for all users beside programs, which may hold a token. */
  readonly settings: readonly string[]
  readonly path: readonly string[]
}

function replacedByLink(root: string): Error {
  return new Error(
    `The folder ${root} of the workspace is no longer the one that it was when this handle was created: there is a link in its path now. Look at where it leads; if that is right, spawn another handle`,
  )
}

function notTooMany(files: readonly HiddenPath[]): readonly HiddenPath[] {
  if (files.length <= mostHidden) return files
  throw new Error(
    `${files.length} files with credentials are to be hidden, such as ${files[0]!.path}, and at most ${mostHidden} are possible; hide their folders by a rule that denies fs.read`,
  )
}

/** The sandbox has these itself. */
function isOwn(path: string): boolean {
  return ['/proc', '/dev'].some((own) => isInside(own, path))
}

/** Users of services have homes such as `/` and `/usr/sbin`. */
function canBeEmpty(home: string): boolean {
  return home !== '/' && !['/usr', '/bin', '/sbin', '/lib', '/etc', '/proc', '/dev'].some((one) => isInside(one, home))
}

let found: Promise<readonly string[]> | undefined

/** Programs that many commands of Libero's tools start by their paths: Node and ripgrep, wherever they are installed. */
function ownPrograms(): Promise<readonly string[]> {
  // An optional dependency, and not for every platform.
  found ??= import('@vscode/ripgrep').then(
    ({ rgPath }) => [process.execPath, rgPath],
    () => [process.execPath],
  )
  return found
}

/**
 * The caches at home that a command may write. Of `.cache` only those of package managers and compilers: others are run
 * without being asked for, such as the prompt of zsh, the hooks of pre-commit and the compiled code of this program. So the
 * rest of it can be read, and what a command adds there is gone with it. The stores whose files package managers link into
 * every project are empty: to write one would change all those projects.
 */
function cacheMounts(home: string): Mount[] {
  const own = cachesAtHome.map((name) => join(home, name)).filter(isRealPath)
  const stores = linkedStores.map((name) => join(home, name)).filter(isRealPath)
  const folder = join(home, '.cache')
  const inCache = isRealPath(folder) ? entriesOf(folder).filter((entry) => entry.isDirectory() || entry.isFile()) : []
  return [
    ...own.map((path): Mount => ({ path, how: 'write' })),
    ...(isRealPath(folder) ? [{ path: folder, how: 'memory' } as const] : []),
    ...stores.map((path): Mount => ({ path, how: 'memory' })),
    ...inCache
      .filter(({ name }) => !storesInCache.has(name))
      .slice(0, mostShown)
      .map((entry): Mount => {
        const isWritten = entry.isDirectory() && writtenInCache.has(entry.name)
        return { path: join(folder, entry.name), how: isWritten ? 'write' : 'read' }
      }),
  ]
}

/** Each is a mount of its own. */
const mostShown = 60

/** Below the home folder: what package managers fetch and compilers make. */
const cachesAtHome: readonly string[] = [
  ...['.npm', '.yarn/cache', '.yarn/berry/cache'],
  ...['.cargo/registry', '.cargo/git', 'go/pkg/mod', '.gradle/caches', '.m2/repository', '.ivy2/cache'],
  ...['.nuget/packages', '.composer/cache', '.gem/specs', '.pub-cache/hosted', '.hex/packages', '.cabal/packages'],
  '.conan2/p',
]

/** Their files are hard links in `node_modules` and virtual environments. */
const linkedStores: readonly string[] = ['.pnpm-store', '.local/share/pnpm/store', '.bun/install/cache']
const storesInCache: ReadonlySet<string> = new Set(['uv', 'deno'])

const writtenInCache: ReadonlySet<string> = new Set([
  ...['pip', 'pip-tools', 'pdm', 'hatch', 'mypy', 'ruff', 'black', 'pylint', 'pytest', 'yarn', 'pnpm', 'turbo'],
  ...['node-gyp', 'typescript', 'esbuild', 'swc', 'biome', 'eslint', 'prettier', 'go-build', 'golangci-lint'],
  ...['ccache', 'sccache', 'clangd', 'zig', 'bazel', 'bazelisk', 'meson', 'vcpkg', 'composer', 'coursier', 'dart'],
  ...['mix', 'rebar3', 'cabal', 'stack', 'dotnet', 'nuget', 'huggingface', 'torch', 'matplotlib', 'fontconfig'],
])

function entriesOf(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
  } catch {
    return [] // commands cannot read it either
  }
}

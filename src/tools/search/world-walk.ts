import type { ToolContext } from '../../core/tool.ts'
import {
  enterFolder,
  type IgnoreChain,
  type IgnoreFile,
  isIgnored,
  parseIgnoreFile,
  withRules,
} from './ignore-rules.ts'
import { comparePaths } from './order.ts'
import type { SearchPlace } from './query.ts'

/** What is in the folders of another world. */
export interface Folders {
  /** Names in a folder below the place (empty, or ending with a slash); those of folders end with a slash. */
  namesIn(way: string): Promise<readonly string[]>
  isTooLarge(path: string): boolean
}

export interface WorldWalk {
  readonly place: SearchPlace
  readonly ctx: ToolContext
  readonly folders: Folders
  readonly depth: number | undefined
  entersFolder(path: string): boolean
}

interface WorldFile {
  readonly path: string
  readonly name: string
}

/** The files of a place in order, without what `.gitignore` leaves out and without `.git`. */
export async function* walkWorld(walk: WorldWalk): AsyncGenerator<WorldFile> {
  yield* visit(walk, '', await outerRules(walk), 1)
}

async function* visit(walk: WorldWalk, way: string, outer: IgnoreChain, level: number): AsyncGenerator<WorldFile> {
  const { ctx, folders, place, depth, entersFolder } = walk
  ctx.signal.throwIfAborted()
  const names = (await folders.namesIn(way)).toSorted((a, b) => comparePaths(bare(a), bare(b)))
  const chain = names.includes(rulesName) ? withRules(outer, await readRules(ctx, `${place.path}/${way}`)) : outer
  for (const listed of names) {
    const name = bare(listed)
    const isFolder = listed.endsWith('/')
    if (name === '.git' || isIgnored(chain, name, isFolder)) continue
    const path = way + name
    if (!isFolder) yield { path, name }
    else if ((depth === undefined || level < depth) && entersFolder(path))
      yield* visit(walk, `${path}/`, enterFolder(chain, name), level + 1)
  }
}

const rulesName = '.gitignore'
const bare = (name: string): string => (name.endsWith('/') ? name.slice(0, -1) : name)

async function readRules({ execution, handle }: ToolContext, folder: string): Promise<IgnoreFile | undefined> {
  try {
    return parseIgnoreFile(await execution.readFile(handle, `${folder.replace(/\/+$/, '')}/${rulesName}`))
  } catch {
    return undefined
  }
}

async function outerRules({ place, ctx }: WorldWalk): Promise<IgnoreChain> {
  let chain: IgnoreChain = []
  let folder = '/'
  for (const name of place.path.split('/').filter((part) => part !== '')) {
    chain = enterFolder(withRules(chain, await readRules(ctx, folder)), name)
    folder += `${name}/`
  }
  return chain
}

/** One request for each folder. Links to folders cannot be told from files; reading one of those fails, and that is all. */
export function foldersByListing({ path }: SearchPlace, { execution, handle }: ToolContext): Folders {
  return {
    namesIn: (way) => execution.listFiles(handle, way === '' ? path : `${path}/${way.slice(0, -1)}`).catch(() => []),
    isTooLarge: () => false,
  }
}

/** One request for all of them, where there is a shell with `find`. */
export async function foldersByFind(
  place: SearchPlace,
  ctx: ToolContext,
  mostBytes: number | undefined,
): Promise<Folders | undefined> {
  if (!ctx.execution.capabilities.shell) return undefined
  const files = await find(place, ctx, '')
  if (!files) return undefined
  const tooLarge = mostBytes === undefined ? undefined : await find(place, ctx, `-size +${mostBytes >> 10}k`)
  const large = new Set(tooLarge)
  const folders = treeOf(files)
  return {
    namesIn: async (way) => [...(folders.get(way) ?? [])],
    isTooLarge: (path) => large.has(path),
  }
}

/** Paths of regular files; more than this many characters of them are not kept. */
const mostCharacters = 16 * 1024 * 1024
const findLimitMs = 30_000

async function find(place: SearchPlace, ctx: ToolContext, test: string): Promise<string[] | undefined> {
  const { execution, handle, signal } = ctx
  let output = ''
  const { exitCode, stdout } = await execution.exec(handle, `find . -name .git -prune -o -type f ${test} -print0`, {
    cwd: place.path,
    signal,
    timeout: findLimitMs,
    onOutput(text, from) {
      if (from === 'stdout' && output.length < mostCharacters) output += text
    },
  })
  signal.throwIfAborted()
  output += stdout // where nobody tells what comes
  // Folders it may not enter make it fail, with the others listed.
  if (exitCode !== 0 && output === '') return undefined
  const paths = output.split('\0')
  paths.pop() // what comes after the last NUL, or was cut
  return paths.map((path) => path.slice('./'.length))
}

function treeOf(files: readonly string[]): Map<string, Set<string>> {
  const folders = new Map<string, Set<string>>()
  const add = (way: string, name: string): boolean => {
    const names = folders.get(way)
    if (!names) folders.set(way, new Set([name]))
    else if (names.has(name)) return false
    else names.add(name)
    return true
  }
  for (const file of files) {
    let slash = file.lastIndexOf('/')
    add(file.slice(0, slash + 1), file.slice(slash + 1))
    // Each folder is known to the one around it, up to one that is known already.
    while (slash > 0) {
      const outer = file.lastIndexOf('/', slash - 1)
      if (!add(file.slice(0, outer + 1), file.slice(outer + 1, slash + 1))) break
      slash = outer
    }
  }
  return folders
}

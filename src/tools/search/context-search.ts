import { typeFilter } from './file-types.ts'
import {
  enterFolder,
  type IgnoreChain,
  type IgnoreFile,
  isIgnored,
  parseIgnoreFile,
  withRules,
} from './ignore-rules.ts'
import { comparePaths } from './order.ts'
import { pathFilter } from './path-filter.ts'
import {
  createPager,
  type SearchContext,
  type SearchGaps,
  type SearchQuery,
  type SearchResult,
  type SearchRoot,
} from './query.ts'
import { textsByShell } from './shell-texts.ts'
import { startSearch } from './start-search.ts'

/** Limits of a search in which each file costs a request. */
export interface ContextSearchLimits {
  readonly listed: number
  readonly read: number
  /** In place of `read` if one command reads all files. */
  readonly readByShell?: number
  /** The maximum size of a file. */
  readonly bytes: number
}

export const contextSearchLimits: ContextSearchLimits = {
  ...{ listed: 100_000, read: 2000, readByShell: 20_000 },
  bytes: 8 * 1024 * 1024,
}

const concurrentReads = 8

type Counted = { -readonly [Key in keyof SearchGaps]: SearchGaps[Key] }

/**
 * Searches without ripgrep and without direct access to the files: through the operations that every context has. `byShell`:
 * files are read by commands, so that the search sees no more than these do.
 */
export async function searchThroughContext(
  query: SearchQuery,
  root: SearchRoot,
  ctx: SearchContext,
  limits: ContextSearchLimits = contextSearchLimits,
  { byShell = false }: { readonly byShell?: boolean } = {},
): Promise<SearchResult> {
  const gaps: Counted = {}
  const files = root.kind === 'file' ? [''] : await filesOf(query, root, ctx, { limits, gaps, byShell })
  if (query.mode === 'list') return listed(query, files, gaps)
  const thread = await startSearch({ query }, ctx.signal)
  // A failure of the thread is reported at the end; until then the rejection is unhandled.
  thread.result.catch(() => {})
  await (byShell ? sendTextsOfShell(files) : sendTexts(files))
  thread.finish(gaps)
  return thread.result

  async function sendTexts(paths: readonly string[]): Promise<void> {
    const until = performance.now() + query.limitMs
    const some = paths.slice(0, limits.read)
    if (some.length < paths.length) gaps.stopped = 'files'
    for (let at = 0; at < some.length; at += concurrentReads) {
      ctx.signal.throwIfAborted()
      if (performance.now() > until) return void (gaps.stopped = 'time')
      const batch = some.slice(at, at + concurrentReads)
      const read = await Promise.all(batch.map((path) => textOf(path === '' ? root.path : `${root.path}/${path}`)))
      for (const [i, text] of read.entries()) if (text !== undefined) thread.addText(batch[i]!, text)
    }
  }

  async function sendTextsOfShell(paths: readonly string[]): Promise<void> {
    const some = paths.slice(0, limits.readByShell ?? limits.read)
    if (some.length < paths.length) gaps.stopped = 'files'
    const slash = root.path.lastIndexOf('/') + 1
    const [folder, names] =
      root.kind === 'file' ? [root.path.slice(0, slash), [root.path.slice(slash)]] : [root.path, some]
    const request = { folder, paths: names, maxBytes: limits.bytes, limitMs: query.limitMs }
    const isWhole = await textsByShell(request, ctx, (path, text) => {
      if (text === undefined) countUnreadable(gaps)
      else if (root.kind === 'file' && text.includes('\0')) gaps.binary = true
      else thread.addText(root.kind === 'file' ? '' : path, text)
    })
    if (!isWhole) gaps.stopped = 'time'
  }

  async function textOf(path: string): Promise<string | undefined> {
    try {
      return await ctx.execution.readFile(ctx.handle, path)
    } catch {
      countUnreadable(gaps)
      return undefined
    }
  }
}

function countUnreadable(gaps: Counted): void {
  gaps.unreadable = (gaps.unreadable ?? 0) + 1
}

function listed(query: SearchQuery, files: readonly string[], gaps: SearchGaps): SearchResult {
  const page = createPager(query)
  for (const path of files) page.add({ path })
  return page.result(gaps)
}

interface Bounds {
  readonly limits: ContextSearchLimits
  readonly gaps: Counted
  readonly byShell: boolean
}

/** All wanted files, in order. */
async function filesOf(query: SearchQuery, root: SearchRoot, ctx: SearchContext, bounds: Bounds): Promise<string[]> {
  const { limits, gaps, byShell } = bounds
  const { acceptsFile, entersFolder } = pathFilter(query.filter)
  const hasType = typeFilter(query.type)
  const maxBytes = query.mode === 'list' ? undefined : limits.bytes
  const found = await foldersByFind(root, ctx, maxBytes)
  // What lists folders otherwise sees more than a command.
  if (!found && byShell) {
    countUnreadable(gaps)
    return []
  }
  const folders: FolderListing = found ?? foldersByListing(root, ctx)
  const rules = byShell ? await rulesByShell(root, ctx, folders) : undefined
  const files: string[] = []
  let listed = 0
  const walk = walkContext({ root, ctx, folders, rules, depth: query.filter.depth, entersFolder })
  for await (const { path, name } of walk) {
    if (++listed > limits.listed) {
      gaps.stopped = 'files'
      break
    }
    if (!hasType(name) || !acceptsFile(path)) continue
    if (folders.isTooLarge(path)) gaps.tooLarge = (gaps.tooLarge ?? 0) + 1
    else files.push(path)
  }
  return files
}

/** The contents of the folders of a context. */
export interface FolderListing {
  /** The names in a folder relative to the root (empty, or ending with a slash); those of folders end with a slash. */
  namesIn(prefix: string): Promise<readonly string[]>
  isTooLarge(path: string): boolean
  /** All files below the root, if they are known. */
  readonly files?: readonly string[]
}

export interface ContextWalk {
  readonly root: SearchRoot
  readonly ctx: SearchContext
  readonly folders: FolderListing
  /** The texts of the `.gitignore` files below the root, by path, if they were read before. */
  readonly rules?: ReadonlyMap<string, string> | undefined
  readonly depth: number | undefined
  entersFolder(path: string): boolean
}

interface ListedFile {
  readonly path: string
  readonly name: string
}

/** The files of a root in order, without ignored files and `.git`. */
export async function* walkContext(walk: ContextWalk): AsyncGenerator<ListedFile> {
  yield* visit(walk, '', await outerRules(walk), 1)
}

async function* visit(
  walk: ContextWalk,
  prefix: string,
  outer: IgnoreChain,
  level: number,
): AsyncGenerator<ListedFile> {
  const { ctx, folders, depth, entersFolder } = walk
  ctx.signal.throwIfAborted()
  const names = (await folders.namesIn(prefix)).toSorted((a, b) => comparePaths(bare(a), bare(b)))
  const chain = names.includes(rulesName) ? withRules(outer, await rulesIn(walk, prefix)) : outer
  for (const listed of names) {
    const name = bare(listed)
    const isFolder = listed.endsWith('/')
    if (name === '.git' || isIgnored(chain, name, isFolder)) continue
    const path = prefix + name
    if (!isFolder) yield { path, name }
    else if ((depth === undefined || level < depth) && entersFolder(path))
      yield* visit(walk, `${path}/`, enterFolder(chain, name), level + 1)
  }
}

const rulesName = '.gitignore'
const bare = (name: string): string => (name.endsWith('/') ? name.slice(0, -1) : name)

async function rulesIn({ root, ctx, rules }: ContextWalk, prefix: string): Promise<IgnoreFile | undefined> {
  if (!rules) return readRules(ctx, `${root.path}/${prefix}`)
  const text = rules.get(prefix + rulesName)
  return text === undefined ? undefined : parseIgnoreFile(text)
}

async function rulesByShell(
  { path }: SearchRoot,
  ctx: SearchContext,
  { files = [] }: FolderListing,
): Promise<Map<string, string>> {
  const texts = new Map<string, string>()
  const paths = files.filter((file) => file === rulesName || file.endsWith(`/${rulesName}`))
  const request = { folder: path, paths, maxBytes: mostRules, limitMs: findLimitMs }
  await textsByShell(request, ctx, (file, text) => void (text !== undefined && texts.set(file, text)))
  return texts
}

const mostRules = 1024 * 1024

async function readRules({ execution, handle }: SearchContext, folder: string): Promise<IgnoreFile | undefined> {
  try {
    return parseIgnoreFile(await execution.readFile(handle, `${folder.replace(/\/+$/, '')}/${rulesName}`))
  } catch {
    return undefined
  }
}

async function outerRules({ root, ctx }: ContextWalk): Promise<IgnoreChain> {
  let chain: IgnoreChain = []
  let folder = '/'
  for (const name of root.path.split('/').filter((part) => part !== '')) {
    chain = enterFolder(withRules(chain, await readRules(ctx, folder)), name)
    folder += `${name}/`
  }
  return chain
}

/** One request per folder. Links to folders look like files; reading one of them fails, and it is skipped. */
export function foldersByListing({ path }: SearchRoot, { execution, handle }: SearchContext): FolderListing {
  return {
    namesIn: (prefix) =>
      execution.listFiles(handle, prefix === '' ? path : `${path}/${prefix.slice(0, -1)}`).catch(() => []),
    isTooLarge: () => false,
  }
}

/** One request for all folders, if there is a shell with `find`. */
export async function foldersByFind(
  root: SearchRoot,
  ctx: SearchContext,
  maxBytes: number | undefined,
): Promise<FolderListing | undefined> {
  if (!ctx.execution.capabilities.shell) return undefined
  const files = await find(root, ctx, '')
  if (!files) return undefined
  const tooLarge = maxBytes === undefined ? undefined : await find(root, ctx, `-size +${maxBytes >> 10}k`)
  const large = new Set(tooLarge)
  const folders = treeOf(files)
  return {
    namesIn: async (prefix) => [...(folders.get(prefix) ?? [])],
    isTooLarge: (path) => large.has(path),
    files,
  }
}

/** Longer lists of paths are cut. */
const maxOutputLength = 16 * 1024 * 1024
const findLimitMs = 30_000

async function find(root: SearchRoot, ctx: SearchContext, test: string): Promise<string[] | undefined> {
  const { execution, handle, signal } = ctx
  let output = ''
  const { exitCode, stdout } = await execution.exec(handle, `find . -name .git -prune -o -type f ${test} -print0`, {
    cwd: root.path,
    signal,
    timeout: findLimitMs,
    onOutput(text, from) {
      if (from === 'stdout' && output.length < maxOutputLength) output += text
    },
  })
  signal.throwIfAborted()
  output += stdout // of contexts that do not stream output
  // It fails for unreadable folders, but lists the others.
  if (exitCode !== 0 && output === '') return undefined
  const paths = output.split('\0')
  paths.pop() // the empty or incomplete part after the last NUL
  return paths.map((path) => path.slice('./'.length))
}

function treeOf(files: readonly string[]): Map<string, Set<string>> {
  const folders = new Map<string, Set<string>>()
  const add = (prefix: string, name: string): boolean => {
    const names = folders.get(prefix)
    if (!names) folders.set(prefix, new Set([name]))
    else if (names.has(name)) return false
    else names.add(name)
    return true
  }
  for (const file of files) {
    let slash = file.lastIndexOf('/')
    add(file.slice(0, slash + 1), file.slice(slash + 1))
    // Adds each folder to its parent, up to one that is already known.
    while (slash > 0) {
      const outer = file.lastIndexOf('/', slash - 1)
      if (!add(file.slice(0, outer + 1), file.slice(outer + 1, slash + 1))) break
      slash = outer
    }
  }
  return folders
}

import { type Dirent, readdirSync, readFileSync, statSync } from 'node:fs'
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
import { createPager, type SearchGaps, type SearchQuery, type SearchResult, type SearchRoot } from './query.ts'

export interface TreeLimits {
  /** The maximum number of files. */
  readonly files: number
  /** The maximum size of a file. */
  readonly bytes: number
}

export const treeLimits: TreeLimits = { files: 1_000_000, bytes: 64 * 1024 * 1024 }

/** Gaps while they are counted. */
export type MutableGaps = { -readonly [Key in keyof SearchGaps]: SearchGaps[Key] }

export interface Tree {
  readonly query: SearchQuery
  readonly root: SearchRoot
  readonly limits: TreeLimits
  readonly gaps: MutableGaps
}

/** Lists files of this machine without ripgrep. Blocks, so it must run in its own thread. */
export function listTree(query: SearchQuery, root: SearchRoot, limits = treeLimits): SearchResult {
  const gaps: MutableGaps = {}
  const page = createPager(query)
  eachFile({ query, root, limits, gaps }, (path) => page.add({ path }))
  return page.result(gaps)
}

/** Calls `use` for each wanted file, within the limits. */
export function eachFile({ query, root, limits, gaps }: Tree, use: (path: string) => void): void {
  const until = performance.now() + query.limitMs
  const { acceptsFile, entersFolder } = pathFilter(query.filter)
  const hasType = typeFilter(query.type)
  let files = 0
  walk({
    root: root.path,
    depth: query.filter.depth,
    entersFolder,
    onUnreadable: () => countUnreadable(gaps),
    onFile(path, name) {
      if (++files > limits.files) gaps.stopped = 'files'
      else if (performance.now() > until) gaps.stopped = 'time'
      if (gaps.stopped) return false
      if (hasType(name) && acceptsFile(path)) use(path)
      return true
    },
  })
}

export function countUnreadable(gaps: MutableGaps): void {
  gaps.unreadable = (gaps.unreadable ?? 0) + 1
}

export interface WalkOptions {
  /** Absolute, links resolved. */
  readonly root: string
  /** The maximum depth of files; 1 is the root itself. */
  readonly depth: number | undefined
  entersFolder(path: string): boolean
  /** Called with each file in order, by its path relative to the root. `false` ends the walk. */
  onFile(path: string, name: string): boolean
  onUnreadable(): void
}

/** Walks a folder like ripgrep: respects `.gitignore`, skips `.git` and links. */
export function walk(options: WalkOptions): void {
  visit(options, '', outerRules(options.root), 1)
}

/** Returns `false` to end the walk. */
function visit(options: WalkOptions, prefix: string, outer: IgnoreChain, level: number): boolean {
  const { root, depth, entersFolder, onFile } = options
  const entries = entriesIn(options, prefix)
  const hasRules = entries.some(({ name }) => name === rulesName)
  const chain = hasRules ? withRules(outer, readRules(join(root, prefix))) : outer
  for (const entry of entries) {
    const { name } = entry
    const isFolder = entry.isDirectory()
    if (name === '.git' || !(isFolder || entry.isFile()) || isIgnored(chain, name, isFolder)) continue
    const path = prefix + name
    if (!isFolder) {
      if (!onFile(path, name)) return false
      continue
    }
    if ((depth !== undefined && level >= depth) || !entersFolder(path)) continue
    if (!visit(options, `${path}/`, enterFolder(chain, name), level + 1)) return false
  }
  return true
}

function entriesIn({ root, onUnreadable }: WalkOptions, prefix: string): Dirent[] {
  try {
    return readdirSync(join(root, prefix), { withFileTypes: true }).sort((a, b) => comparePaths(a.name, b.name))
  } catch {
    onUnreadable()
    return []
  }
}

const rulesName = '.gitignore'

function readRules(folder: string): IgnoreFile | undefined {
  const path = join(folder, rulesName)
  try {
    // Opening a pipe would block until a process writes to it.
    return statSync(path).isFile() ? parseIgnoreFile(readFileSync(path, 'utf8')) : undefined
  } catch {
    return undefined
  }
}

/** The rules of all parent folders apply too. */
function outerRules(root: string): IgnoreChain {
  let chain: IgnoreChain = []
  let folder = '/'
  for (const name of root.split('/').filter((part) => part !== '')) {
    chain = enterFolder(withRules(chain, readRules(folder)), name)
    folder = join(folder, name)
  }
  return chain
}

const join = (folder: string, name: string): string => (folder.endsWith('/') ? folder + name : `${folder}/${name}`)

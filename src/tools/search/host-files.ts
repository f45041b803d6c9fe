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
  /** Files looked at. */
  readonly files: number
  /** Of one file. */
  readonly bytes: number
}

export const treeLimits: TreeLimits = { files: 1_000_000, bytes: 64 * 1024 * 1024 }

/** What is not searched, while it is being counted. */
export type MutableGaps = { -readonly [Key in keyof SearchGaps]: SearchGaps[Key] }

export interface Tree {
  readonly query: SearchQuery
  readonly root: SearchRoot
  readonly limits: TreeLimits
  readonly gaps: MutableGaps
}

/** Lists files of this machine without ripgrep. Everything in it waits: it belongs into a thread of its own. */
export function listTree(query: SearchQuery, place: SearchRoot, limits = treeLimits): SearchResult {
  const gaps: MutableGaps = {}
  const page = createPager(query)
  eachFile({ query, root: place, limits, gaps }, (path) => page.add({ path }))
  return page.result(gaps)
}

/** Goes through the files that are meant, as long as the limits allow. */
export function eachFile({ query, root: place, limits, gaps }: Tree, use: (path: string) => void): void {
  const until = performance.now() + query.limitMs
  const { acceptsFile, entersFolder } = pathFilter(query.filter)
  const hasType = typeFilter(query.type)
  let files = 0
  walk({
    root: place.path,
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
  /** How many folders deep files may lie; 1 is the root itself. */
  readonly depth: number | undefined
  entersFolder(path: string): boolean
  /** Gets each file in order, by its path below the root. `false` ends the walk. */
  onFile(path: string, name: string): boolean
  onUnreadable(): void
}

/** Walks through a folder as ripgrep does: by `.gitignore`, never into `.git`, never along a link. */
export function walk(options: WalkOptions): void {
  visit(options, '', outerRules(options.root), 1)
}

/** `false` when the walk is over. */
function visit(options: WalkOptions, way: string, outer: IgnoreChain, level: number): boolean {
  const { root, depth, entersFolder, onFile } = options
  const entries = entriesIn(options, way)
  const hasRules = entries.some(({ name }) => name === rulesName)
  const chain = hasRules ? withRules(outer, readRules(join(root, way))) : outer
  for (const entry of entries) {
    const { name } = entry
    const isFolder = entry.isDirectory()
    if (name === '.git' || !(isFolder || entry.isFile()) || isIgnored(chain, name, isFolder)) continue
    const path = way + name
    if (!isFolder) {
      if (!onFile(path, name)) return false
      continue
    }
    if ((depth !== undefined && level >= depth) || !entersFolder(path)) continue
    if (!visit(options, `${path}/`, enterFolder(chain, name), level + 1)) return false
  }
  return true
}

function entriesIn({ root, onUnreadable }: WalkOptions, way: string): Dirent[] {
  try {
    return readdirSync(join(root, way), { withFileTypes: true }).sort((a, b) => comparePaths(a.name, b.name))
  } catch {
    onUnreadable()
    return []
  }
}

const rulesName = '.gitignore'

function readRules(folder: string): IgnoreFile | undefined {
  const path = join(folder, rulesName)
  try {
    // To open a pipe would wait for somebody to write into it.
    return statSync(path).isFile() ? parseIgnoreFile(readFileSync(path, 'utf8')) : undefined
  } catch {
    return undefined
  }
}

/** The rules of all folders around the root hold inside of it too. */
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

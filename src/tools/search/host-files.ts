import { closeSync, type Dirent, readFileSync } from 'node:fs'
import { typeFilter } from './file-types.ts'
import { type HeldFolder, holdFolder, openRealFile } from './held-folders.ts'
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

/** Calls `use` for each wanted file with the folder that holds it, within the limits. */
export function eachFile(
  { query, root, limits, gaps }: Tree,
  use: (path: string, name: string, folder: HeldFolder) => void,
): void {
  const until = performance.now() + query.limitMs
  const { acceptsFile, entersFolder } = pathFilter(query.filter)
  const hasType = typeFilter(query.type)
  let files = 0
  walk({
    root: root.path,
    depth: query.filter.depth,
    entersFolder,
    onUnreadable: () => countUnreadable(gaps),
    onFile(path, name, folder) {
      if (++files > limits.files) gaps.stopped = 'files'
      else if (performance.now() > until) gaps.stopped = 'time'
      if (gaps.stopped) return false
      if (hasType(name) && acceptsFile(path)) use(path, name, folder)
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
  onFile(path: string, name: string, folder: HeldFolder): boolean
  onUnreadable(): void
}

/** Walks a folder like ripgrep: respects `.gitignore`, skips `.git` and links, also links that are made meanwhile. */
export function walk(options: WalkOptions): void {
  const { root, onUnreadable } = options
  within(
    () => holdFolder(root),
    (folder) => visit(options, folder, { prefix: '', outer: outerRules(root), level: 1 }),
    onUnreadable,
  )
}

/** `false` if `use` said so. */
function within(open: () => HeldFolder, use: (folder: HeldFolder) => boolean, onUnreadable: () => void): boolean {
  let folder: HeldFolder
  try {
    folder = open()
  } catch {
    onUnreadable()
    return true
  }
  try {
    return use(folder)
  } finally {
    folder.close()
  }
}

interface Place {
  /** The path from the root: empty, or ending with a slash. */
  readonly prefix: string
  readonly outer: IgnoreChain
  readonly level: number
}

/** Returns `false` to end the walk. */
function visit(options: WalkOptions, folder: HeldFolder, { prefix, outer, level }: Place): boolean {
  const { depth, entersFolder, onFile, onUnreadable } = options
  const entries = entriesIn(folder, onUnreadable)
  const hasRules = entries.some(({ name }) => name === rulesName)
  const chain = hasRules
    ? withRules(
        outer,
        readRules(() => folder.file(rulesName)),
      )
    : outer
  for (const entry of entries) {
    const { name } = entry
    const isFolder = entry.isDirectory()
    if (name === '.git' || !(isFolder || entry.isFile()) || isIgnored(chain, name, isFolder)) continue
    const path = prefix + name
    if (!isFolder) {
      if (!onFile(path, name, folder)) return false
      continue
    }
    if ((depth !== undefined && level >= depth) || !entersFolder(path)) continue
    const place = { prefix: `${path}/`, outer: enterFolder(chain, name), level: level + 1 }
    const goesOn = within(
      () => folder.folder(name),
      (inner) => visit(options, inner, place),
      onUnreadable,
    )
    if (!goesOn) return false
  }
  return true
}

function entriesIn(folder: HeldFolder, onUnreadable: () => void): Dirent[] {
  try {
    return folder.entries().sort((a, b) => comparePaths(a.name, b.name))
  } catch {
    onUnreadable()
    return []
  }
}

const rulesName = '.gitignore'

function readRules(open: () => number): IgnoreFile | undefined {
  let file: number | undefined
  try {
    file = open()
    return parseIgnoreFile(readFileSync(file, 'utf8'))
  } catch {
    return undefined
  } finally {
    if (file !== undefined) closeSync(file)
  }
}

/** The rules of all parent folders apply too. */
function outerRules(root: string): IgnoreChain {
  let chain: IgnoreChain = []
  let folder = '/'
  for (const name of root.split('/').filter((part) => part !== '')) {
    const rules = join(folder, rulesName)
    chain = enterFolder(
      withRules(
        chain,
        readRules(() => openRealFile(rules)),
      ),
      name,
    )
    folder = join(folder, name)
  }
  return chain
}

const join = (folder: string, name: string): string => (folder.endsWith('/') ? folder + name : `${folder}/${name}`)

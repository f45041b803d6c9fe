import { type Dirent, readdirSync, readFileSync, statSync } from 'node:fs'
import {
  enterFolder,
  type IgnoreChain,
  type IgnoreFile,
  isIgnored,
  parseIgnoreFile,
  withRules,
} from './ignore-rules.ts'
import { comparePaths } from './order.ts'

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

import { constants } from 'node:fs'
import { lstat, open, opendir, realpath } from 'node:fs/promises'
import { dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import { digestOf } from './digest.ts'
import { fullyVisible } from './visible-text.ts'

/** The files that a runnable item consists of. */
export interface SourceFiles {
  /** Covers the names and bytes of all files. */
  readonly digest: string
  /** Digests by real path. */
  readonly files: ReadonlyMap<string, string>
}

/** A problem with files that a person must fix before they can be used. */
export class SourceProblem extends Error {}

/** How much may still be read. */
export interface ReadingBudget {
  files: number
  bytes: number
  /** The initial limit, for messages. */
  readonly limit: string
}

/** The default is enough for any ordinary project, and limits the work on a hostile one. */
export function readingBudget({ files = 5000, mebibytes = 64 } = {}): ReadingBudget {
  return { files, bytes: mebibytes * 1024 * 1024, limit: `${files} files and folders or ${mebibytes} MiB` }
}

/**
 * Hashes a file, or all files of a folder, and the neighbours that modules among them import. Nothing is run. Links are
 * followed to files inside `root` only; `path` itself may also be a link to a folder there.
 */
export async function sourceFiles(root: string, path: string, budget: ReadingBudget): Promise<SourceFiles> {
  const files = new Map<string, string>()
  const links = new Map<string, string>()
  const waiting = [await realInside(root, path)]
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (files.has(next)) continue
    const info = await lstat(next)
    if (info.isDirectory()) {
      spend(budget, 0)
      for await (const { name } of await opendir(next)) {
        if (waiting.length > budget.files) throw tooMuch(budget)
        const path = join(next, name)
        const real = await realEntry(root, path)
        if (real !== path) links.set(path, real)
        waiting.push(real)
      }
      continue
    }
    const { text, digest } = await readInside(root, next, budget)
    files.set(next, digest)
    if (!isModule(next)) continue
    for (const name of relativeImports(text)) waiting.push(...(await importedFiles(root, resolve(dirname(next), name))))
  }
  return { digest: digestOfAll(root, files, links), files }
}

/** Reads a regular file inside a folder from one open handle. */
export async function readInside(
  root: string,
  path: string,
  budget: ReadingBudget,
): Promise<{ readonly text: string; readonly digest: string }> {
  const real = await realInside(root, path)
  const file = await open(real, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
  try {
    const info = await file.stat()
    if (!info.isFile()) throw new SourceProblem(`${nameOf(root, path)} is not a regular file`)
    spend(budget, info.size)
    const bytes = await file.readFile()
    return { text: bytes.toString('utf8'), digest: digestOf(bytes) }
  } finally {
    await file.close()
  }
}

/** Whether `path` is `folder` or inside it, by names alone: both must be real paths. */
export function isWithin(folder: string, path: string): boolean {
  const inside = relative(folder, path)
  return inside === '' || (inside !== '..' && !inside.startsWith(`..${sep}`) && !isAbsolute(inside))
}

// Opening a pipe must not wait for a writer.
const { O_RDONLY, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = constants

function spend(budget: ReadingBudget, bytes: number): void {
  budget.files -= 1
  budget.bytes -= bytes
  if (budget.files < 0 || budget.bytes < 0) throw tooMuch(budget)
}

function tooMuch({ limit }: ReadingBudget): SourceProblem {
  return new SourceProblem(`with it there are more than ${limit}, which is as much as is looked at`)
}

/** The real path, which must be inside the folder. */
async function realInside(root: string, path: string): Promise<string> {
  const real = await realpath(path)
  if (isWithin(root, real)) return real
  throw new SourceProblem(`${nameOf(root, path)} leads out of ${fullyVisible(root)}, to ${fullyVisible(real)}`)
}

/** Below the item, links to folders are not followed, because they could form a cycle. */
async function realEntry(root: string, path: string): Promise<string> {
  const info = await lstat(path)
  if (info.isFile() || info.isDirectory()) return path
  if (!info.isSymbolicLink()) throw new SourceProblem(`${nameOf(root, path)} is not a regular file`)
  const real = await realInside(root, path)
  if ((await lstat(real)).isDirectory()) throw new SourceProblem(`${nameOf(root, path)} is a link to a folder`)
  return real
}

function isModule(path: string): boolean {
  return /\.[cm]?[jt]sx?$/i.test(path)
}

/**
 * The relative paths that a module imports, requires or makes a URL of. Words in comments count too; a path that is
 * spelled otherwise, or put together while the module runs, cannot be seen.
 */
function relativeImports(source: string): readonly string[] {
  return [...source.matchAll(importPattern)].map(([, , path = '']) => path)
}

// Linear on every input: no two parts can share characters.
const importPattern = /\b(?:from|import|require|resolve|URL)\s*(?:\(\s*)?(['"`])(\.{1,2}\/[^'"`\n?#]+)/g

/** What a path without an ending may mean. */
const importEndings: readonly string[] = ['', '.js', '.ts', '.mjs', '.cjs', '.json', '/index.js', '/index.ts']

/** All files that an import path may mean, which depends on the importer. */
async function importedFiles(root: string, path: string): Promise<readonly string[]> {
  if (!isWithin(root, path))
    throw new SourceProblem(`it imports ${fullyVisible(path)}, which lies outside ${fullyVisible(root)}`)
  const found: string[] = []
  for (const ending of importEndings) {
    const real = await realInside(root, path + ending).catch((error) => {
      if (error instanceof SourceProblem) throw error
    })
    if (real !== undefined && (await lstat(real)).isFile()) found.push(real)
  }
  return found
}

/** Includes the targets of links, because a link could be changed to another file of the same item. */
function digestOfAll(root: string, files: ReadonlyMap<string, string>, links: ReadonlyMap<string, string>): string {
  const lines = [...files].map(([path, digest]) => `${digest} ${nameIn(root, path)}`)
  for (const [path, real] of links) lines.push(JSON.stringify([nameIn(root, path), nameIn(root, real)]))
  return digestOf(JSON.stringify(lines.sort()))
}

/** The path of a file in the folder, the same on every system. */
function nameIn(root: string, path: string): string {
  return relative(root, path).split(sep).join('/')
}

function nameOf(root: string, path: string): string {
  return fullyVisible(nameIn(root, path))
}

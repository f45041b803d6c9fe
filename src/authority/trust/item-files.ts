import { constants } from 'node:fs'
import { lstat, open, opendir, realpath } from 'node:fs/promises'
import { dirname, join, relative, resolve, sep } from 'node:path'
import { digestOf } from '../../platform/digest.ts'
import { codeOf } from '../../platform/files.ts'
import { fullyVisible } from '../../platform/visible-text.ts'
import { isWithin } from './place.ts'
import { importEndings, isModule, relativeImports } from './relative-imports.ts'

/** What an item is made of. */
export interface ItemFiles {
  /** Over the names and the bytes of all files. */
  readonly digest: string
  /** Digests by real path. */
  readonly files: ReadonlyMap<string, string>
  /** Why it cannot be trusted as it is. */
  readonly problem?: string
}

/** What may still be read, of a project or of one file. */
export interface ReadingBudget {
  files: number
  bytes: number
  /** What there was at first, for messages. */
  readonly limit: string
}

/** By default enough for every honest project, and not enough to keep us busy. */
export function readingBudget({ files = 5000, mebibytes = 64 } = {}): ReadingBudget {
  return { files, bytes: mebibytes * 1024 * 1024, limit: `${files} files and folders or ${mebibytes} MiB` }
}

/**
 * Hashes a file, or all files of a folder, and the neighbours that modules among them import. Nothing is run. Links are
 * followed to files inside the project only; the item itself may also be a link to a folder there.
 */
export async function itemFiles(root: string, path: string, budget: ReadingBudget): Promise<ItemFiles> {
  const files = new Map<string, string>()
  const links = new Map<string, string>()
  try {
    const top = await realInside(root, path)
    const waiting = [top]
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
      const bytes = await readInside(root, next, budget)
      files.set(next, digestOf(bytes))
      if (!isModule(next)) continue
      for (const name of relativeImports(bytes.toString('utf8'))) {
        waiting.push(...(await importedFiles(root, resolve(dirname(next), name))))
      }
    }
    return { digest: digestOfAll(root, files, links), files }
  } catch (error) {
    if (!(error instanceof ItemProblem) && codeOf(error) === undefined) throw error
    const problem = error instanceof ItemProblem ? error.message : `it cannot be read (${codeOf(error)})`
    return { digest: '', files: new Map(), problem }
  }
}

/** The bytes of a regular file inside the project, as it is held open. */
export async function readInside(root: string, path: string, budget: ReadingBudget): Promise<Buffer> {
  const real = await realInside(root, path)
  const file = await open(real, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
  try {
    const info = await file.stat()
    if (!info.isFile()) throw new ItemProblem(`${nameOf(root, path)} is not a regular file`)
    spend(budget, info.size)
    return await file.readFile()
  } finally {
    await file.close()
  }
}

/** Something about an item that a person has to change before it can be trusted. */
export class ItemProblem extends Error {}

const { O_RDONLY, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = constants

function spend(budget: ReadingBudget, bytes: number): void {
  budget.files -= 1
  budget.bytes -= bytes
  if (budget.files < 0 || budget.bytes < 0) throw tooMuch(budget)
}

function tooMuch({ limit }: ReadingBudget): ItemProblem {
  return new ItemProblem(`with it there are more than ${limit}, which is as much as is looked at`)
}

/** Where a path really leads, which has to be inside the project. */
async function realInside(root: string, path: string): Promise<string> {
  const real = await realpath(path)
  if (isWithin(root, real)) return real
  throw new ItemProblem(`${nameOf(root, path)} leads out of the project, to ${fullyVisible(real)}`)
}

/** A link to a folder is not followed below the item: it could lead in circles. */
async function realEntry(root: string, path: string): Promise<string> {
  const info = await lstat(path)
  if (info.isFile() || info.isDirectory()) return path
  if (!info.isSymbolicLink()) throw new ItemProblem(`${nameOf(root, path)} is not a regular file`)
  const real = await realInside(root, path)
  if ((await lstat(real)).isDirectory()) throw new ItemProblem(`${nameOf(root, path)} is a link to a folder`)
  return real
}

/** All that a path may mean: which of them is taken depends on who imports. */
async function importedFiles(root: string, path: string): Promise<readonly string[]> {
  if (!isWithin(root, path)) throw new ItemProblem(`it imports ${fullyVisible(path)}, which lies outside the project`)
  const found: string[] = []
  for (const ending of importEndings) {
    const real = await realInside(root, path + ending).catch((error) => {
      if (error instanceof ItemProblem) throw error
    })
    if (real !== undefined && (await lstat(real)).isFile()) found.push(real)
  }
  return found
}

/** Where a link leads counts too: it could be turned to another file of the same item. */
function digestOfAll(root: string, files: ReadonlyMap<string, string>, links: ReadonlyMap<string, string>): string {
  const lines = [...files].map(([path, digest]) => `${digest} ${nameIn(root, path)}`)
  for (const [path, real] of links) lines.push(JSON.stringify([nameIn(root, path), nameIn(root, real)]))
  return digestOf(JSON.stringify(lines.sort()))
}

/** The path of a file in the project, the same on every system. */
function nameIn(root: string, path: string): string {
  return relative(root, path).split(sep).join('/')
}

function nameOf(root: string, path: string): string {
  return fullyVisible(nameIn(root, path))
}

import { constants } from 'node:fs'
import { open, readdir, realpath, stat } from 'node:fs/promises'
import { dirname, join, relative, resolve, sep } from 'node:path'
import { digestOf } from '../platform/digest.ts'
import { codeOf } from '../platform/files.ts'

/** What a tool is made of. */
export interface SourceFiles {
  /** Over the names and the bytes of all its files. */
  readonly digest: string
  /** The digest of each file, by its real path. */
  readonly files: ReadonlyMap<string, string>
  /** The folder that none of them may lie outside of. */
  readonly root: string
}

const mostBytes = 1024 * 1024
const mostFiles = 1000

/** A module and the neighbours it imports, directly or not. What it puts together at run time cannot be seen. */
export async function filesOfModule(path: string, root: string): Promise<SourceFiles> {
  const files = new Map<string, string>()
  const waiting = [path]
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (files.has(next)) continue
    const bytes = await readSource(next, root)
    add(files, next, bytes)
    for (const specifier of relativeImports(bytes.toString('utf8')))
      waiting.push(...(await imported(resolve(dirname(next), specifier), root)))
  }
  return digested(files, root)
}

/** Everything in a folder. */
export async function filesOfFolder(root: string): Promise<SourceFiles> {
  const files = new Map<string, string>()
  const waiting = [root]
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    for (const entry of await readdir(next, { withFileTypes: true })) {
      const path = join(next, entry.name)
      // Where a link inside the folder leads is looked at anyway.
      if (entry.isSymbolicLink()) add(files, path, await realInside(path, root))
      else if (entry.isDirectory()) waiting.push(path)
      else add(files, path, await readSource(path, root))
    }
  }
  return digested(files, root)
}

/** The bytes of a regular file in a folder. What is judged is the file that is held open. */
export async function readSource(path: string, root: string): Promise<Buffer> {
  const file = await open(await realInside(path, root), O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
  try {
    const info = await file.stat()
    if (!info.isFile()) throw new Error(`${path} is not a regular file`)
    if (info.size > mostBytes) throw new Error(`${path} has ${info.size} bytes; a tool's file may have ${mostBytes}`)
    return await file.readFile()
  } finally {
    await file.close()
  }
}

// Opening a pipe that nobody writes to must not wait for somebody who does.
const { O_RDONLY, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = constants

async function realInside(path: string, root: string): Promise<string> {
  const real = await realpath(path)
  if (!isWithin(root, real)) throw new Error(`${path} leads out of ${root}, to ${real}; copy it there instead`)
  return real
}

/** Whether a path lies in a folder, by name. */
export const isWithin = (folder: string, path: string): boolean => path === folder || path.startsWith(folder + sep)

// Linear on every input: no two parts can share characters.
const importPattern = /\b(?:from|import|require)\s*(?:\(\s*)?(['"`])(\.{1,2}\/[^'"`\n?#]+)/g

const relativeImports = (source: string): string[] => [...source.matchAll(importPattern)].map(([, , path = '']) => path)

/** The file an import means. One that is not there is left to fail by itself, or was only a word in a comment. */
async function imported(path: string, root: string): Promise<string[]> {
  for (const ending of ['', '.js', '.cjs', '.json', '/index.js']) {
    try {
      const real = await realInside(path + ending, root)
      if (!(await stat(real)).isDirectory()) return [real]
    } catch (error) {
      if (!['ENOENT', 'ENOTDIR'].includes(codeOf(error) ?? '')) throw error
    }
  }
  return []
}

function add(files: Map<string, string>, path: string, content: Uint8Array | string): void {
  if (files.size >= mostFiles) throw new Error(`it has more than ${mostFiles} files; bundle it into fewer`)
  files.set(path, digestOf(content))
}

function digested(files: ReadonlyMap<string, string>, root: string): SourceFiles {
  const lines = [...files].map(([path, digest]) => `${relative(root, path).split(sep).join('/')} ${digest}`)
  return { digest: digestOf(JSON.stringify(lines.sort())), files, root }
}

import { close, constants, fstat, open, read } from 'node:fs'
import { type FileHandle, lstat, opendir, open as openHandle, readlink, realpath } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { CodedError, codeOf } from '../core/errors.ts'
import { compareTexts } from '../core/text.ts'
import { isWithin } from '../platform/source-files.ts'
import { fullyVisible, withoutHidden } from '../platform/visible-text.ts'
import { mostFrontMatter, splitFrontMatter } from './front-matter.ts'
import type { Skill } from './skill.ts'

const mostBytes = 1024 * 1024

/** The beginning of a SKILL.md, including its front matter unless that is too long. Links are not followed. */
export async function readHead(path: string): Promise<string> {
  return withFile(path, async (file, size) => {
    const first = await readUpTo(file, Math.min(size, 4096))
    if (first.length === size || /\n---[ \t]*\r?\n/.test(first.toString('latin1'))) return decode(first)
    // A character has at most four bytes.
    return decode(await readUpTo(file, Math.min(size, 4 * mostFrontMatter + 64)))
  })
}

/** All of a SKILL.md. Links are not followed. */
export async function readWhole(path: string): Promise<string> {
  return withFile(path, async (file, size) => decode(await readUpTo(file, size)))
}

// Descriptors instead of FileHandle, which takes three times as long for many small files.
const [openFile, statFile, readFrom, closeFile] = [promisify(open), promisify(fstat), promisify(read), promisify(close)]

async function withFile(path: string, use: (file: number, size: number) => Promise<string>): Promise<string> {
  const { O_RDONLY, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = constants
  const file = await openFile(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK).catch((cause) => {
    throw refusal(path, `it cannot be opened (${codeOf(cause) ?? 'unknown'})`, cause)
  })
  try {
    const info = await statFile(file)
    if (!info.isFile()) throw refusal(path, 'it is not a regular file')
    if (info.size > mostBytes) throw refusal(path, `it has ${info.size} bytes, where ${mostBytes} is the limit`)
    return await use(file, info.size)
  } finally {
    await closeFile(file)
  }
}

/** A file can become shorter while it is read. */
async function readUpTo(file: number, size: number): Promise<Buffer> {
  const buffer = Buffer.alloc(size)
  let length = 0
  for (let count = 1; count > 0 && length < size; length += count)
    count = (await readFrom(file, buffer, length, size - length, length)).bytesRead
  return buffer.subarray(0, length)
}

/** Only text after the front matter can be cut inside a character. */
function decode(bytes: Buffer): string {
  return bytes.toString('utf8')
}

function refusal(path: string, why: string, cause?: unknown): CodedError {
  return new CodedError('Validation/SkillUnreadable', `${fullyVisible(path)} cannot be read as a skill: ${why}`, {
    cause,
  })
}

/** The current instructions of a skill, without front matter. */
export async function readInstructions({ name, path, instructions }: Skill): Promise<string> {
  if (instructions !== undefined) return withoutHidden(instructions).text.trim()
  if (path === undefined)
    throw new CodedError(
      'Validation/SkillUnreadable',
      `The skill ${name} has neither a file nor instructions; give it one`,
    )
  const parts = splitFrontMatter(await readWhole(path))
  if ('failure' in parts)
    throw new CodedError('Validation/SkillUnreadable', `The skill ${name} changed since it was found: ${parts.failure}`)
  return withoutHidden(parts.body).text
}

const mostResources = 200

/**
 * The files of a skill, as paths in its folder with `/`. Reads names only. Leaves out SKILL.md, dot files, links, and
 * names with invisible characters. At most 200.
 */
export async function listResources(folder: string): Promise<readonly string[]> {
  const found: string[] = []
  let seen = 0
  const listFolder = async (inside: string, depth: number): Promise<void> => {
    const entries = await opendir(join(folder, inside)).catch(() => undefined)
    if (!entries) return
    const names: { name: string; isFolder: boolean }[] = []
    for await (const entry of entries) {
      if (++seen > mostEntries) break
      const isFolder = entry.isDirectory()
      if (!isFolder && !entry.isFile()) continue
      if (!entry.name.startsWith('.') && fullyVisible(entry.name) === entry.name)
        names.push({ name: entry.name, isFolder })
    }
    for (const { name, isFolder } of names.sort((a, b) => compareTexts(a.name, b.name))) {
      const path = inside === '' ? name : `${inside}/${name}`
      if (found.length === mostResources) return
      if (isFolder && depth < mostDepth && name !== 'node_modules') await listFolder(path, depth + 1)
      else if (!isFolder && !/^skill\.md$/i.test(path)) found.push(path)
    }
  }
  await listFolder('', 0)
  return found.sort(compareTexts)
}

const mostEntries = 5000
const mostDepth = 6

/** Why a path cannot be a file of a skill, by its text alone; undefined if it may be one. */
export function pathProblem(path: string): string | undefined {
  const shown = `"${fullyVisible(path.slice(0, 200))}"`
  if (path.trim() === '') return 'the path is empty; name a file of the skill'
  if (path.length > 1024 || path.includes('\0')) return `${shown} is no path of a file`
  const isInside = !/^(?:[/\\~]|[A-Za-z]:)/.test(path) && !path.split(/[/\\]/).includes('..')
  return isInside
    ? undefined
    : `${shown} leads out of the skill's folder; give a path inside it, such as scripts/run.sh`
}

/** Opens a regular file of a skill and passes it to `use`. Links must lead to a file inside the folder. */
export async function withSkillFile<T>(
  { name, folder }: Skill,
  path: string,
  use: (file: FileHandle) => Promise<T>,
): Promise<T> {
  if (folder === undefined) throw new Error(`the skill "${name}" was written by the program and has no files`)
  const problem = pathProblem(path)
  if (problem !== undefined) throw new Error(problem)
  const shown = `"${fullyVisible(path)}"`
  const real = await realpath(join(folder, path)).catch(() => undefined)
  if (real === undefined)
    throw new Error(`the skill "${name}" has no file ${shown}; its files are listed by skills_use`)
  if (!isWithin(folder, real)) throw new Error(`${shown} leads out of the folder of the skill "${name}"`)
  const { O_RDONLY, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = constants
  const file = await openHandle(real, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
  try {
    const info = await file.stat()
    if (!info.isFile()) throw new Error(`${shown} is no regular file`)
    // A parent folder may have been replaced by a link meanwhile. Linux knows the path of an open file; on other systems a
    // folder that is swapped twice between these lines is not detected.
    const opened = await readlink(`/proc/self/fd/${file.fd}`).catch(() => real)
    if (opened !== real) throw new Error(`${shown} changed while it was being opened`)
    const now = (await realpath(real)) === real ? await lstat(real) : undefined
    if (now?.ino !== info.ino || now.dev !== info.dev) throw new Error(`${shown} changed while it was being opened`)
    return await use(file)
  } finally {
    await file.close()
  }
}

import { close, constants, fstat, open, read } from 'node:fs'
import { promisify } from 'node:util'
import { CodedError, codeOf } from '../core/errors.ts'
import { fullyVisible } from '../platform/visible-text.ts'
import { mostFrontMatter } from './front-matter.ts'

/** As large as a SKILL.md may be. */
export const mostBytes = 1024 * 1024

/** The beginning of a SKILL.md, with all of its front matter unless that is too long. Links are not followed. */
export async function readHead(path: string): Promise<string> {
  return withFile(path, async (file, size) => {
    const first = await readUpTo(file, Math.min(size, 4096))
    if (first.length === size || /\n---[ \t]*\r?\n/.test(first.toString('latin1'))) return decode(first)
    // Of a character there are at most four bytes.
    return decode(await readUpTo(file, Math.min(size, 4 * mostFrontMatter + 64)))
  })
}

/** All of a SKILL.md. Links are not followed. */
export async function readWhole(path: string): Promise<string> {
  return withFile(path, async (file, size) => decode(await readUpTo(file, size)))
}

// Descriptors in place of FileHandle, which takes three times as long for many small files.
const [openFile, statFile, readFrom, closeFile] = [promisify(open), promisify(fstat), promisify(read), promisify(close)]

async function withFile(path: string, look: (file: number, size: number) => Promise<string>): Promise<string> {
  const { O_RDONLY, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = constants
  const file = await openFile(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK).catch((cause) => {
    throw refusal(path, `it cannot be opened (${codeOf(cause) ?? 'unknown'})`, cause)
  })
  try {
    const info = await statFile(file)
    if (!info.isFile()) throw refusal(path, 'it is not a regular file')
    if (info.size > mostBytes) throw refusal(path, `it has ${info.size} bytes, where ${mostBytes} is the limit`)
    return await look(file, info.size)
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

/** A character that was cut in two can only stand behind the front matter. */
function decode(bytes: Buffer): string {
  return bytes.toString('utf8')
}

function refusal(path: string, why: string, cause?: unknown): CodedError {
  return new CodedError('Validation/SkillUnreadable', `${fullyVisible(path)} cannot be read as a skill: ${why}`, {
    cause,
  })
}

import { randomUUID } from 'node:crypto'
import { type FileHandle, link, open, readlink, unlink } from 'node:fs/promises'
import { hostname } from 'node:os'
import type { Clock } from '../core/clock.ts'
import { AgentError, codeOf, messageOf } from '../core/errors.ts'

/** A lock file as it was at one moment. */
export interface SeenLock {
  readonly text: string
  readonly mtimeMs: number
  /** Tells this file at this moment from every other. */
  readonly id: string
}

/** Who made a lock file. */
export interface LockMark {
  readonly pid: number
  readonly host: string
  readonly owner: string
  readonly since: string
}

/**
 * Makes the file, if there is none yet. The handle is for signs of life. The file appears with its mark in it: one that is still empty when
 * its maker is killed would tell nobody that its holder is dead.
 */
export async function createLockFile(path: string, text: string, clock: Clock): Promise<FileHandle | undefined> {
  if (await lookAtLock(path)) return undefined
  const draft = `${path}.${randomUUID()}`
  try {
    const file = await writeNew(draft, text, clock)
    try {
      await link(draft, path)
      return file
    } catch (error) {
      await file.close()
      if (!noLinks.has(codeOf(error) ?? '')) throw error
      return await writeNew(path, text, clock)
    } finally {
      await unlink(draft).catch(() => {})
    }
  } catch (cause) {
    if (codeOf(cause) === 'EEXIST') return undefined
    return failToLock(path, cause)
  }
}

/** What file systems without hard links say: there the file is empty for a moment. */
const noLinks = new Set(['EPERM', 'ENOTSUP', 'ENOSYS', 'EMLINK', 'EACCES'])

async function writeNew(path: string, text: string, clock: Clock): Promise<FileHandle> {
  const file = await open(path, 'wx', 0o600)
  try {
    await file.writeFile(text)
    await touch(file, clock)
    return file
  } catch (error) {
    await file.close()
    await unlink(path)
    throw error
  }
}

export function failToLock(path: string, cause: unknown): never {
  throw new AgentError(
    `Cannot create the lock file ${path}: ${messageOf(cause)}; check that the folder is writable and the disk has room`,
    { cause },
  )
}

/** A sign of life. It goes to the open file, so it never reaches the lock of somebody who took over. */
export function touch(file: FileHandle, clock: Clock): Promise<void> {
  const seconds = clock.now() / 1000
  return file.utimes(seconds, seconds)
}

export async function lookAtLock(path: string): Promise<SeenLock | undefined> {
  try {
    const file = await open(path, 'r')
    try {
      const { mtimeMs, ino } = await file.stat()
      const text = await file.readFile('utf8')
      return { text, mtimeMs, id: `${ino} ${mtimeMs} ${text}` }
    } finally {
      await file.close()
    }
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw error
  }
}

/** A mark of this process that no other lock has. */
export async function newMark(clock: Clock): Promise<string> {
  const mark: LockMark = {
    pid: process.pid,
    host: await thisHost(),
    owner: randomUUID(),
    since: new Date(clock.now()).toISOString(),
  }
  return JSON.stringify(mark)
}

/** Undefined while its holder is still writing it, and for what is no lock of ours. */
export function markOf({ text }: SeenLock): LockMark | undefined {
  try {
    const mark = JSON.parse(text) as LockMark | null
    return typeof mark?.pid === 'number' ? mark : undefined
  } catch {
    return undefined
  }
}

/** Whether the holder is known to be gone. Of another machine nothing is known. */
export async function isDead(seen: SeenLock): Promise<boolean> {
  const mark = markOf(seen)
  if (mark?.host !== (await thisHost())) return false
  try {
    process.kill(mark.pid, 0)
    return false
  } catch (error) {
    return codeOf(error) === 'ESRCH'
  }
}

/** Where a process id means something. Containers may share the name of the machine, but not its process ids. */
async function thisHost(): Promise<string> {
  const namespace = await readlink('/proc/self/ns/pid').catch(() => '')
  return `${hostname()} ${namespace}`.trim()
}

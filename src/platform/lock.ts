import { randomUUID } from 'node:crypto'
import { type FileHandle, link, mkdir, open, readlink, rm, unlink } from 'node:fs/promises'
import { hostname } from 'node:os'
import { dirname } from 'node:path'
import { type Clock, systemClock } from '../core/clock.ts'
import { AgentError, codeOf, messageOf } from '../core/errors.ts'
import { sleep } from '../core/waiting.ts'

export interface LockOptions {
  /** A lock whose holder did not update it for this long is taken over. */
  readonly staleMs?: number
  /** How long to wait for the lock before giving up. */
  readonly waitMs?: number
  readonly clock?: Clock
}

/** The lock was held by another process for longer than `waitMs`; a later attempt may succeed. */
export class LockTimeoutError extends AgentError {}

/** Runs `work` under the lock file at `path`: no other work, in this process or another, runs under it at the same time. */
export async function withLock<T>(path: string, work: () => Promise<T>, options: LockOptions = {}): Promise<T> {
  const { staleMs = 30_000, waitMs = 20_000, clock = systemClock } = options
  const settings = { staleMs, waitMs, clock }
  const held = await acquire(path, settings)
  const stop = keepAlive(held.file, heartbeatMs(staleMs), clock)
  try {
    return await work()
  } finally {
    stop()
    // If this fails the lock becomes stale and is taken over; the outcome of the work matters more.
    await release(path, held, settings).catch(() => {})
  }
}

type LockSettings = Required<LockOptions>

interface HeldLock {
  readonly file: FileHandle
  readonly mark: string
}

async function acquire(path: string, settings: LockSettings): Promise<HeldLock> {
  const { staleMs, waitMs, clock } = settings
  const mark = await newMark(clock)
  const deadline = clock.now() + waitMs
  // After the machine slept every lock looks old, so an old lock must also stay unchanged while it is watched.
  const watchMs = Math.min(2 * heartbeatMs(staleMs), waitMs / 2)
  let watched = { id: '', since: 0 }
  await mkdir(dirname(path), { recursive: true, mode: 0o700 }).catch((cause) => failToLock(path, cause))
  for (;;) {
    const file = await createLockFile(path, mark, clock)
    if (file) return { file, mark }
    const seen = await readLock(path)
    const now = clock.now()
    if (seen && seen.id !== watched.id) watched = { id: seen.id, since: now }
    const isStale = seen && ((await isDead(seen)) || (isOld(seen, settings) && now - watched.since >= watchMs))
    if (isStale && (await removeIf(path, ({ id }) => id === seen.id, settings))) continue
    if (now >= deadline) throw timeoutError(path, waitMs, seen)
    await sleep(5 + Math.random() * 20, { clock })
  }
}

function keepAlive(file: FileHandle, everyMs: number, clock: Clock): () => void {
  let cancelTimer = clock.timer(everyMs, beat)
  function beat(): void {
    touch(file, clock).catch(() => {})
    cancelTimer = clock.timer(everyMs, beat)
  }
  return () => cancelTimer()
}

function heartbeatMs(staleMs: number): number {
  return staleMs / 10
}

async function release(path: string, { file, mark }: HeldLock, settings: LockSettings): Promise<void> {
  await file.close()
  await removeIf(path, ({ text }) => text === mark, settings)
}

/**
 * Deletes the lock if it is still the given one. Reading and deleting are two steps, so every deletion happens under a guard
 * file: if two processes find the same lock stale, the slower one must not delete the new lock of the faster.
 */
async function removeIf(path: string, isGiven: (seen: SeenLock) => boolean, settings: LockSettings): Promise<boolean> {
  const guard = `${path}.guard`
  await enterGuard(guard, settings)
  try {
    const seen = await readLock(path)
    if (!seen || !isGiven(seen)) return false
    await rm(path, { force: true })
    return true
  } finally {
    await rm(guard, { force: true })
  }
}

/** A guard is held for a few system calls only. One that stays was left by a killed process, and is removed under a guard of its own. */
async function enterGuard(guard: string, settings: LockSettings): Promise<void> {
  const { staleMs, clock } = settings
  const mark = await newMark(clock)
  const deadline = clock.now() + 2 * staleMs
  for (;;) {
    const file = await createLockFile(guard, mark, clock)
    if (file) return file.close()
    const seen = await readLock(guard)
    if (seen && ((await isDead(seen)) || isOld(seen, settings)))
      await removeIf(guard, ({ id }) => id === seen.id, settings)
    else if (clock.now() >= deadline) throw timeoutError(guard, 2 * staleMs, seen)
    else await sleep(1 + Math.random() * 4, { clock })
  }
}

/** A time far in the future counts as old too: the clock was changed. */
function isOld({ mtimeMs }: SeenLock, { staleMs, clock }: LockSettings): boolean {
  return Math.abs(clock.now() - mtimeMs) > staleMs
}

function timeoutError(path: string, waitMs: number, seen: SeenLock | undefined): LockTimeoutError {
  const mark = seen && markOf(seen)
  const holder = mark ? `process ${mark.pid} on ${mark.host} since ${mark.since}` : 'another process'
  return new LockTimeoutError(
    `Could not get the lock ${path} within ${waitMs} ms: it is held by ${holder}; try again when that has finished, or delete the file if it hangs`,
  )
}

/** A lock file as it was read. */
export interface SeenLock {
  readonly text: string
  readonly mtimeMs: number
  /** Differs for every file and every update of it. */
  readonly id: string
}

/** The process that made a lock file. */
export interface LockMark {
  readonly pid: number
  readonly host: string
  readonly owner: string
  readonly since: string
}

/**
 * Creates the file if there is none; the handle is for heartbeats. The file appears together with its content: if its maker
 * were killed before writing, an empty file would not say that its holder is dead.
 */
export async function createLockFile(path: string, text: string, clock: Clock): Promise<FileHandle | undefined> {
  if (await readLock(path)) return undefined
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

/** The error codes of file systems without hard links; there the file is empty for a moment. */
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

/** A heartbeat. It goes to the open file, so it never updates the lock of a process that took over. */
export function touch(file: FileHandle, clock: Clock): Promise<void> {
  const seconds = clock.now() / 1000
  return file.utimes(seconds, seconds)
}

export async function readLock(path: string): Promise<SeenLock | undefined> {
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

/** A unique mark with the identity of this process. */
export async function newMark(clock: Clock): Promise<string> {
  const mark: LockMark = {
    pid: process.pid,
    host: await thisHost(),
    owner: randomUUID(),
    since: new Date(clock.now()).toISOString(),
  }
  return JSON.stringify(mark)
}

/** Undefined while the holder is still writing it, and for a file that is no lock. */
export function markOf({ text }: SeenLock): LockMark | undefined {
  try {
    const mark = JSON.parse(text) as LockMark | null
    return typeof mark?.pid === 'number' ? mark : undefined
  } catch {
    return undefined
  }
}

/** Whether the holder is known to be dead; false for a holder on another machine. */
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

/** Where a process id is valid. Containers may share the name of the machine, but not its process ids. */
async function thisHost(): Promise<string> {
  const namespace = await readlink('/proc/self/ns/pid').catch(() => '')
  return `${hostname()} ${namespace}`.trim()
}

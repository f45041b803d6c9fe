import { type FileHandle, mkdir, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { type Clock, systemClock } from '../core/clock.ts'
import { AgentError } from '../core/errors.ts'
import { createLockFile, failToLock, isDead, lookAtLock, markOf, newMark, type SeenLock, touch } from './lock-file.ts'

export interface LockOptions {
  /** A lock whose holder gave no sign of life for so long is taken over. */
  readonly staleMs?: number
  /** How long to wait for the lock before giving up. */
  readonly waitMs?: number
  readonly clock?: Clock
}

/** Somebody else held the lock for longer than we were willing to wait; trying again later may help. */
export class LockTimeoutError extends AgentError {}

/** Runs `work` while nobody else, in this process or another, runs work under the lock file at `path`. */
export async function withLock<T>(path: string, work: () => Promise<T>, options: LockOptions = {}): Promise<T> {
  const { staleMs = 30_000, waitMs = 20_000, clock = systemClock } = options
  const terms = { staleMs, waitMs, clock }
  const held = await acquire(path, terms)
  const stop = keepAlive(held.file, beatMs(staleMs), clock)
  try {
    return await work()
  } finally {
    stop()
    // What a failure here leaves behind is stale, and the next one takes it over; the outcome of the work counts more.
    await release(path, held, terms).catch(() => {})
  }
}

type Terms = Required<LockOptions>

interface Held {
  readonly file: FileHandle
  readonly mark: string
}

async function acquire(path: string, terms: Terms): Promise<Held> {
  const { staleMs, waitMs, clock } = terms
  const mark = await newMark(clock)
  const deadline = clock.now() + waitMs
  // After the machine slept, every lock looks old for a moment: an old one must also keep silent while we watch.
  const watchMs = Math.min(2 * beatMs(staleMs), waitMs / 2)
  let watched = { id: '', since: 0 }
  await mkdir(dirname(path), { recursive: true, mode: 0o700 }).catch((cause) => failToLock(path, cause))
  for (;;) {
    const file = await createLockFile(path, mark, clock)
    if (file) return { file, mark }
    const seen = await lookAtLock(path)
    const now = clock.now()
    if (seen && seen.id !== watched.id) watched = { id: seen.id, since: now }
    const isStale = seen && ((await isDead(seen)) || (isOld(seen, terms) && now - watched.since >= watchMs))
    if (isStale && (await removeIf(path, ({ id }) => id === seen.id, terms))) continue
    if (now >= deadline) throw timeoutError(path, waitMs, seen)
    await pause(5 + Math.random() * 20, clock)
  }
}

function keepAlive(file: FileHandle, everyMs: number, clock: Clock): () => void {
  let off = clock.timer(everyMs, beat)
  function beat(): void {
    touch(file, clock).catch(() => {})
    off = clock.timer(everyMs, beat)
  }
  return () => off()
}

function beatMs(staleMs: number): number {
  return staleMs / 10
}

async function release(path: string, { file, mark }: Held, terms: Terms): Promise<void> {
  await file.close()
  await removeIf(path, ({ text }) => text === mark, terms)
}

/**
 * Deletes the lock if it is the one that is meant. Looking and deleting are two steps, so every deletion happens under a guard: of two who
 * judged the same lock stale, the slower one must not delete the fresh lock of the faster.
 */
async function removeIf(path: string, isMeant: (seen: SeenLock) => boolean, terms: Terms): Promise<boolean> {
  const guard = `${path}.guard`
  await enterGuard(guard, terms)
  try {
    const seen = await lookAtLock(path)
    if (!seen || !isMeant(seen)) return false
    await rm(path, { force: true })
    return true
  } finally {
    await rm(guard, { force: true })
  }
}

/** A guard is held for a few system calls only. One that stays was left by a process that died in them: it is removed under a guard of its own. */
async function enterGuard(guard: string, terms: Terms): Promise<void> {
  const { staleMs, clock } = terms
  const mark = await newMark(clock)
  const deadline = clock.now() + 2 * staleMs
  for (;;) {
    const file = await createLockFile(guard, mark, clock)
    if (file) return file.close()
    const seen = await lookAtLock(guard)
    if (seen && ((await isDead(seen)) || isOld(seen, terms))) await removeIf(guard, ({ id }) => id === seen.id, terms)
    else if (clock.now() >= deadline) throw timeoutError(guard, 2 * staleMs, seen)
    else await pause(1 + Math.random() * 4, clock)
  }
}

/** Far in the future is as wrong as far in the past: somebody set the clock. */
function isOld({ mtimeMs }: SeenLock, { staleMs, clock }: Terms): boolean {
  return Math.abs(clock.now() - mtimeMs) > staleMs
}

function timeoutError(path: string, waitMs: number, seen: SeenLock | undefined): LockTimeoutError {
  const mark = seen && markOf(seen)
  const holder = mark ? `process ${mark.pid} on ${mark.host} since ${mark.since}` : 'somebody else'
  return new LockTimeoutError(
    `Could not get the lock ${path} within ${waitMs} ms: it is held by ${holder}; try again when that has finished, or delete the file if it hangs`,
  )
}

function pause(ms: number, clock: Clock): Promise<void> {
  return new Promise((resolve) => void clock.timer(ms, resolve))
}

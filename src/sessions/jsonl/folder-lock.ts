import { randomUUID } from 'node:crypto'
import * as fs from 'node:fs'
import { join } from 'node:path'
import { codeOf, StoreError } from '../../core/errors.ts'
import { sleep } from '../../core/waiting.ts'
import { type ProcessIdentity, processState, thisProcess } from '../../platform/process-identity.ts'
import { withWriteErrors } from './file-errors.ts'
import { makeFolder, namesIn, readText, unlessMissing } from './files.ts'

/**
 * Runs `work` under the lock of a folder, which excludes all other processes and other work in this process.
 *
 * The lock is the file with the highest number in `lock/`. It names its holder, and is empty once it is free. A process
 * that finds it free, or its holder dead, creates the next number, which only one process can. A slow process may recreate a
 * lower number that was already removed; it then sees the higher one and gives up. So the lock is never taken from a living
 * process, not even from a paused one (SIGSTOP): it must continue or end first. The lock is held for a few milliseconds.
 * Whether a holder in another container, or on a system without process start times, still lives cannot be known: its lock
 * expires after a minute, because otherwise a killed holder would block the session permanently.
 *
 * `platform/lock.ts` cannot be used here: it takes over a lock whose living holder gave no heartbeat for 30 seconds, which
 * would let a paused process write a session together with its successor, and its heartbeat needs an event loop that the
 * synchronous file work here blocks.
 */
export async function withFolderLock<T>(folder: string, work: () => T | Promise<T>, waitMs = 10_000): Promise<T> {
  const deadline = performance.now() + waitMs
  for (;;) {
    const held = tryToLock(join(folder, 'lock'))
    if (typeof held === 'number') {
      try {
        return await work()
      } finally {
        unlock(held)
      }
    }
    if (performance.now() >= deadline)
      throw new StoreError(
        'busy',
        `Process ${held?.pid ?? '(unknown)'} holds the lock of ${folder}, and did not release it for ${waitMs} ms; ` +
          'resume it if it was stopped, or end it, then try again',
      )
    await sleep(1 + Math.random() * 4)
  }
}

/** The descriptor of the lock file, or the process that holds the lock. Undefined if the lock is changing hands right now. */
function tryToLock(folder: string): number | ProcessIdentity | undefined {
  const highest = highestIn(folder)
  if (highest > 0) {
    const holder = holderOf(join(folder, String(highest)))
    if (holder !== 'free' && (!holder || isHolding(holder, join(folder, String(highest))))) return holder
  }
  return withWriteErrors(folder, () => {
    const mine = highest + 1
    const fd = create(folder, String(mine))
    if (fd === undefined) return undefined
    const names = namesIn(folder)
    if (Math.max(...numbersAmong(names)) === mine) {
      // Removes older locks, and files of processes that are creating one; these try again.
      for (const name of names) if (name !== String(mine)) fs.rmSync(join(folder, name), { force: true })
      return fd
    }
    fs.closeSync(fd)
    fs.rmSync(join(folder, String(mine)), { force: true })
    return undefined
  })
}

function isHolding(holder: ProcessIdentity, path: string): boolean {
  const state = processState(holder)
  if (state === 'dead') return false
  if (state === 'alive' && holder.started !== '') return true
  const createdAt = unlessMissing(() => fs.statSync(path).mtimeMs)
  return createdAt === undefined || Math.abs(Date.now() - createdAt) < maxUnknownHolderMs
}

/** A lock expires after this time if it cannot be known whether its holder lives. */
const maxUnknownHolderMs = 60_000

/** By descriptor, not by name: the folder may have been deleted and created again. */
function unlock(fd: number): void {
  try {
    fs.ftruncateSync(fd)
  } finally {
    fs.closeSync(fd)
  }
}

function create(folder: string, name: string): number | undefined {
  makeFolder(folder)
  const temporary = join(folder, `.${randomUUID()}`)
  const fd = fs.openSync(temporary, 'wx', 0o600)
  try {
    fs.writeSync(fd, JSON.stringify(thisProcess()))
    fs.linkSync(temporary, join(folder, name)) // the file appears with its text, and this fails if it exists
    return fd
  } catch (error) {
    fs.closeSync(fd)
    if (codeOf(error) === 'EEXIST' || codeOf(error) === 'ENOENT') return undefined
    throw error
  } finally {
    fs.rmSync(temporary, { force: true })
  }
}

/** Undefined if the lock is being replaced at this moment. */
function holderOf(path: string): ProcessIdentity | 'free' | undefined {
  const text = readText(path)
  if (text === '') return 'free'
  try {
    return text === undefined ? undefined : (JSON.parse(text) as ProcessIdentity)
  } catch {
    return 'free' // an incomplete text is left by a power failure, which no process survived
  }
}

const numbersAmong = (names: readonly string[]): number[] => names.map(Number).filter(Number.isSafeInteger)

const highestIn = (folder: string): number => Math.max(0, ...numbersAmong(namesIn(folder)))

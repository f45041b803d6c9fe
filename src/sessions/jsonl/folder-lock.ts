import { randomUUID } from 'node:crypto'
import * as fs from 'node:fs'
import { join } from 'node:path'
import { codeOf, StoreError } from '../../core/errors.ts'
import { type ProcessIdentity, processState, thisProcess } from '../../platform/process-identity.ts'
import { changing } from './file-faults.ts'
import { ifThere, makeFolder, namesIn, textOf } from './small-files.ts'

/**
 * Runs `work` while no other process, and nobody else in this one, works under the lock of that folder.
 *
 * The lock is the file with the highest number in `lock/`. It names its holder, and is empty once it is free. Whoever
 * finds it free, or its holder dead, makes the next number, which only one can; one that comes late and makes a number
 * that is over sees the higher one and steps back. So nothing is ever taken away from a process that lives, not even
 * from one that was stopped: it must go on or end before others get the lock. It is held for a few milliseconds. Only
 * of a process in another container, from before the machine got another name, or on a system that does not tell when
 * a process began, nobody can know whether it lives: its lock counts for a minute, as else one that was killed there
 * would keep the session closed for ever.
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
        `Process ${held?.pid ?? 'of somebody else'} holds the lock of ${folder} for more than ${waitMs} ms; ` +
          'let it go on if it was stopped, or end it, then try again',
      )
    await new Promise((resolve) => setTimeout(resolve, 1 + Math.random() * 4))
  }
}

/** The open file of the lock, or who has it. */
function tryToLock(folder: string): number | ProcessIdentity | undefined {
  const highest = highestIn(folder)
  if (highest > 0) {
    const holder = holderOf(join(folder, String(highest)))
    if (holder !== 'free' && (!holder || isHolding(holder, join(folder, String(highest))))) return holder
  }
  return changing(folder, () => {
    const mine = highest + 1
    const fd = create(folder, String(mine))
    if (fd === undefined) return undefined
    const names = namesIn(folder)
    if (Math.max(...numbersAmong(names)) === mine) {
      // Older locks, and what was about to become one. Whoever loses that tries again.
      for (const name of names) if (name !== String(mine)) fs.rmSync(join(folder, name), { force: true })
      return fd
    }
    fs.closeSync(fd)
    fs.rmSync(join(folder, String(mine)), { force: true })
    return undefined
  })
}

function isHolding(holder: ProcessIdentity, path: string): boolean {
  const fate = processState(holder)
  if (fate === 'dead') return false
  if (fate === 'alive' && holder.started !== '') return true
  const made = ifThere(() => fs.statSync(path).mtimeMs)
  return made === undefined || Math.abs(Date.now() - made) < longestUnknownMs
}

const longestUnknownMs = 60_000

/** By the open file, never by its name: the folder may have been deleted and made anew. */
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
    fs.linkSync(temporary, join(folder, name)) // appears with its text, and fails if there is one
    return fd
  } catch (error) {
    fs.closeSync(fd)
    if (codeOf(error) === 'EEXIST' || codeOf(error) === 'ENOENT') return undefined
    throw error
  } finally {
    fs.rmSync(temporary, { force: true })
  }
}

/** Undefined when it cannot be told, because it is just being replaced. */
function holderOf(path: string): ProcessIdentity | 'free' | undefined {
  const text = textOf(path)
  if (text === '') return 'free'
  try {
    return text === undefined ? undefined : (JSON.parse(text) as ProcessIdentity)
  } catch {
    return 'free' // half a text is left by a machine that lost its power: nobody of that time lives
  }
}

const numbersAmong = (names: readonly string[]): number[] => names.map(Number).filter(Number.isSafeInteger)

const highestIn = (folder: string): number => Math.max(0, ...numbersAmong(namesIn(folder)))

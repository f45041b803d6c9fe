import { existsSync, readdirSync, rmdirSync } from 'node:fs'
import { mkdir, readdir, rmdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { codeOf, messageOf } from '../../core/errors.ts'
import { isMarkOfDeadProcess, processMark } from '../../platform/process-identity.ts'
import { onProcessExit } from '../../platform/process-keeper.ts'

/**
 * To mount something over a name, the name has to be there. So where nothing may come into being an empty folder stands as
 * long as commands run, and a little longer, because the next one often follows soon. Git takes no notice of it. Inside it,
 * a folder for each process that needs it says so; only `rmdir` is ever used to take it away, which cannot remove what
 * somebody else put there.
 */
export interface Placeholders {
  /** Puts them there, or joins those who did. */
  hold(paths: readonly string[]): Promise<HeldPaths>
  /** Whether we put it there. */
  has(path: string): boolean
  /** Takes away what nobody needs. */
  tidy(): Promise<void>
}

export interface HeldPaths {
  /** Not those in folders where nobody could put anything anyway. */
  readonly paths: readonly string[]
  /** Says that they are not needed any more. */
  release(): void
}

const lingerMs = 20_000

export function createPlaceholders(): Placeholders {
  const mark = markStart + processMark()
  const needed = new Map<string, number>()
  /** Folders that somebody else made and left empty: they serve as well, and stay. */
  const foreign = new Set<string>()
  let changing: Promise<unknown> = Promise.resolve()
  let later: NodeJS.Timeout | undefined
  let callOff: (() => void) | undefined

  /** One change after the other. */
  function change<T>(work: () => Promise<T>): Promise<T> {
    const done = changing.then(work)
    changing = done.catch(() => {})
    return done
  }

  async function add(paths: readonly string[]): Promise<string[]> {
    clearTimeout(later)
    callOff ??= onProcessExit(leave)
    const outcomes = await Promise.allSettled(
      paths.map(async (path) => {
        if (existsSync(join(path, mark))) return
        if (await put(path, mark)) foreign.delete(path)
        else foreign.add(path)
      }),
    )
    const held = paths.filter((_, i) => outcomes[i]?.status === 'fulfilled')
    for (const path of held) needed.set(path, (needed.get(path) ?? 0) + 1)
    const problem = outcomes.find((one) => one.status === 'rejected' && !unwritable.has(codeOf(one.reason) ?? ''))
    if (problem?.status !== 'rejected') return held
    release(held)
    throw new Error(`Cannot keep protected files from being made: ${messageOf(problem.reason)}`, {
      cause: problem.reason,
    })
  }

  function release(paths: readonly string[]): void {
    for (const path of paths) needed.set(path, (needed.get(path) ?? 1) - 1)
    if ([...needed.values()].some((count) => count > 0)) return
    later = setTimeout(() => void tidy(), lingerMs)
    later.unref()
  }

  async function removeUnneeded(): Promise<void> {
    const paths = [...needed].filter(([, count]) => count === 0).map(([path]) => path)
    for (const path of paths) needed.delete(path)
    if (needed.size === 0) {
      callOff?.()
      callOff = undefined
    }
    await Promise.all(
      paths.map(async (path) => {
        await rmdir(join(path, mark)).catch(() => {})
        if (foreign.delete(path)) return
        await rmdir(path).catch(() => {}) // somebody else still needs it, or it is gone
      }),
    )
  }

  const tidy = (): Promise<void> => change(removeUnneeded)

  function leave(): void {
    for (const path of needed.keys()) {
      tryTo(() => rmdirSync(join(path, mark)))
      if (!foreign.has(path)) tryTo(() => rmdirSync(path))
    }
  }

  return {
    async hold(wanted) {
      if (wanted.length === 0) return { paths: [], release() {} }
      const paths = await change(() => add(wanted))
      return { paths, release: () => release(paths) }
    },
    has: (path) => needed.has(path),
    tidy,
  }
}

/** Whether a folder is there only to keep its name: ours, that of another process, or left behind by one that died. */
export function isHeld(path: string): boolean {
  return (marksIn(path)?.length ?? 0) > 0
}

/** Whether a folder has nothing in it. A placeholder is empty for a moment when it is made and when it goes. */
export function isVoid(path: string): boolean {
  return marksIn(path) !== undefined
}

/** Undefined when it is not there, is no folder, or has anything else in it. */
function marksIn(path: string): string[] | undefined {
  try {
    const names = readdirSync(path)
    return names.every((name) => name.startsWith(markStart)) ? names : undefined
  } catch {
    return undefined
  }
}

/** What we may not make, a command may not make either: it has fewer rights. */
const unwritable = new Set(['EACCES', 'EPERM', 'EROFS'])
const markStart = 'held-by-libero-'
const tries = 5
const looks = 10
const betweenMs = 5

/** Says whether it may be taken away again: not when it was there before and nobody's. */
async function put(path: string, mark: string): Promise<boolean> {
  for (let left = tries; ; left--) {
    const isOurs = await make(path)
    try {
      await mkdir(join(path, mark))
      return isOurs
    } catch (error) {
      if (codeOf(error) !== 'ENOENT' || left === 0) throw error // else its last holder took it away just now
    }
  }
}

async function make(path: string): Promise<boolean> {
  for (let left = looks; ; left--) {
    try {
      await mkdir(path)
      return true
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') throw error
    }
    const names = await readdir(path).catch(() => [])
    for (const name of names)
      if (isMarkOfDeadProcess(name.slice(markStart.length))) await rmdir(join(path, name)).catch(() => {})
    if (names.length > 0 || left === 0) return names.length > 0
    await sleep(betweenMs) // it may be coming or going
  }
}

function tryTo(work: () => void): void {
  try {
    work()
  } catch {
    // somebody else still needs it, or it is gone
  }
}

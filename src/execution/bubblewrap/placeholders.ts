import { existsSync, rmdirSync } from 'node:fs'
import { mkdir, readdir, rmdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { codeOf, messageOf } from '../../core/errors.ts'
import { placeholderMark } from '../../platform/placeholder-mark.ts'
import { isMarkOfDeadProcess, processMark } from '../../platform/process-identity.ts'
import { type KeeperRegistration, onProcessExit, registerWithKeeper } from '../../platform/process-keeper.ts'

/**
 * A mount needs an existing path. So where nothing may be created, an empty folder is placed while commands run, and a little
 * longer, because the next command often follows soon. Git ignores empty folders. Inside it, each process that needs it has
 * a folder as its mark. Placeholders are removed only with `rmdir`, which cannot delete the files of others; if this process is
 * killed, the keeper does it.
 */
export interface Placeholders {
  /** Creates placeholders, or adds a mark to existing ones. */
  hold(paths: readonly string[]): Promise<HeldPaths>
  /** Whether this object holds a placeholder at the path. */
  has(path: string): boolean
  /** Removes placeholders that are not needed. */
  removeUnneeded(): Promise<void>
}

interface HeldPaths {
  /** Without paths in folders that are not writable anyway. */
  readonly paths: readonly string[]
  /** Releases the paths. */
  release(): void
}

const lingerMs = 20_000

export function createPlaceholders(): Placeholders {
  const mark = placeholderMark + processMark()
  const needed = new Map<string, number>()
  /** Existing empty folders of others: they serve as placeholders, and are not removed. */
  const foreign = new Set<string>()
  let changing: Promise<unknown> = Promise.resolve()
  let later: NodeJS.Timeout | undefined
  let cancelAtExit: (() => void) | undefined
  let keeping: KeeperRegistration | undefined

  /** Changes run serially. */
  function change<T>(work: () => Promise<T>): Promise<T> {
    const done = changing.then(work)
    changing = done.catch(() => {})
    return done
  }

  async function add(paths: readonly string[]): Promise<string[]> {
    clearTimeout(later)
    cancelAtExit ??= onProcessExit(removeOwn)
    const keeper = (keeping ??= registerWithKeeper())
    const outcomes = await Promise.allSettled(
      paths.map(async (path) => {
        if (existsSync(join(path, mark))) return
        const isOurs = await place(path, mark)
        if (isOurs) foreign.delete(path)
        else foreign.add(path)
        keeper.addFolder(join(path, mark), isOurs ? 'with its parent' : 'alone')
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
      cancelAtExit?.()
      cancelAtExit = undefined
    }
    const over = needed.size === 0 ? keeping : undefined
    if (over) keeping = undefined
    await Promise.all(
      paths.map(async (path) => {
        await rmdir(join(path, mark)).catch(() => {})
        if (foreign.delete(path)) return
        await rmdir(path).catch(() => {}) // still needed by another process, or gone
      }),
    )
    over?.end()
  }

  const tidy = (): Promise<void> => change(removeUnneeded)

  function removeOwn(): void {
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
    removeUnneeded: tidy,
  }
}

/** Commands cannot create either what this process cannot create. */
const unwritable = new Set(['EACCES', 'EPERM', 'EROFS'])
const tries = 5
const retries = 10
const betweenMs = 5

/** Returns whether it may be removed again: not if it was an empty folder before. */
async function place(path: string, mark: string): Promise<boolean> {
  for (let left = tries; ; left--) {
    const isOurs = await createFolder(path)
    try {
      await mkdir(join(path, mark))
      return isOurs
    } catch (error) {
      if (codeOf(error) !== 'ENOENT' || left === 0) throw error // else its last holder has just removed it
    }
  }
}

async function createFolder(path: string): Promise<boolean> {
  for (let left = retries; ; left--) {
    try {
      await mkdir(path)
      return true
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') throw error
    }
    const names = await readdir(path).catch(() => [])
    for (const name of names)
      if (isMarkOfDeadProcess(name.slice(placeholderMark.length))) await rmdir(join(path, name)).catch(() => {})
    if (names.length > 0 || left === 0) return names.length > 0
    await sleep(betweenMs) // it may be being created or removed
  }
}

function tryTo(work: () => void): void {
  try {
    work()
  } catch {
    // still needed by another process, or gone
  }
}

import { type BigIntStats, closeSync, constants, fstatSync, lstatSync, openSync, watch } from 'node:fs'
import { basename, dirname } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { codeOf } from '../../core/errors.ts'

/**
 * A mount covers a file or folder, not a path. If another process renames or removes that file, or puts another one in its
 * place, the mount goes with it, and what is at the path then can be read and written by the command.
 */
export interface CoverWatch {
  /** The paths whose mounts are gone: other files or folders are there now, or have been. */
  lost(): string[]
  /** The same, with everything that happened until the call. */
  settled(): Promise<string[]>
  end(): void
}

/**
 * Must be called before the mounts are made. A path where nothing is must stay so. `unlinked`: those of the paths at which
 * what was looked at was no link; one that is there now would lead the mount elsewhere.
 */
export async function watchCovers(
  paths: readonly string[],
  onLost: (path: string) => void,
  unlinked: readonly string[] = [],
): Promise<CoverWatch> {
  // Watches of one folder share a queue: what happened before this one began would count for it too.
  await nextTurn()
  const covers = new Map(paths.map((path) => [path, hold(path)]))
  const gone = new Set<string>()

  function lose(path: string): void {
    if (gone.has(path)) return
    gone.add(path)
    onLost(path)
  }

  function check(): void {
    for (const [path, held] of covers) if (!isSame(held?.stats, look(path))) lose(path)
  }

  const names = Map.groupBy(paths, dirname)
  const watches = [...names].map(([folder, inside]) => {
    const byName = new Map(inside.map((path) => [basename(path), path]))
    return notice(folder, (name) => {
      const path = name === null ? undefined : byName.get(name)
      // Also if the same file came back: another one was at the path meanwhile.
      if (path !== undefined) lose(path)
      else if (name === null) check()
    })
  })

  for (const path of unlinked) if (covers.get(path)?.stats.isSymbolicLink()) lose(path)

  function lost(): string[] {
    check()
    return [...gone]
  }

  return {
    lost,
    async settled() {
      // What the system has queued is told within one turn of the event loop.
      await nextTurn()
      await nextTurn()
      return lost()
    },
    end() {
      for (const stop of watches) stop()
      for (const held of covers.values()) if (held) closeSync(held.fd)
      covers.clear()
    },
  }
}

interface HeldCover {
  /** Keeps the system from giving its number to another file. */
  readonly fd: number
  readonly stats: BigIntStats
}

/** Linux only, and missing in Node's constants: refers to a file without opening it. */
const O_PATH = 0o10000000

function hold(path: string): HeldCover | undefined {
  try {
    const fd = openSync(path, O_PATH | (constants.O_NOFOLLOW ?? 0))
    return { fd, stats: fstatSync(fd, { bigint: true }) }
  } catch (error) {
    if (['ENOENT', 'ENOTDIR', 'EACCES'].includes(codeOf(error) ?? '')) return undefined // nothing that could be covered
    throw error
  }
}

function look(path: string): BigIntStats | undefined {
  try {
    return lstatSync(path, { bigint: true, throwIfNoEntry: false })
  } catch {
    return undefined // a parent is not a folder, or not accessible
  }
}

function isSame(before: BigIntStats | undefined, now: BigIntStats | undefined): boolean {
  return before?.dev === now?.dev && before?.ino === now?.ino
}

const pollMs = 50

/** Tells of names that come, go or are replaced in a folder; `null` for a reason to look. */
function notice(folder: string, onName: (name: string | null) => void): () => void {
  try {
    const watching = watch(folder, { persistent: false }, (event, name) => {
      if (event === 'rename') onName(name)
    })
    watching.on('error', () => onName(null))
    return () => watching.close()
  } catch {
    // The system has no more watches, or the folder is gone.
    const timer = setInterval(onName, pollMs, null).unref()
    return () => clearInterval(timer)
  }
}

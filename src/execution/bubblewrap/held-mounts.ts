import { type BigIntStats, closeSync, constants, fstatSync, lstatSync, openSync, readlinkSync } from 'node:fs'

/**
 * What a sandbox is to show, held open from the moment at which it is decided. Bubblewrap mounts paths, and follows links: a
 * command that runs at the same time in another sandbox could put a link in the place of one.
 */
export interface HeldMounts {
  /** The path of a mount that is of something else; `pid`: a process of the sandbox, whose mounts are made. */
  misplaced(pid: number): string | undefined
  end(): void
}

/** Linux only, and missing in Node's constants: refers to a file without opening it. */
const O_PATH = 0o10000000

/** Throws if one of the paths is missing, or is not a real path any more. */
export function holdMounts(paths: readonly string[]): HeldMounts {
  const held = new Map<string, { readonly fd: number; readonly stats: BigIntStats }>()
  const end = (): void => {
    for (const { fd } of held.values()) closeSync(fd)
    held.clear()
  }
  try {
    for (const path of paths) {
      const fd = holdPath(path)
      const stats = fstatSync(fd, { bigint: true })
      held.set(path, { fd, stats })
      // The path of what is open, whatever is at the path now.
      if (stats.isSymbolicLink() || readlinkSync(`/proc/self/fd/${fd}`) !== path) throw replacedMeanwhile(path)
    }
  } catch (error) {
    end()
    throw error
  }
  return {
    misplaced(pid) {
      const root = canEnter(pid) ? `/proc/${pid}/root` : ''
      for (const [path, { stats }] of held) if (!isSame(stats, look(root + path))) return path
      return undefined
    },
    end,
  }
}

/** Why what is in a sandbox must not begin; `pid`: a process of it, if it is known. */
export function notInPlace(held: HeldMounts, pid: number | undefined): Error | undefined {
  if (pid === undefined) return new Error('The command was not run: bubblewrap did not say which process it started')
  const misplaced = held.misplaced(pid)
  return misplaced === undefined ? undefined : replacedMeanwhile(misplaced)
}

function replacedMeanwhile(path: string): Error {
  const message = `The command was not run: something else was put in the place of ${path} while its sandbox was built. Request it again; if that happens every time, a command that still runs does it`
  return Object.assign(new Error(message), { code: 'ENOSANDBOX' as const })
}

function holdPath(path: string): number {
  try {
    return openSync(path, O_PATH | (constants.O_NOFOLLOW ?? 0))
  } catch (error) {
    if (error instanceof Error && /ENOENT|ENOTDIR|ELOOP|EACCES/.test(error.message)) throw replacedMeanwhile(path)
    throw error
  }
}

/** Some systems forbid to look into a process in another namespace. Then the paths here are compared, which can be raced. */
function canEnter(pid: number): boolean {
  try {
    readlinkSync(`/proc/${pid}/root`)
    return true
  } catch {
    return false
  }
}

function look(path: string): BigIntStats | undefined {
  try {
    return lstatSync(path, { bigint: true, throwIfNoEntry: false })
  } catch {
    return undefined // a parent is not a folder, or not accessible
  }
}

const isSame = (before: BigIntStats, now: BigIntStats | undefined): boolean =>
  before.dev === now?.dev && before.ino === now?.ino

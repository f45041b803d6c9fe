import { closeSync, constants, lstatSync, openSync, renameSync, watch } from 'node:fs'
import { relative, sep } from 'node:path'
import { codeOf } from '../../core/errors.ts'
import { registerWithKeeper } from '../../platform/process-keeper.ts'
import { isEmptyFolder } from '../files/placeholder-folders.ts'
import { asideOf } from './restore.ts'

/** Moves what a command makes at unwanted paths aside while the command still runs, so that no other program obeys it. */
export interface UnwantedFiles {
  /** Where it is now, by the path at which it was. */
  readonly moved: ReadonlyMap<string, string>
  end(): void
}

interface Unwanted {
  readonly roots: readonly string[]
  /** Those where nothing is. */
  readonly paths: readonly string[]
  /** What must stay, such as a placeholder. */
  isKept(path: string): boolean
}

const pollMs = 100

/** If this process is killed, the keeper moves aside what is there after the commands have ended. */
export function watchUnwanted({ roots, paths, isKept }: Unwanted): UnwantedFiles {
  const moved = new Map<string, string>()
  const inRoots = paths.flatMap((path) => {
    const root = roots.find((one) => path.startsWith(`${one}/`))
    return root === undefined ? [] : [{ path, root, first: path.slice(root.length + 1).split('/', 1)[0]! }]
  })
  const firstNames = new Set(inRoots.map(({ first }) => first))
  const keeper = registerWithKeeper()
  keeper.addUnwanted(inRoots.map(({ path }) => path))

  function sweep(): void {
    for (const { path, root } of inRoots) {
      // A placeholder is an empty folder at first, and one without anything in it has no effect.
      if (!isThere(path) || isKept(path) || isEmptyFolder(path)) continue
      const aside = moveAside(root, path, moved.get(path))
      if (aside !== undefined) moved.set(path, aside)
    }
  }

  const watches = roots.map((root) => notice(root, (name) => void ((name === null || firstNames.has(name)) && sweep())))
  // For what lies deeper, and where the system has no more watches.
  const timer = setInterval(sweep, pollMs).unref()
  return {
    moved,
    end() {
      for (const stop of watches) stop()
      clearInterval(timer)
      keeper.end()
    },
  }
}

function notice(folder: string, onName: (name: string | null) => void): () => void {
  try {
    const watching = watch(folder, { persistent: false }, (_event, name) => onName(name))
    watching.on('error', () => {})
    return () => watching.close()
  } catch {
    return () => {} // the system has no more watches, or the folder is gone
  }
}

/** Linux only, and missing in Node's constants: refers to a folder without opening it. */
const O_PATH = 0o10000000
const { O_DIRECTORY = 0, O_NOFOLLOW = 0 } = constants

/**
 * From folder to folder by descriptors: a command can put a link in the place of one. `before`: where it was moved the last
 * time, which the new one replaces, so that a command which makes it over and over leaves one.
 */
function moveAside(root: string, path: string, before: string | undefined): string | undefined {
  const names = relative(root, path).split(sep)
  const last = names.pop()!
  const open: number[] = []
  try {
    open.push(openSync(root, O_PATH | O_DIRECTORY | O_NOFOLLOW))
    for (const name of names)
      open.push(openSync(`/proc/self/fd/${open.at(-1)}/${name}`, O_PATH | O_DIRECTORY | O_NOFOLLOW))
    const at = (name: string): string => `/proc/self/fd/${open.at(-1)}/${name}`
    for (const aside of [...(before === undefined ? [] : [before]), asideOf(path)]) {
      try {
        renameSync(at(last), at(aside.slice(path.length - last.length)))
        return aside
      } catch (error) {
        // A folder that is not empty is not replaced.
        if (!['ENOTEMPTY', 'EEXIST', 'ENOTDIR', 'EISDIR'].includes(codeOf(error) ?? '')) return undefined
      }
    }
    return undefined
  } catch {
    return undefined // gone again, or a link leads there: that is looked at when the command has ended
  } finally {
    for (const fd of open) closeSync(fd)
  }
}

export function isThere(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined
  } catch {
    return false // a parent is not a folder
  }
}

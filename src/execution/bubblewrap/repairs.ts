import { readlinkSync } from 'node:fs'
import { shellQuote } from '../../core/execution.ts'
import { asideOf } from './restore.ts'
import { isThere, type UnwantedFiles } from './unwanted-files.ts'

/** Undoes changes that could not be prevented. */
export interface Repair {
  /** Must be run in the sandbox, where links cannot lead outside. */
  readonly script: string
  readonly notes: readonly string[]
}

/** Paths that no mount can protect, existing or not. */
export interface Unmounted {
  /** Must not be created. */
  readonly unwanted: readonly string[]
  /** Must not change. */
  readonly links: readonly string[]
  /** Links that must not exist. */
  readonly misplacedLinks: readonly string[]
}

export interface Repairs {
  /** A command begins. Files that exist while no command runs are the user's. */
  begin(now: Unmounted): void
  /** A command ended; `undefined` if nothing changed. */
  end(now: Unmounted): Repair | undefined
}

/** Counts all handles of this process, because they may share folders. */
let running = 0

export function createRepairs(watchAll: (paths: readonly string[]) => UnwantedFiles): Repairs {
  /** Recorded only while no command runs: a command could write a config that names files of the user. */
  const watched = new Set<string>()
  const ofUser = new Set<string>()
  const links = new Map<string, string>()
  /** Created by commands and not removed yet. */
  const suspects = new Set<string>()
  let isNew = true
  /** While commands of this handle run. */
  let ownRunning = 0
  let unwantedFiles: UnwantedFiles | undefined

  function record({ unwanted, links: present, misplacedLinks }: Unmounted): void {
    for (const path of suspects)
      if (links.has(path) ? links.get(path) === targetOf(path) : !isThere(path)) suspects.delete(path)
    for (const path of unwanted) watched.add(path)
    ofUser.clear()
    for (const path of [...watched, ...misplacedLinks]) if (!suspects.has(path) && isThere(path)) ofUser.add(path)
    for (const path of links.keys()) if (!suspects.has(path)) links.delete(path)
    for (const path of present) {
      const target = targetOf(path)
      if (target !== undefined && !suspects.has(path)) links.set(path, target)
    }
  }

  return {
    begin(now) {
      if (isNew || running === 0) record(now)
      isNew = false
      running++
      ownRunning++
      unwantedFiles ??= watchAll([...watched].filter((path) => !ofUser.has(path) && !links.has(path) && !isThere(path)))
    },

    end({ unwanted, misplacedLinks }) {
      running = Math.max(0, running - 1)
      ownRunning = Math.max(0, ownRunning - 1)
      const moved = new Map(unwantedFiles?.moved)
      if (ownRunning === 0) {
        unwantedFiles?.end()
        unwantedFiles = undefined
      }
      const isGone = (path: string): boolean => !ofUser.has(path) && !links.has(path) && isThere(path)
      const made = unwanted.filter((path) => watched.has(path) && isGone(path))
      const misplaced = misplacedLinks.filter((path) => isGone(path) && !made.includes(path))
      const changed = [...links].filter(([path, target]) => targetOf(path) !== target)
      // A person may have made it meanwhile, so nothing is lost.
      const aside = new Map(
        [...made, ...changed.map(([path]) => path).filter(isThere)].map((path) => [path, asideOf(path)]),
      )
      const paths = [...made, ...misplaced, ...changed.map(([path]) => path)]
      if (paths.length + moved.size === 0) return undefined
      for (const path of paths) suspects.add(path)
      const kept = (path: string): string => {
        const to = aside.get(path) ?? moved.get(path)
        return to === undefined ? '' : `; what was put there is in ${to}`
      }
      return {
        script: [
          ...misplaced.map((path) => `rm -f -- ${shellQuote(path)}`),
          ...[...aside].map(([path, to]) => `mv -- ${shellQuote(path)} ${shellQuote(to)}`),
          ...changed.map(([path, target]) => `ln -s -- ${shellQuote(target)} ${shellQuote(path)}`),
        ].join('\n'),
        notes: [
          ...[...new Set([...made, ...moved.keys(), ...misplaced])].map(
            (path) => `${path} was created and taken away again: it is protected${kept(path)}`,
          ),
          ...changed.map(
            ([path]) => `${path} was changed and restored as the link it was: it is protected${kept(path)}`,
          ),
        ],
      }
    },
  }
}

function targetOf(path: string): string | undefined {
  try {
    return readlinkSync(path)
  } catch {
    return undefined
  }
}

import { lstatSync, readlinkSync } from 'node:fs'
import { shellQuote } from '../../core/execution.ts'

/** Puts right what could not be prevented. */
export interface Repair {
  /** To be run inside: there a link leads nowhere it should not. */
  readonly script: string
  readonly notes: readonly string[]
}

/** What no mount can hold, there or not. */
export interface Unheld {
  /** Must not come into being. */
  readonly unwanted: readonly string[]
  /** Must stay as they are. */
  readonly links: readonly string[]
  /** Have no business being there. */
  readonly strays: readonly string[]
}

export interface Repairs {
  /** A command begins. What is there while none runs is the user's. */
  begin(now: Unheld): void
  /** A command ended; `undefined`: all is as it was. */
  end(now: Unheld): Repair | undefined
}

/** Of all handles of this process: they may work in the same folders. */
let running = 0

export function createRepairs(): Repairs {
  /** Learned while no command runs: one could write a config that names files of the user as unwanted. */
  const watched = new Set<string>()
  const theirs = new Set<string>()
  const links = new Map<string, string>()
  /** What commands made and nobody could remove yet. */
  const suspects = new Set<string>()
  let isNew = true

  function learn({ unwanted, links: leading, strays }: Unheld): void {
    for (const path of suspects)
      if (links.has(path) ? links.get(path) === targetOf(path) : !isThere(path)) suspects.delete(path)
    for (const path of unwanted) watched.add(path)
    theirs.clear()
    for (const path of [...watched, ...strays]) if (!suspects.has(path) && isThere(path)) theirs.add(path)
    for (const path of links.keys()) if (!suspects.has(path)) links.delete(path)
    for (const path of leading) {
      const target = targetOf(path)
      if (target !== undefined && !suspects.has(path)) links.set(path, target)
    }
  }

  return {
    begin(now) {
      if (isNew || running === 0) learn(now)
      isNew = false
      running++
    },

    end({ unwanted, strays }) {
      running = Math.max(0, running - 1)
      const candidates = [...unwanted.filter((path) => watched.has(path)), ...strays]
      const gone = [...new Set(candidates)].filter((path) => !theirs.has(path) && !links.has(path) && isThere(path))
      const changed = [...links].filter(([path, target]) => targetOf(path) !== target)
      const paths = [...gone, ...changed.map(([path]) => path)]
      if (paths.length === 0) return undefined
      for (const path of paths) suspects.add(path)
      return {
        script: [
          `rm -rf -- ${paths.map(shellQuote).join(' ')}`,
          ...changed.map(([path, target]) => `ln -s -- ${shellQuote(target)} ${shellQuote(path)}`),
        ].join('\n'),
        notes: [
          ...gone.map((path) => `${path} was made and taken away again: it is protected`),
          ...changed.map(([path]) => `${path} was changed and is the link again that it was: it is protected`),
        ],
      }
    },
  }
}

function isThere(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined
  } catch {
    return false // what should be a folder on the way is none
  }
}

function targetOf(path: string): string | undefined {
  try {
    return readlinkSync(path)
  } catch {
    return undefined
  }
}

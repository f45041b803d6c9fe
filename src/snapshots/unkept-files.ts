import type { ChangesOfWork } from './changes-of-work.ts'
import type { GitName } from './git-runner.ts'
import type { PathState } from './path-states.ts'
import type { SnapshotMeta } from './snapshot.ts'

/** A file or repository that no snapshot has, and that the work removed or made: it cannot be restored, or stays. */
export interface Unkept {
  readonly name: GitName
  readonly why: string
  readonly isGone: boolean
}

/** What pieces of work, oldest first, removed and made that no snapshot has. What one made and a later one removed was not there before. */
export function unkeptIn(pieces: readonly ChangesOfWork[]): readonly Unkept[] {
  const first = new Map<GitName, Unkept>()
  const note = (name: GitName, one: Omit<Unkept, 'name'>): void => {
    if (!first.has(name)) first.set(name, { name, ...one })
  }
  for (const { before, after } of pieces) {
    for (const [name, why] of onlyIn(before, after))
      note(name, { isGone: true, why: `it is gone, and was left out before (${why})` })
    for (const [name, why] of onlyIn(after, before))
      note(name, { isGone: false, why: `it is new, and was left out (${why})` })
  }
  return [...first.values()]
}

function onlyIn(one: SnapshotMeta, other: SnapshotMeta): SnapshotMeta['leftOut'] {
  const known = new Set(other.leftOut.map(([name]) => name))
  return one.leftOut.filter(([name]) => !known.has(name))
}

/** Whether it is still gone, or still there. */
export function remainsTrue(unkept: Unkept, now: ReadonlyMap<GitName, PathState>): boolean {
  const state = now.get(pathIn(unkept))
  const isThere = unkept.name.endsWith('/') ? state === 'folder' : state !== 'nothing'
  return isThere !== unkept.isGone
}

/** Without the slash of a repository. */
export const pathIn = ({ name }: Pick<Unkept, 'name'>): GitName => name.replace(/\/$/, '')

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

/** What a piece of work removed and made that no snapshot has. */
export function unkeptIn({ before, after }: ChangesOfWork): readonly Unkept[] {
  const gone = onlyIn(before, after).map(([name, why]) => ({
    ...{ name, isGone: true, why: `it is gone, and was left out before (${why})` },
  }))
  const made = onlyIn(after, before).map(([name, why]) => ({
    ...{ name, isGone: false, why: `it is new, and was left out (${why})` },
  }))
  return [...gone, ...made]
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

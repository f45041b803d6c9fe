import { foldersAbove, type GitName } from './git-runner.ts'
import type { Entry, PathState } from './path-states.ts'
import type { UnsavedFiles } from './take-snapshot.ts'

/** A path that is not the same in two snapshots. */
export interface NamedChange {
  readonly name: GitName
  readonly before?: Entry
  readonly after?: Entry
}

/** What is left as it is, and why. */
interface NamedConflict {
  readonly name: GitName
  readonly why: string
}

/** What a rollback would do. */
export interface NamedPlan {
  readonly restore: readonly (NamedChange & { readonly before: Entry })[]
  readonly remove: readonly NamedChange[]
  readonly conflicts: readonly NamedConflict[]
}

/** All that a plan depends on. */
interface PlanFacts {
  readonly changes: readonly NamedChange[]
  /** At the paths of the changes, and of the folders above those that are to come back. */
  readonly now: ReadonlyMap<GitName, PathState>
  /** All files in the folders that stand where a file is to come back. */
  readonly inFolders: ReadonlyMap<GitName, readonly GitName[]>
  /** Of the snapshot before. */
  readonly remembered: UnsavedFiles
  /** Paths that a rollback which did not come to its end was about to replace. */
  readonly begun: ReadonlySet<GitName>
  /** Whether a path is to go back although it was changed since. */
  readonly isForced: (name: GitName) => boolean
}

/** Decides for each path. Pure: the same facts give the same plan. */
export function planRollback(facts: PlanFacts): NamedPlan {
  const conflicts: NamedConflict[] = []
  const remove: NamedChange[] = []
  const wanted: NamedPlan['restore'][number][] = []
  for (const change of facts.changes) {
    const found = judge(change, facts)
    if (found === 'remove') remove.push(change)
    else if (found === 'restore') wanted.push(change as NamedPlan['restore'][number])
    else if (found !== 'done') conflicts.push({ name: change.name, why: found.why })
  }
  const goes = new Set(remove.map(({ name }) => name))
  const restore = wanted.filter(({ name }) => {
    const why = inTheWay(name, goes, facts)
    if (why !== undefined) conflicts.push({ name, why })
    return why === undefined
  })
  return { restore, remove, conflicts }
}

type Judged = 'done' | 'restore' | 'remove' | { readonly why: string }

function judge(change: NamedChange, facts: PlanFacts): Judged {
  const { name, before, after } = change
  const now = nowOf(change, facts)
  if (isSame(now, before)) return 'done'
  const isForced = (typeof now === 'object' || now === 'nothing') && facts.isForced(name)
  if (!isSame(now, after) && !isForced) return { why: changedWords(now) }
  if (before) return 'restore'
  return wasThere(name, facts) ?? 'remove'
}

function nowOf({ name, after }: NamedChange, facts: PlanFacts): PathState {
  const now = facts.now.get(name) ?? 'something else'
  // What an unfinished rollback took away it was about to bring back.
  if (now === 'nothing' && after && facts.begun.has(name)) return after
  if (now === 'behind a link' && !after && isBehindNewLink(name, facts)) return 'nothing'
  return now
}

/** The link came with the turn and goes with it. */
function isBehindNewLink(name: GitName, { changes, now }: PlanFacts): boolean {
  const above = new Set(foldersAbove(name))
  const link = changes.find((change) => above.has(change.name) && change.after?.mode === linkMode)
  return link !== undefined && !link.before && isSame(now.get(link.name), link.after)
}

const linkMode = '120000'

function isSame(now: PathState | undefined, entry: Entry | undefined): boolean {
  if (!entry) return now === 'nothing' || now === 'folder'
  return typeof now === 'object' && now.mode === entry.mode && now.id === entry.id
}

function changedWords(now: PathState): string {
  if (typeof now === 'object') return 'it was changed since'
  return now === 'nothing' ? 'it was removed since' : `it is ${now}`
}

/** A file that no snapshot could see may have been there all the time. */
function wasThere(name: GitName, { remembered, changes }: PlanFacts): Judged | undefined {
  const { ignored, leftOut, isCut } = remembered
  const covers = (one: GitName): boolean => one === name || (one.endsWith('/') && name.startsWith(one))
  if (ignored.some(covers)) return { why: 'it was ignored before, so nobody knows what was in it' }
  if (leftOut.some(covers)) return { why: 'it was left out before, so nobody knows what was in it' }
  const hasNewRules = isCut && changes.some((change) => /(^|\/)\.gitignore$/.test(change.name))
  return hasNewRules ? { why: 'it may have been ignored before, among too many to remember' } : undefined
}

function inTheWay(name: GitName, goes: ReadonlySet<GitName>, { now, inFolders }: PlanFacts): string | undefined {
  for (const folder of foldersAbove(name)) {
    const there = now.get(folder)
    if (
      there !== undefined &&
      there !== 'nothing' &&
      there !== 'folder' &&
      !goes.has(folder) &&
      there !== 'behind a link'
    )
      return 'something else stands in the place of its folder'
  }
  const others = inFolders.get(name)?.some((file) => !goes.has(file))
  return others ? 'a folder with other files stands in its place' : undefined
}

import { foldersAbove, type GitName } from './git-runner.ts'
import type { Entry, PathState } from './path-states.ts'

/** A path that differs between two snapshots, and what was there. */
export interface NamedChange {
  readonly name: GitName
  readonly before?: Entry
  readonly after?: Entry
}

/** A path that is not changed, and the reason. */
interface NamedConflict {
  readonly name: GitName
  readonly why: string
}

/** What a rollback would do. */
export interface NamedPlan {
  readonly restore: readonly (NamedChange & { readonly before: Entry })[]
  readonly remove: readonly NamedChange[]
  /** Folders without files, each ended by `/`. */
  readonly makeFolders: readonly GitName[]
  /** They had no files and have some now: they stay when these go. */
  readonly keepFolders: readonly GitName[]
  readonly dropFolders: readonly GitName[]
  readonly conflicts: readonly NamedConflict[]
}

interface PlanFacts {
  readonly changes: readonly NamedChange[]
  /** At the paths of the changes, and of the folders above the files to restore. */
  readonly now: ReadonlyMap<GitName, PathState>
  /** The files in folders that are at the path of a file to restore. */
  readonly inFolders: ReadonlyMap<GitName, readonly GitName[]>
  /** Files that existed before, but are in no snapshot. */
  readonly leftOut: readonly GitName[]
  /** The folders without files, before and after. */
  readonly folders: { readonly before: readonly GitName[]; readonly after: readonly GitName[] }
  /** Paths that an unfinished rollback was about to replace. */
  readonly begun: ReadonlySet<GitName>
  /** Whether a path is restored although it was changed since. */
  readonly isForced: (name: GitName) => boolean
}

/** Decides for each path. Pure: the same facts give the same plan. */
export function planRollback(facts: PlanFacts): NamedPlan {
  const conflicts: NamedConflict[] = []
  const remove: NamedChange[] = []
  const wanted: NamedPlan['restore'][number][] = []
  for (const change of facts.changes) {
    const found = decide(change, facts)
    if (found === 'remove') remove.push(change)
    else if (found === 'restore') wanted.push(change as NamedPlan['restore'][number])
    else if (found !== 'done') conflicts.push({ name: change.name, why: found.why })
  }
  const goes = new Set(remove.map(({ name }) => name))
  const restore = wanted.filter(({ name }) => {
    const why = obstacleTo(name, goes, facts)
    if (why !== undefined) conflicts.push({ name, why })
    return why === undefined
  })
  const { before, after } = facts.folders
  const isAt = (state: PathState) => (name: GitName) => facts.now.get(name.slice(0, -1)) === state
  const filled = before.filter((name) => !after.includes(name))
  return {
    restore,
    remove,
    conflicts,
    makeFolders: filled.filter((name) => isAt('nothing')(name) || foldersAbove(name).some((one) => goes.has(one))),
    keepFolders: filled.filter(isAt('folder')),
    dropFolders: after.filter((name) => !before.includes(name)).filter(isAt('folder')),
  }
}

type Decided = 'done' | 'restore' | 'remove' | { readonly why: string }

function decide(change: NamedChange, facts: PlanFacts): Decided {
  const { name, before, after } = change
  const now = nowOf(change, facts)
  if (isSame(now, before)) return 'done'
  const isForced = (typeof now === 'object' || now === 'nothing') && facts.isForced(name)
  if (!isSame(now, after) && !isForced) return { why: changeReason(now) }
  if (before) return 'restore'
  return wasThere(name, facts) ?? 'remove'
}

function nowOf({ name, after }: NamedChange, facts: PlanFacts): PathState {
  const now = facts.now.get(name) ?? 'something else'
  // An unfinished rollback removed it, and was about to restore it.
  if (now === 'nothing' && after && facts.begun.has(name)) return after
  if (now === 'behind a link' && !after && isBehindNewLink(name, facts)) return 'nothing'
  return now
}

/** The link was created with the turn, and is removed with it. */
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

function changeReason(now: PathState): string {
  if (typeof now === 'object') return 'it was changed since'
  return now === 'nothing' ? 'it was removed since' : `it is ${now}`
}

/** A file that the snapshot does not have may have existed before. */
function wasThere(name: GitName, { leftOut, changes, isForced }: PlanFacts): Decided | undefined {
  const covers = (one: GitName): boolean => one === name || (one.endsWith('/') && name.startsWith(one))
  if (leftOut.some(covers)) return { why: 'it was left out before, so its earlier content is unknown' }
  const above = ['', ...foldersAbove(name).map((folder) => `${folder}/`)]
  const hasOtherRules = (change: NamedChange): boolean =>
    change.before !== undefined && above.some((folder) => change.name === `${folder}.gitignore`)
  if (!changes.some(hasOtherRules) || isForced(name)) return undefined
  return { why: 'what is ignored has changed, so it may have existed before' }
}

function obstacleTo(name: GitName, goes: ReadonlySet<GitName>, { now, inFolders }: PlanFacts): string | undefined {
  for (const folder of foldersAbove(name)) {
    const there = now.get(folder)
    if (
      there !== undefined &&
      there !== 'nothing' &&
      there !== 'folder' &&
      !goes.has(folder) &&
      there !== 'behind a link'
    )
      return 'something else is at the path of its folder'
  }
  const others = inFolders.get(name)?.some((file) => !goes.has(file))
  return others ? 'a folder with other files is at its path' : undefined
}

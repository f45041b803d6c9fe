import { randomBytes } from 'node:crypto'
import { type Clock, systemClock } from '../../core/clock.ts'
import { applyRollback, readJournal } from './apply-rollback.ts'
import {
  createGitRunner,
  foldersAbove,
  type GitName,
  type GitRunnerOptions,
  hexNames,
  nulNames,
  SnapshotsUnavailableError,
  shownName,
  unquoteName,
} from './git-runner.ts'
import { type Entry, type PathState, readPathStates } from './path-states.ts'
import { type NamedChange, type NamedPlan, planRollback } from './plan-rollback.ts'
import { type Snapshot, takeSnapshot, type UnsavedFiles } from './take-snapshot.ts'

export { SnapshotsUnavailableError } from './git-runner.ts'
export type { LeftOut, Snapshot } from './take-snapshot.ts'

export interface FileSnapshotsOptions extends GitRunnerOptions {
  readonly clock?: Clock
  /** Larger files are left out, and named. Default 10 MB. */
  readonly maxFileBytes?: number
  /** A folder with more files, without ignored ones, gets no snapshot. Default 50,000. */
  readonly maxFiles?: number
  /** How many of the newest snapshots a repository keeps. Default 200. */
  readonly keep?: number
}

/** Snapshots of the files of a folder in a git repository, and their rollback. */
export interface FileSnapshots {
  /** Takes a snapshot. Does not change HEAD, branches or the index of the repository. */
  take(options?: { readonly signal?: AbortSignal }): Promise<Snapshot | { readonly unavailable: string }>
  diff(before: Snapshot, after: Snapshot): Promise<readonly FileChange[]>
  /** What `rollback` would do. */
  plan(before: Snapshot, after: Snapshot): Promise<RollbackPlan>
  /**
   * Undoes the changes between two snapshots. Files that were changed since are kept and reported; with `force` they are
   * restored too, and `undo.before` has them. After a crash, call it again.
   */
  rollback(options: RollbackOptions): Promise<RollbackResult>
  /** Removes snapshots from the repository; git removes their objects in time. Ignores those it does not have. */
  remove(refs: ReadonlySet<string>): Promise<void>
}

/** The changes between `before` and `after` are undone. */
export interface RollbackOptions {
  readonly before: Snapshot
  readonly after: Snapshot
  readonly force?: boolean
}

/** A path that differs between two snapshots. */
export interface FileChange {
  readonly path: string
  readonly kind: 'added' | 'changed' | 'deleted'
}

/** What a rollback would do, by paths in the folder. */
export interface RollbackPlan {
  readonly restore: readonly string[]
  readonly delete: readonly string[]
  readonly conflicts: readonly RollbackConflict[]
}

/** A path that is not changed, and the reason. */
export interface RollbackConflict {
  readonly path: string
  readonly why: string
}

/** What a rollback has done, by paths in the folder. */
export interface RollbackResult {
  readonly restored: readonly string[]
  readonly deleted: readonly string[]
  readonly conflicts: readonly RollbackConflict[]
  /** Not restored, because another process changed them at the same time, or they cannot be written. */
  readonly failed: readonly string[]
  /** `rollback(undo)` undoes the rollback. */
  readonly undo: { readonly before: Snapshot; readonly after: Snapshot }
}

/**
 * Snapshots are git objects, made with an index of our own, and kept by refs, of which old ones are removed. Without a
 * repository `take` returns `unavailable`. Permissions other than the executable bit, and empty folders, are not kept.
 */
export function createFileSnapshots(options: FileSnapshotsOptions): FileSnapshots {
  const { clock = systemClock } = options
  const limits = {
    maxFileBytes: wholeNumber('maxFileBytes', options.maxFileBytes ?? 10 * 1024 * 1024),
    maxFiles: wholeNumber('maxFiles', options.maxFiles ?? 50_000),
    keep: wholeNumber('keep', options.keep ?? 200),
  }
  const git = createGitRunner(options)
  const newToken = (): string => randomBytes(6).toString('hex')
  let last: Promise<unknown> = Promise.resolve()

  /** One at a time, as two would see each other's unfinished work. */
  function serially<T>(work: () => Promise<T>): Promise<T> {
    const mine = last.then(work)
    last = mine.catch(() => {})
    return mine
  }

  const snap = (more: { keep?: number; signal?: AbortSignal | undefined }): Promise<Snapshot> =>
    takeSnapshot(git, { ...limits, now: clock.now(), token: newToken(), ...more })

  /** The changes between two snapshots, and what git stores with them. */
  async function between({ before, after }: RollbackOptions): Promise<Between> {
    for (const { id, tree } of [before, after])
      if (![id, tree].every((one) => /^[0-9a-f]{40,64}$/.test(one)))
        throw new TypeError(`this is no snapshot: ${JSON.stringify({ id, tree }).slice(0, 200)}; use what take() gave`)
    const lines = (await git.run(betweenScript(before, after))).split('\n').filter(Boolean)
    const gone = lines.find((line) => line.startsWith('//gone '))?.slice('//gone '.length)
    if (gone !== undefined)
      throw new SnapshotsUnavailableError(
        `the snapshot ${gone} is not in this repository (any more): it keeps the newest ${limits.keep}; choose a later one`,
      )
    const elsewhere = lines.find((line) => line.startsWith('//elsewhere '))?.slice('//elsewhere '.length)
    if (elsewhere !== undefined)
      throw new SnapshotsUnavailableError(
        `the snapshot ${elsewhere} is of another folder of this repository; roll back in that one`,
      )
    const ends = ['//journal', '//meta'].map((mark) => lines.indexOf(mark))
    return {
      changes: lines.slice(0, ends[0]).map(readChange),
      begun: readJournal(lines.slice(ends[0]! + 1, ends[1]), treesOf({ before, after })),
      unsaved: JSON.parse(lines[ends[1]! + 1]!),
    }
  }

  async function planned(
    options: RollbackOptions,
    { saved, mark }: { saved?: ReadonlyMap<GitName, Entry> | undefined; mark?: string } = {},
  ): Promise<Planned> {
    const { changes, begun, unsaved } = await between(options)
    const back = changes.filter((change) => change.before).map(({ name }) => name)
    const names = new Set([...changes.map(({ name }) => name), ...back.flatMap(foldersAbove)])
    const now = await readPathStates(git, [...names], {
      ...limits,
      token: newToken(),
      ...(mark !== undefined && { mark }),
    })
    const inFolders = new Map<GitName, GitName[]>()
    for (const name of back) if (now.get(name) === 'folder') inFolders.set(name, await filesUnder(name))
    const isForced = (name: GitName): boolean => {
      const there = now.get(name)
      if (!saved || there === undefined) return false
      // Only a file that is in the undo snapshot may be overwritten.
      return typeof there !== 'object' || isAt(there, saved.get(name))
    }
    return { plan: planRollback({ changes, now, inFolders, unsaved, begun, isForced }), now }
  }

  async function filesUnder(name: GitName): Promise<GitName[]> {
    const script = 'xargs -0 sh -c \'find "$@" ! -type d -print0 2>/dev/null | od -An -v -tx1\' sh\n'
    return hexNames(await git.run(script, { input: nulNames([`./${name}`]) }))
  }

  async function entriesOf({ tree }: Snapshot): Promise<ReadonlyMap<GitName, Entry>> {
    const lines = (await git.run(`index=$private/none\nours ls-tree -r --full-tree ${tree}\n`)).split('\n')
    return new Map(lines.filter(Boolean).map(readTreeLine))
  }

  async function rollback(options: RollbackOptions): Promise<RollbackResult> {
    const keep = limits.keep + 2 // so that its own two snapshots do not remove the given ones
    const undoable = await snap({ keep })
    const mark = newToken()
    const saved = options.force ? await entriesOf(undoable) : undefined
    const { plan, now } = await planned(options, { saved, mark })
    await applyRollback(git, plan, { now, trees: treesOf(options), token: newToken(), mark })
    const all = [...plan.restore, ...plan.remove]
    const names = all.map(({ name }) => name)
    const then = await readPathStates(git, names, { ...limits, token: newToken() })
    const isBack = ({ name, before }: NamedChange): boolean => isAt(then.get(name), before)
    const after = await snap({ keep })
    return {
      restored: plan.restore.filter(isBack).map(pathOf),
      deleted: plan.remove.filter(isBack).map(pathOf),
      conflicts: conflictsOf(plan),
      failed: all.filter((change) => !isBack(change)).map(pathOf),
      undo: { before: undoable, after },
    }
  }

  async function remove(refs: ReadonlySet<string>): Promise<void> {
    // Only those that are listed here: a log that was imported may name any ref.
    const found = (await git.run("user for-each-ref --format='%(refname)' refs/libero/snapshots/\n")).split('\n')
    const input = found.flatMap((ref) => (refs.has(ref) ? [`delete ${ref}\n`] : [])).join('')
    if (input !== '') await git.run('user update-ref --stdin\n', { input })
  }

  return {
    take: ({ signal } = {}) =>
      serially(() =>
        snap({ signal }).catch((error) => {
          if (error instanceof SnapshotsUnavailableError) return { unavailable: error.message }
          throw error
        }),
      ),
    diff: (before, after) => serially(async () => (await between({ before, after })).changes.map(shownChange)),
    plan: (before, after) =>
      serially(async () => {
        const { plan } = await planned({ before, after })
        return {
          restore: plan.restore.map(pathOf),
          delete: plan.remove.map(pathOf),
          conflicts: conflictsOf(plan),
        }
      }),
    rollback: (options) => serially(() => rollback(options)),
    remove: (refs) => serially(() => remove(refs)),
  }
}

interface Between {
  readonly changes: readonly NamedChange[]
  /** The files that an unfinished rollback was about to replace. */
  readonly begun: ReadonlySet<GitName>
  readonly unsaved: UnsavedFiles
}

const betweenScript = (before: Snapshot, after: Snapshot): string => `
setup
index=$private/none
for one in ${before.id}=${before.tree} ${after.id}=${after.tree}; do
  tree=$(ours rev-parse --verify --quiet "\${one%=*}:files" || :)
  [ "$tree" = "\${one#*=}" ] || { echo "//gone \${one%=*}"; exit 0; }
  at=$(ours cat-file commit "\${one%=*}" | sed -n 's/^folder //p')
  [ -z "$at" ] || [ "$at" = "/$prefix" ] || { echo "//elsewhere \${one%=*}"; exit 0; }
done
ours diff-tree -r --no-renames --raw --full-index ${before.tree} ${after.tree}
echo //journal
cat "$private/journal" 2>/dev/null || :
echo //meta
ours cat-file blob ${before.id}:meta
`

interface Planned {
  readonly plan: NamedPlan
  readonly now: ReadonlyMap<GitName, PathState>
}

function wholeNumber(name: string, value: number): number {
  if (Number.isSafeInteger(value) && value > 0) return value
  throw new TypeError(`createFileSnapshots: ${name} must be a whole number above 0, got ${String(value)}`)
}

const treesOf = ({ before, after }: RollbackOptions): string => `${before.tree} ${after.tree}`

/** `:100644 100755 <id> <id> M<tab>name` */
function readChange(line: string): NamedChange {
  const tab = line.indexOf('\t')
  const [from = '', to = '', fromId = '', toId = ''] = line.slice(1, tab).split(' ')
  return {
    name: unquoteName(line.slice(tab + 1)),
    ...(from !== noMode && { before: { mode: from, id: fromId } }),
    ...(to !== noMode && { after: { mode: to, id: toId } }),
  }
}

const noMode = '000000'

/** `100644 blob <id><tab>name` */
function readTreeLine(line: string): readonly [GitName, Entry] {
  const tab = line.indexOf('\t')
  const [mode = '', , id = ''] = line.slice(0, tab).split(' ')
  return [unquoteName(line.slice(tab + 1)), { mode, id }]
}

function isAt(now: PathState | undefined, entry: Entry | undefined): boolean {
  if (!entry) return now === 'nothing' || now === 'folder'
  return typeof now === 'object' && now.id === entry.id && now.mode === entry.mode
}

const pathOf = ({ name }: { readonly name: GitName }): string => shownName(name)

const conflictsOf = ({ conflicts }: NamedPlan): RollbackConflict[] =>
  conflicts.map((conflict) => ({ path: pathOf(conflict), why: conflict.why }))

function shownChange(change: NamedChange): FileChange {
  if (!change.before) return { path: pathOf(change), kind: 'added' }
  return { path: pathOf(change), kind: change.after ? 'changed' : 'deleted' }
}

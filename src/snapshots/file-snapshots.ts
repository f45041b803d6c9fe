import { randomBytes } from 'node:crypto'
import { type Clock, systemClock } from '../core/clock.ts'
import { failpoint } from '../core/log.ts'
import { moveFiles, stageFiles } from './apply-rollback.ts'
import { type ChangedFile, countChanges, diffOf, type FileDiff } from './changed-files.ts'
import { type ChangesOfWork, changesOf, isSnapshotId, type Work } from './changes-of-work.ts'
import { composeChanges } from './compose-changes.ts'
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
import { claimFolder, endJournal, journalOwners, readJournal, type Undoing, writeJournal } from './journal.ts'
import { type Entry, type PathState, readPathStates } from './path-states.ts'
import { type NamedChange, type NamedPlan, planRollback } from './plan-rollback.ts'
import type { Snapshot } from './snapshot.ts'
import { takeSnapshot } from './take-snapshot.ts'
import { ownerWord, ownsScript, shareScript, tidyScript } from './tidy.ts'
import { pathIn, remainsTrue, unkeptIn } from './unkept-files.ts'

export type { Work } from './changes-of-work.ts'
export { SnapshotsUnavailableError } from './git-runner.ts'
export type { Snapshot } from './snapshot.ts'

/** How much is kept of a folder. */
export interface SnapshotLimits {
  /** Larger files are left out, and named. Default 10 MB. */
  readonly maxFileBytes?: number
  /** A folder with more files, without ignored ones, gets no snapshot. Default 100,000. */
  readonly maxFiles?: number
  /** How many of the newest snapshots of a folder are kept. Default 500. */
  readonly keep?: number
  /** How much space the snapshots of a folder may take; the oldest are removed. Default 1 GB. */
  readonly maxBytes?: number
}

export interface FileSnapshotsOptions extends GitRunnerOptions, SnapshotLimits {
  readonly clock?: Clock
}

/** Snapshots of the files of a folder, and their rollback. */
export interface FileSnapshots {
  /** Takes a snapshot for a session. With `tidy`, old ones are removed that are beyond the limits. */
  take(options: TakeRequest): Promise<Snapshot | { readonly unavailable: string }>
  /** Whether a session has snapshots. */
  owns(owner: string): Promise<boolean>
  /** Keeps snapshots of other sessions for this one too. */
  share(ids: Iterable<string>, owner: string): Promise<void>
  /** The files that pieces of work changed, given oldest first; with what others changed between two pieces. */
  changes(work: readonly Work[]): Promise<readonly ChangedFile[]>
  /** The change of one of them; undefined if there is none. */
  diff(
    work: readonly Work[],
    options: { readonly path: string; readonly mostBytes: number },
  ): Promise<FileDiff | undefined>
  /** What `rollback` would do. */
  plan(work: readonly Work[], options?: { readonly force?: boolean }): Promise<RollbackPlan>
  /**
   * Undoes pieces of work, given oldest first. Files that were changed since are kept and reported; with `force` they are
   * restored too, and the snapshot `undo.before` has them. Until `end` a crash leaves a journal, by which `finish` goes on.
   */
  rollback(work: readonly Work[], options: RollbackRequest): Promise<RollbackResult>
  /** A rollback that a crash interrupted, or that was not begun; `undefined` if there is none. */
  interrupted(owner: string): Promise<{ readonly detail: unknown } | undefined>
  /** The owners of all rollbacks of the folder that are under way, or that a crash interrupted. */
  unfinished(): Promise<readonly string[]>
  /** Finishes a rollback that a crash interrupted. */
  finish(owner: string): Promise<RollbackResult>
  /** The rollback is recorded; its journal is removed. */
  end(owner: string): Promise<void>
}

interface TakeRequest {
  /** The id of the session that it belongs to. */
  readonly owner: string
  readonly tidy?: boolean
  readonly signal?: AbortSignal
}

interface RollbackRequest {
  readonly owner: string
  readonly force?: boolean
  /** Plain data, for `interrupted`. */
  readonly detail?: unknown
  /** Whether a process works on the session that has claimed the same folder: its rollback is under way, and this one is refused. */
  readonly isAtWork?: (owner: string) => Promise<boolean>
  /** Called with the snapshot from before, when everything is prepared and nothing is changed; if it rejects, nothing will be, and `end` is the caller's. */
  readonly commit?: (before: Snapshot) => Promise<void>
}

/** What a rollback would do, by paths in the folder; folders end with `/`. */
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
  /** The rollback as a piece of work: to undo it is to roll it back. */
  readonly undo: Work
}

/**
 * Snapshots are git objects in a private folder, kept by refs of their sessions. The repository of the folder is not
 * changed. Permissions other than the executable bit are not kept.
 */
export function createFileSnapshots(options: FileSnapshotsOptions): FileSnapshots {
  const { clock = systemClock } = options
  const limits = {
    maxFileBytes: wholeNumber('maxFileBytes', options.maxFileBytes ?? 10 * 1024 * 1024),
    maxFiles: wholeNumber('maxFiles', options.maxFiles ?? 100_000),
    keep: wholeNumber('keep', options.keep ?? 500),
    maxBytes: wholeNumber('maxBytes', options.maxBytes ?? 1024 ** 3),
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

  const snap = (owner: string, signal?: AbortSignal): Promise<Snapshot> =>
    takeSnapshot(git, { ...limits, now: clock.now(), owner: ownerWord(owner), token: newToken(), signal })

  async function take({ owner, tidy, signal }: TakeRequest): Promise<Snapshot> {
    const taken = await snap(owner, signal)
    if (tidy) await git.run(tidyScript(limits))
    return taken
  }

  async function composed(work: readonly Work[], force: boolean): Promise<Undoing> {
    const pieces: ChangesOfWork[] = []
    for (const one of work) pieces.push(await changesOf(git, one))
    const { changes, edited } = composeChanges(
      pieces.map((piece) => piece.changes),
      { force },
    )
    return {
      changes,
      edited,
      leftOut: pieces.flatMap(({ before }) => before.leftOut.map(([name]) => name)),
      unkept: unkeptIn(pieces),
      folders: { before: pieces[0]?.before.folders ?? [], after: pieces.at(-1)?.after.folders ?? [] },
    }
  }

  async function planned(undoing: Undoing, { saved, mark, begun = new Set() }: PlanOptions = {}): Promise<Planned> {
    const { changes, leftOut, unkept = [], folders, edited } = undoing
    const back = changes.filter((change) => change.before).map(({ name }) => name)
    const without = [...folders.before, ...folders.after].map((name) => name.slice(0, -1))
    const changed = new Set(changes.map(({ name }) => name))
    const left = unkept.filter(({ name }) => !changed.has(name))
    const names = new Set([...changed, ...back.flatMap(foldersAbove), ...without, ...left.map(pathIn)])
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
      return saved === 'any' || typeof there !== 'object' || isAt(there, saved.get(name))
    }
    const plan = planRollback({ changes, now, inFolders, leftOut, folders, begun, isForced })
    const conflicts = edited.map((name) => ({ name, why: 'others changed it between two pieces of work' }))
    const stays = left.filter((one) => remainsTrue(one, now))
    return { plan: { ...plan, conflicts: [...plan.conflicts, ...conflicts, ...stays] }, now }
  }

  async function filesUnder(name: GitName): Promise<GitName[]> {
    const script = 'xargs -0 sh -c \'find "$@" ! -type d -print0 2>/dev/null || :\' sh | hex\n'
    return hexNames(await git.run(script, { input: nulNames([`./${name}`]) }))
  }

  async function entriesOf({ tree }: Snapshot): Promise<ReadonlyMap<GitName, Entry>> {
    const lines = (await git.run(`ours ls-tree -r --full-tree ${tree}\n`)).split('\n')
    return new Map(lines.filter(Boolean).map(readTreeLine))
  }

  async function rollback(
    work: readonly Work[],
    { owner, force = false, detail, isAtWork = async () => false, commit }: RollbackRequest,
  ): Promise<RollbackResult> {
    await claimFolder(git, owner, isAtWork)
    const undoable = await snap(owner)
    const undoing = await composed(work, force)
    const saved = force ? await entriesOf(undoable) : undefined
    const mark = newToken()
    const { plan, now } = await planned(undoing, { saved, mark })
    const changes = [...plan.restore, ...plan.remove].map(({ name, before }) => {
      const there = now.get(name)
      return { name, ...(before && { before }), ...(typeof there === 'object' && { after: there }) }
    })
    failpoint('rollback.planned')
    await writeJournal(git, { owner, undo: undoable, detail, undoing: { ...undoing, changes } })
    failpoint('rollback.begun')
    await stageFiles(git, plan, owner).catch(async (error) => {
      await endJournal(git, owner).catch(() => {}) // the next run does it
      throw error
    })
    failpoint('rollback.staged')
    await commit?.(undoable)
    return apply(owner, { plan, now, mark, undoable })
  }

  async function apply(
    owner: string,
    { plan, now, mark, undoable }: Planned & { readonly mark: string; readonly undoable: Snapshot },
  ): Promise<RollbackResult> {
    await moveFiles(git, plan, { now, owner, mark })
    const all = [...plan.restore, ...plan.remove]
    const names = all.map(({ name }) => name)
    const then = await readPathStates(git, names, { ...limits, token: newToken() })
    // Behind a link that was restored, it is gone.
    const isGone = (name: GitName): boolean => foldersAbove(name).some((above) => typeof then.get(above) === 'object')
    const isBack = ({ name, before }: NamedChange) => isAt(then.get(name), before) || (!before && isGone(name))
    const after = await snap(owner)
    return {
      restored: [...plan.restore.filter(isBack).map(pathOf), ...plan.makeFolders.map(shownName)],
      deleted: [...plan.remove.filter(isBack).map(pathOf), ...plan.dropFolders.map(shownName)],
      conflicts: conflictsOf(plan),
      failed: all.filter((change) => !isBack(change)).map(pathOf),
      undo: { before: undoable, after },
    }
  }

  async function finish(owner: string): Promise<RollbackResult> {
    const journal = await readJournal(git, owner)
    if (!journal) throw new Error(`there is no rollback to finish for ${owner}`)
    const { undo, undoing } = journal
    const mark = newToken()
    const begun = new Set(undoing.changes.map(({ name }) => name))
    const { plan, now } = await planned(undoing, { mark, begun })
    await stageFiles(git, plan, owner)
    return apply(owner, { plan, now, mark, undoable: undo })
  }

  return {
    take: (request) =>
      serially(() =>
        take(request).catch((error) => {
          if (error instanceof SnapshotsUnavailableError) return { unavailable: error.message }
          throw error
        }),
      ),
    owns: (owner) => serially(async () => (await git.run(ownsScript(owner))) !== ''),
    share: (ids, owner) =>
      serially(async () => {
        const input = [...ids].filter(isSnapshotId).join('\n')
        await git.run(shareScript(owner), { input: `${input}\n` })
      }),
    changes: (work) => serially(async () => countChanges(git, (await composed(work, true)).changes, newToken())),
    diff: (work, { path, mostBytes }) =>
      serially(async () => {
        const change = (await composed(work, true)).changes.find((one) => pathOf(one) === path)
        return change && diffOf(git, change, { token: newToken(), mostBytes })
      }),
    plan: (work, { force = false } = {}) =>
      serially(async () => {
        const { plan } = await planned(await composed(work, force), force ? { saved: 'any' } : {})
        return {
          restore: [...plan.restore.map(pathOf), ...plan.makeFolders.map(shownName)],
          delete: [...plan.remove.map(pathOf), ...plan.dropFolders.map(shownName)],
          conflicts: conflictsOf(plan),
        }
      }),
    rollback: (work, request) => serially(() => rollback(work, request)),
    interrupted: (owner) => serially(() => readJournal(git, owner)),
    unfinished: () => serially(() => journalOwners(git)),
    finish: (owner) => serially(() => finish(owner)),
    end: (owner) => serially(() => endJournal(git, owner)),
  }
}

interface PlanOptions {
  /** What the snapshot taken before contains: files that were changed since are overwritten if it has them. */
  readonly saved?: ReadonlyMap<GitName, Entry> | 'any' | undefined
  readonly mark?: string
  readonly begun?: ReadonlySet<GitName>
}

interface Planned {
  readonly plan: NamedPlan
  readonly now: ReadonlyMap<GitName, PathState>
}

function wholeNumber(name: string, value: number): number {
  if (Number.isSafeInteger(value) && value > 0) return value
  throw new TypeError(`snapshots: ${name} must be a whole number above 0, got ${String(value)}`)
}

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

import type { GitName } from './git-runner.ts'

/** The files of a folder at one time. Plain data, which can be logged and used by another process. */
export interface Snapshot {
  /** A commit in the private git folder. */
  readonly id: string
  /** The git tree of the files. Snapshots of equal files have the same tree. */
  readonly tree: string
  readonly takenAt: number
  /** Where it was taken. */
  readonly folder: string
  /** The first files that are not in the snapshot. */
  readonly leftOut: readonly LeftOut[]
  readonly leftOutCount: number
}

/** A file that is not in a snapshot. */
export interface LeftOut {
  readonly path: string
  readonly why: string
}

export interface TakeOptions {
  readonly maxFiles: number
  readonly maxFileBytes: number
  readonly now: number
  /** The session that the snapshot belongs to, as a word for names of refs. */
  readonly owner: string
  /** For names of temporary files. */
  readonly token: string
  readonly signal?: AbortSignal | undefined
}

/** What a snapshot says about its folder besides the files in it. */
export interface SnapshotMeta {
  /** Files that existed but are not in the snapshot, and why: a rollback must leave them alone. Repositories end with `/`. */
  readonly leftOut: readonly (readonly [GitName, string])[]
  /** Folders without any file that is in the snapshot, each ended by `/`. */
  readonly folders: readonly GitName[]
}

/** Of a folder whose files are all in the snapshot. */
export const nothingElse: SnapshotMeta = { leftOut: [], folders: [] }

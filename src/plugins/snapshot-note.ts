import { isRecord } from '../core/is-record.ts'
import type { EntryBody } from '../core/log.ts'

const owner = 'workflow:snapshot'

/** What is noted of the files of a turn: what they were before it, and after it. */
export interface SnapshotNote {
  /** The user message that began the turn. */
  readonly messageId: string
  readonly folder: string
  readonly before?: NotedSnapshot
  readonly after?: NotedSnapshot
  readonly isRolledBack?: boolean
  /** With `isRolledBack`: later messages, of which the same is true with it. */
  readonly withIt?: readonly string[]
  /** Something could not be put back, or was not to be: it may be tried again. */
  readonly isPartial?: boolean
  /** With `isRolledBack`: what the files were before they were put back, and after. */
  readonly undo?: { readonly before: NotedSnapshot; readonly after: NotedSnapshot }
}

/** Plain data; what is in it is up to who takes snapshots. */
export interface NotedSnapshot {
  readonly id: string
}

/** As it is written into the log. */
export function snapshotEntry(note: SnapshotNote): EntryBody {
  return { type: 'state', owner, value: note }
}

/** As it is found there. */
export function snapshotOf(noteOwner: string, value: unknown): SnapshotNote | undefined {
  return noteOwner === owner && isNote(value) ? value : undefined
}

function isNote(value: unknown): value is SnapshotNote {
  return isRecord(value) && typeof value.messageId === 'string'
}

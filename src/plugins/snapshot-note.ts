import { isRecord } from '../core/is-record.ts'

const owner = 'workflow:snapshot'

/** What is noted of the files of a turn: what they were before it and after it, by folder. */
export interface SnapshotNote {
  /** The user message that began the turn. */
  readonly messageId: string
  readonly before?: Readonly<Record<string, string>>
  readonly after?: Readonly<Record<string, string>>
  readonly isRolledBack?: boolean
}

/** As it is written into the log. */
export function snapshotEntry(note: SnapshotNote): { type: 'state'; owner: string; value: SnapshotNote } {
  return { type: 'state', owner, value: note }
}

/** As it is found there. */
export function snapshotOf(noteOwner: string, value: unknown): SnapshotNote | undefined {
  if (noteOwner !== owner || !isRecord(value) || typeof value.messageId !== 'string') return undefined
  return value as unknown as SnapshotNote
}

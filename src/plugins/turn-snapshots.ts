import { isRecord } from '../core/is-record.ts'
import type { EntryBody } from '../core/log.ts'

const owner = 'workflow:snapshot'

/** The record of a log about the files of a turn: before it and after it. */
export interface SnapshotNote {
  /** The user message that began the turn. */
  readonly messageId: string
  readonly folder: string
  readonly before?: NotedSnapshot
  readonly after?: NotedSnapshot
  readonly isRolledBack?: boolean
  /** With `isRolledBack`: later messages that were rolled back, or restored, together with this one. */
  readonly withIt?: readonly string[]
  /** Some files were not restored; the rollback may be tried again. */
  readonly isPartial?: boolean
  /** With `isRolledBack`: the files before and after the rollback. */
  readonly undo?: { readonly before: NotedSnapshot; readonly after: NotedSnapshot }
}

/** Plain data; its other fields are known to the code that takes snapshots. */
export interface NotedSnapshot {
  readonly id: string
  readonly folder?: string
  readonly ref?: string
}

export function snapshotEntry(note: SnapshotNote): EntryBody {
  return { type: 'state', owner, value: note }
}

export function snapshotOf(noteOwner: string, value: unknown): SnapshotNote | undefined {
  return noteOwner === owner && isNote(value) ? value : undefined
}

function isNote(value: unknown): value is SnapshotNote {
  return isRecord(value) && typeof value.messageId === 'string'
}

/** The files before and after the work on one message. */
export interface MessageSnapshots extends Pick<SnapshotNote, 'before' | 'after'> {
  readonly messageId: string
  /** The message to before which the files were rolled back, and whether some were not restored. */
  readonly rolledBack: { readonly to: string; readonly isPartial: boolean } | undefined
}

/** The snapshots that a log names, by message. A rewind of the log does not change them. */
export class TurnSnapshots {
  /** Oldest first. */
  readonly #files = new Map<string, Pick<MessageSnapshots, 'before' | 'after'>>()
  readonly #undos = new Map<string, SnapshotNote['undo']>()
  readonly #rolledBack = new Map<string, NonNullable<MessageSnapshots['rolledBack']>>()

  /** The snapshots of a message and of all later ones, oldest first. */
  since(messageId: string): readonly MessageSnapshots[] {
    const ids = [...this.#files.keys()]
    const since = ids.includes(messageId) ? ids.slice(ids.indexOf(messageId)) : []
    return since.map((id) => ({ ...this.#files.get(id), messageId: id, rolledBack: this.#rolledBack.get(id) }))
  }

  /** The files before and after the rollback to before a message. */
  undoOf(messageId: string): SnapshotNote['undo'] {
    return this.#undos.get(messageId)
  }

  /** The last message that has snapshots. */
  get lastMessageId(): string | undefined {
    return [...this.#files.keys()].at(-1)
  }

  apply({ messageId, before, after, isRolledBack, undo, withIt = [], isPartial = false }: SnapshotNote): void {
    if (before || after)
      this.#files.set(messageId, { ...this.#files.get(messageId), ...(before && { before }), ...(after && { after }) })
    if (after) this.#endRollback(messageId)
    if (isRolledBack === undefined) return
    this.#undos.set(messageId, undo)
    for (const id of [messageId, ...withIt]) {
      if (isRolledBack) this.#rolledBack.set(id, { to: messageId, isPartial })
      else this.#rolledBack.delete(id)
    }
  }

  /** After work without a new message, as by a schedule, the restored files may have been changed again. */
  #endRollback(messageId: string): void {
    const to = this.#rolledBack.get(messageId)?.to
    for (const [id, rollback] of this.#rolledBack) if (rollback.to === to) this.#rolledBack.delete(id)
  }
}

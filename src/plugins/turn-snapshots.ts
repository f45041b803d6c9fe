import type { SnapshotNote } from './snapshot-note.ts'

/** The files around the work on one message. */
export interface KeptFiles extends Pick<SnapshotNote, 'before' | 'after'> {
  readonly messageId: string
  /** Where they were put back: by the rollback to before which message, and whether all of them were. */
  readonly wentBack: { readonly to: string; readonly isPartial: boolean } | undefined
}

/** What a log says of files, message by message. Words that are taken back leave it as it is. */
export class TurnSnapshots {
  /** Oldest first. */
  readonly #files = new Map<string, Pick<KeptFiles, 'before' | 'after'>>()
  readonly #undos = new Map<string, SnapshotNote['undo']>()
  readonly #wentBack = new Map<string, NonNullable<KeptFiles['wentBack']>>()

  /** What is known of the files around the work on a message, and on all that came after it, oldest first. */
  since(messageId: string): readonly KeptFiles[] {
    const ids = [...this.#files.keys()]
    const since = ids.includes(messageId) ? ids.slice(ids.indexOf(messageId)) : []
    return since.map((id) => ({ ...this.#files.get(id), messageId: id, wentBack: this.#wentBack.get(id) }))
  }

  /** What the files were before they were put back to before a message, and after. */
  undoOf(messageId: string): SnapshotNote['undo'] {
    return this.#undos.get(messageId)
  }

  /** The last message with which files were kept. */
  get lastMessageId(): string | undefined {
    return [...this.#files.keys()].at(-1)
  }

  apply({ messageId, before, after, isRolledBack, undo, withIt = [], isPartial = false }: SnapshotNote): void {
    if (before || after)
      this.#files.set(messageId, { ...this.#files.get(messageId), ...(before && { before }), ...(after && { after }) })
    if (after) this.#goOnAfter(messageId)
    if (isRolledBack === undefined) return
    this.#undos.set(messageId, undo)
    for (const id of [messageId, ...withIt]) {
      if (isRolledBack) this.#wentBack.set(id, { to: messageId, isPartial })
      else this.#wentBack.delete(id)
    }
  }

  /** Work without a new message, as when it was woken: files that went back may have been changed again. */
  #goOnAfter(messageId: string): void {
    const to = this.#wentBack.get(messageId)?.to
    for (const [id, back] of this.#wentBack) if (back.to === to) this.#wentBack.delete(id)
  }
}

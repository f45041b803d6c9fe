import { messageOf } from '../core/errors.ts'
import type { EntryBody } from '../core/log.ts'
import type { SessionTurn } from '../core/turn.ts'
import type { MessageProjection } from '../plugins/message-projection.ts'
import { snapshotEntry } from '../plugins/snapshot-note.ts'
import type { FileHistory } from './file-history.ts'
import type { RollbackPlan, RollbackResult, Snapshot } from './rollback/file-snapshots.ts'

export interface TurnFilesOptions {
  /** Absent where nobody wants to go back. */
  readonly files: FileHistory | undefined
  readonly messages: MessageProjection
  readonly onError: (error: Error) => void
}

/** Adds to the log. */
type Note = (entry: EntryBody) => Promise<void> | void

/** What the files of one agent were before and after each message, as its log tells, and the way back. */
export class TurnFiles {
  readonly #options: TurnFilesOptions
  #before: Snapshot | undefined

  constructor(options: TurnFilesOptions) {
    this.#options = options
  }

  /** Before anything is done about a message. */
  async look(): Promise<void> {
    this.#before = await this.#options.files?.take()
  }

  /** With the message itself: the log has it before anything is done about it. */
  async keepBefore(turns: readonly SessionTurn[], note: Note): Promise<void> {
    const before = this.#before
    const [turn] = turns.filter(({ role }) => role === 'user')
    if (!before || !turn) return
    this.#before = undefined
    await note(snapshotEntry({ messageId: turn.id, folder: '.', before }))
  }

  /** When all is done. */
  async keepAfter(note: Note): Promise<void> {
    const { files, messages, onError } = this.#options
    const said = files && messages.messages.findLast(({ id }) => messages.filesBefore(id))
    const after = said && (await files.take())
    if (!said || !after) return
    try {
      await note(snapshotEntry({ messageId: said.id, folder: '.', after }))
    } catch (error) {
      onError(error instanceof Error ? error : new Error(messageOf(error)))
    }
  }

  /** What `rollback` would do. */
  async plan(messageId: string): Promise<RollbackPlan> {
    const { files, before, after } = this.#wayBack(messageId)
    return files.plan(before, after)
  }

  /** Puts the files back to what they were before a message. What somebody changed since is kept, and reported. */
  async rollback(
    messageId: string,
    { force, note }: { readonly force: boolean; readonly note: Note },
  ): Promise<RollbackResult> {
    const { files, before, after } = this.#wayBack(messageId)
    const result = await files.rollback({ before, after, force })
    const now = await files.take()
    await note(snapshotEntry({ messageId, folder: '.', isRolledBack: true, ...(now && { after: now }) }))
    return result
  }

  #wayBack(messageId: string): { readonly files: FileHistory; readonly before: Snapshot; readonly after: Snapshot } {
    const { files, messages } = this.#options
    if (!files) throw new Error('files are not kept here; pass createWorkflow({ snapshots: {} })')
    const [before, after] = [messages.filesBefore(messageId), messages.filesAfter]
    if (!before || !after)
      throw new Error(
        `there is no way back to before the message "${messageId}": ${files.unavailable ?? 'its files were not kept'}`,
      )
    return { files, before: before as Snapshot, after: after as Snapshot }
  }
}

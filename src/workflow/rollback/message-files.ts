import { AgentError, messageOf } from '../../core/errors.ts'
import type { EntryBody } from '../../core/log.ts'
import type { SessionTurn } from '../../core/turn.ts'
import type { MessageSnapshots, TurnSnapshots } from '../../plugins/turn-snapshots.ts'
import { snapshotEntry } from '../../plugins/turn-snapshots.ts'
import type { FileHistory } from '../../snapshots/file-history.ts'
import type { RollbackPlan, RollbackResult, Snapshot, Work } from '../../snapshots/file-snapshots.ts'

interface MessageFilesOptions {
  readonly agentId: string
  /** Absent without the option `snapshots`. */
  readonly files: FileHistory | undefined
  /** The snapshots that the log of the agent names. */
  readonly recorded: TurnSnapshots
  readonly onError: (error: Error) => void
}

/** Appends to the log. */
type Append = (entry: EntryBody) => Promise<void> | void

/** The files of one agent before and after each message, and their rollback. */
export class MessageFiles {
  readonly #options: MessageFilesOptions
  #before: Snapshot | undefined

  constructor(options: MessageFilesOptions) {
    this.#options = options
  }

  /** Takes the snapshot before the work on a message. */
  async takeBefore(): Promise<void> {
    this.#before = await this.#options.files?.take({ owner: this.#options.agentId })
  }

  /** Logs that snapshot together with the message. */
  async recordBefore(turns: readonly SessionTurn[], append: Append): Promise<void> {
    const before = this.#before
    const [turn] = turns.filter(({ role }) => role === 'user')
    if (!before || !turn) return
    this.#before = undefined
    await append(snapshotEntry({ messageId: turn.id, folder: '.', before }))
  }

  /** Takes and logs the snapshot after the work on a message. */
  async recordAfter(append: Append): Promise<void> {
    const { files, recorded, onError, agentId } = this.#options
    const messageId = files && recorded.lastMessageId
    const after = messageId === undefined ? undefined : await files?.take({ owner: agentId, tidy: true })
    if (messageId === undefined || !after) return
    try {
      await append(snapshotEntry({ messageId, folder: '.', after }))
    } catch (error) {
      onError(error instanceof Error ? error : new Error(messageOf(error)))
    }
  }

  /** Whether a crash interrupted a rollback of this agent. */
  async isInterrupted(): Promise<boolean> {
    const { files, agentId } = this.#options
    try {
      return (await (await files?.snapshots())?.interrupted(agentId)) !== undefined
    } catch {
      return false // the next snapshot says why there is none
    }
  }

  /** Finishes a rollback that a crash interrupted, and says so: until then some files are old, and some are new. */
  async finishInterrupted(append: Append): Promise<FinishedRollback | undefined> {
    const { agentId: owner, onError } = this.#options
    if (!(await this.isInterrupted())) return undefined
    const snapshots = await this.#history().snapshots()
    const mark = (await snapshots.interrupted(owner))?.detail as RollbackMark
    const result = await snapshots.finish(owner)
    await append(markEntry(mark, result))
    await snapshots.end(owner)
    const what = mark.isRolledBack ? 'a rollback' : 'the undo of a rollback'
    const paths = result.restored.length + result.deleted.length
    onError(new Error(`${what} of agent ${owner} was interrupted, and is finished now; paths restored: ${paths}`))
    return { ...mark, result }
  }

  /** What `rollback` would do. */
  async plan(messageId: string): Promise<RollbackPlan> {
    const { turns } = await this.#messagesSince(messageId, { force: false })
    return (await this.#history().snapshots()).plan(turns)
  }

  /**
   * Restores the files from before a message: undoes what the agent changed with each later message, the last first.
   * Changes of others are kept, and reported if the agent had changed the same file.
   */
  async rollback(
    messageId: string,
    { force, append }: { readonly force: boolean; readonly append: Append },
  ): Promise<RollbackResult> {
    const finished = await this.finishInterrupted(append)
    if (finished?.isRolledBack && finished.messageId === messageId) return finished.result
    const { turns, withIt } = await this.#messagesSince(messageId, { force })
    return this.#apply({ messageId, isRolledBack: true, withIt }, turns, { force, append })
  }

  /** Undoes a rollback, with all that it overwrote. */
  async undo(
    messageId: string,
    { force, append }: { readonly force: boolean; readonly append: Append },
  ): Promise<RollbackResult> {
    const finished = await this.finishInterrupted(append)
    if (finished && !finished.isRolledBack && finished.messageId === messageId) return finished.result
    const { recorded } = this.#options
    this.#history()
    const undo = recorded.undoOf(messageId)
    const since = recorded.since(messageId)
    if (!undo) {
      checkNotWithOther(messageId, since)
      throw new RollbackError(
        'nothing_to_undo',
        `the files were not rolled back to before the message "${messageId}"; there is nothing to undo`,
      )
    }
    const work = { before: undo.before as Snapshot, after: undo.after as Snapshot }
    const withIt = since.slice(1).filter(({ rolledBack }) => rolledBack?.to === messageId)
    const mark = { messageId, isRolledBack: false, withIt: withIt.map((one) => one.messageId) }
    return this.#apply(mark, [work], { force, append })
  }

  async #apply(
    mark: RollbackMark,
    work: readonly Work[],
    { force, append }: { readonly force: boolean; readonly append: Append },
  ): Promise<RollbackResult> {
    const { agentId: owner } = this.#options
    const snapshots = await this.#history().snapshots()
    const result = await snapshots.rollback(work, { owner, force, detail: mark })
    await append(markEntry(mark, result))
    await snapshots.end(owner)
    return result
  }

  #history(): FileHistory {
    const { files } = this.#options
    if (!files) throw new Error('files are not kept here; pass createWorkflow({ snapshots: {} })')
    return files
  }

  async #messagesSince(messageId: string, { force }: { readonly force: boolean }): Promise<RollbackScope> {
    const { recorded } = this.#options
    const files = this.#history()
    const refused = `the files cannot be rolled back to before the message "${messageId}"`
    const known = recorded.since(messageId)
    if (known.length === 0)
      throw new RollbackError('not_kept', `${refused}: ${files.unavailable ?? 'its files were not kept'}`)
    const isRolledBack = known.every(({ rolledBack }) => rolledBack)
    if (isRolledBack) checkNotWithOther(messageId, known)
    if (isRolledBack && !force && !known[0]!.rolledBack!.isPartial)
      throw new RollbackError(
        'already_back',
        `the files were already rolled back to before the message "${messageId}"; to do it again, use force`,
      )
    const isDone = ({ rolledBack }: MessageSnapshots): boolean => !force && rolledBack?.isPartial === false
    const turns: Work[] = []
    for (const [i, one] of known.entries()) {
      const { before, after } = one
      if (isDone(one)) continue
      // The files before the next message have what others changed since.
      const end =
        after ?? (force ? (known[i + 1]?.before ?? (await files.take({ owner: this.#options.agentId }))) : undefined)
      if (!before || !end)
        throw new RollbackError(
          'cut_off',
          `${refused}: the changes of the last message are not known, because its work was cut off; use force`,
        )
      turns.push({ before: before as Snapshot, after: end as Snapshot })
    }
    const later = known.slice(1).filter(({ rolledBack }) => !rolledBack || rolledBack.to === messageId)
    return { turns, withIt: later.map((one) => one.messageId) }
  }
}

/** A rollback, or its undo, as its journal and the log name it. */
interface RollbackMark {
  readonly messageId: string
  readonly isRolledBack: boolean
  readonly withIt: readonly string[]
}

interface FinishedRollback extends RollbackMark {
  readonly result: RollbackResult
}

function markEntry(mark: RollbackMark, { conflicts, failed, undo }: RollbackResult): EntryBody {
  const isPartial = conflicts.length + failed.length > 0
  return snapshotEntry({ ...mark, folder: '.', ...(mark.isRolledBack && { isPartial, undo }) })
}

interface RollbackScope {
  /** Oldest first. */
  readonly turns: readonly Work[]
  /** Later messages whose files are restored together with those of the given one. */
  readonly withIt: readonly string[]
}

function checkNotWithOther(messageId: string, [own]: readonly MessageSnapshots[]): void {
  const to = own?.rolledBack?.to ?? messageId
  if (to === messageId) return
  throw new RollbackError(
    'with_another',
    `the files were already rolled back to before the message "${to}", including the changes of the message "${messageId}"; undoRollback with "${to}" undoes that`,
  )
}

/** A rollback, or its undo, was refused. Nothing was changed. */
export class RollbackError extends AgentError {
  /**
   * `not_kept`: there is no snapshot from before that message. `already_back`: it was rolled back before. `with_another`: it
   * was rolled back with an earlier message. `cut_off`: there is no snapshot after the last work. `nothing_to_undo`: it was
   * never rolled back. With `force`, `already_back` and `cut_off` do not refuse.
   */
  readonly code: 'not_kept' | 'already_back' | 'with_another' | 'cut_off' | 'nothing_to_undo'
  constructor(code: RollbackError['code'], message: string) {
    super(message)
    this.code = code
  }
}

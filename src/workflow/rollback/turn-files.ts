import { messageOf } from '../../core/errors.ts'
import type { EntryBody } from '../../core/log.ts'
import type { SessionTurn } from '../../core/turn.ts'
import { snapshotEntry } from '../../plugins/snapshot-note.ts'
import type { KeptFiles, TurnSnapshots } from '../../plugins/turn-snapshots.ts'
import type { FileHistory } from './file-history.ts'
import type { RollbackPlan, RollbackResult, Snapshot } from './file-snapshots.ts'
import { planTurns, type WholeTurn } from './plan-turns.ts'
import { RollbackError } from './rollback-error.ts'

export interface TurnFilesOptions {
  /** Absent where nobody wants to go back. */
  readonly files: FileHistory | undefined
  /** What the log of the agent says of them. */
  readonly noted: TurnSnapshots
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
    const { files, noted, onError } = this.#options
    const messageId = files && noted.lastMessageId
    const after = messageId === undefined ? undefined : await files?.take()
    if (messageId === undefined || !after) return
    try {
      await note(snapshotEntry({ messageId, folder: '.', after }))
    } catch (error) {
      onError(error instanceof Error ? error : new Error(messageOf(error)))
    }
  }

  /** What `rollback` would do. */
  async plan(messageId: string): Promise<RollbackPlan> {
    const { files, turns } = await this.#wayBack(messageId, { force: false })
    return planTurns(files, turns)
  }

  /**
   * Puts the files back to what they were before a message: what the agent changed with each message since, from the last
   * on. What somebody else changed is kept, and reported where the agent had changed it too.
   */
  async rollback(
    messageId: string,
    { force, note }: { readonly force: boolean; readonly note: Note },
  ): Promise<RollbackResult> {
    const { files, turns, withIt } = await this.#wayBack(messageId, { force })
    const results: RollbackResult[] = []
    for (const turn of turns.toReversed()) results.push(await files.rollback({ ...turn, force }))
    const result = allTogether(results)
    const isPartial = result.conflicts.length + result.failed.length > 0
    await note(snapshotEntry({ messageId, folder: '.', isRolledBack: true, withIt, isPartial, undo: result.undo }))
    return result
  }

  /** Takes a rollback back: what it put back is as it was before, also what it was forced to overwrite. */
  async undo(
    messageId: string,
    { force, note }: { readonly force: boolean; readonly note: Note },
  ): Promise<RollbackResult> {
    const { noted } = this.#options
    const files = this.#kept()
    const undo = noted.undoOf(messageId)
    const since = noted.since(messageId)
    if (!undo) {
      refuseOfOther(messageId, since)
      throw new RollbackError(
        'nothing_to_undo',
        `the files were not put back to before the message "${messageId}"; nothing is to be undone`,
      )
    }
    const result = await files.rollback({ before: undo.before as Snapshot, after: undo.after as Snapshot, force })
    const withIt = since.slice(1).filter(({ wentBack }) => wentBack?.to === messageId)
    await note(
      snapshotEntry({ messageId, folder: '.', isRolledBack: false, withIt: withIt.map((one) => one.messageId) }),
    )
    return result
  }

  #kept(): FileHistory {
    const { files } = this.#options
    if (!files) throw new Error('files are not kept here; pass createWorkflow({ snapshots: {} })')
    return files
  }

  async #wayBack(messageId: string, { force }: { readonly force: boolean }): Promise<WayBack> {
    const { noted } = this.#options
    const files = this.#kept()
    const noWay = `there is no way back to before the message "${messageId}"`
    const known = noted.since(messageId)
    if (known.length === 0)
      throw new RollbackError('not_kept', `${noWay}: ${files.unavailable ?? 'its files were not kept'}`)
    const isBack = known.every(({ wentBack }) => wentBack)
    if (isBack) refuseOfOther(messageId, known)
    if (isBack && !force && !known[0]!.wentBack!.isPartial)
      throw new RollbackError(
        'already_back',
        `the files went back to before the message "${messageId}" already; to do it once more, use force`,
      )
    const isDone = ({ wentBack }: KeptFiles): boolean => !force && wentBack?.isPartial === false
    const turns: WholeTurn[] = []
    for (const [i, one] of known.entries()) {
      const { before, after = known[i + 1]?.before } = one
      if (isDone(one)) continue
      const end = after ?? (force ? await files.take() : undefined)
      if (!before || !end)
        throw new RollbackError(
          'cut_off',
          `${noWay}: what the work on the last message changed is not known, because it was cut off; use force`,
        )
      turns.push({ before: before as Snapshot, after: end as Snapshot })
    }
    const later = known.slice(1).filter(({ wentBack }) => !wentBack || wentBack.to === messageId)
    return { files, turns, withIt: later.map((one) => one.messageId) }
  }
}

interface WayBack {
  readonly files: FileHistory
  /** Oldest first. */
  readonly turns: readonly WholeTurn[]
  /** Later messages whose files go back with those of the one that is meant. */
  readonly withIt: readonly string[]
}

function refuseOfOther(messageId: string, [own]: readonly KeptFiles[]): void {
  const to = own?.wentBack?.to ?? messageId
  if (to === messageId) return
  throw new RollbackError(
    'with_another',
    `the files went back to before the message "${to}" already, and what the message "${messageId}" changed went with it; undoRollback with "${to}" takes that back`,
  )
}

/** The results of several rollbacks, one after the other, as one. */
function allTogether(results: readonly RollbackResult[]): RollbackResult {
  const kinds = new Map<string, 'restored' | 'deleted'>()
  for (const { restored, deleted } of results) {
    for (const path of restored) kinds.set(path, 'restored')
    for (const path of deleted) kinds.set(path, 'deleted')
  }
  const all = (wanted: string): string[] => [...kinds].flatMap(([path, kind]) => (kind === wanted ? [path] : []))
  const conflicts = new Map(results.flatMap((one) => one.conflicts.map((conflict) => [conflict.path, conflict])))
  return {
    restored: all('restored'),
    deleted: all('deleted'),
    conflicts: [...conflicts.values()],
    failed: [...new Set(results.flatMap(({ failed }) => failed))],
    undo: { before: results[0]!.undo.before, after: results.at(-1)!.undo.after },
  }
}

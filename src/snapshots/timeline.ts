import { checkedAs, isRecord } from '../core/is-record.ts'
import type { EntryBody, LogEntry } from '../core/log.ts'
import type { Snapshot, Work } from './file-snapshots.ts'
import { RollbackRefusedError } from './rollback-error.ts'

/** What can be undone. */
export type RollbackScope = 'files' | 'conversation' | 'both'

/** What a log says about files, in `state` entries. */
export type SnapshotNote =
  /** Before the prompt of a run, before a call, or after the run. */
  | { readonly moment: 'prompt' | 'call' | 'end'; readonly snapshot: Snapshot }
  /** From here to the end of the run there are no snapshots. */
  | { readonly unavailable: string }
  /** A rollback began: the conversation is rewound with the same append, the files follow. */
  | { readonly rollback: BegunRollback }
  /** Its files are done. */
  | { readonly done: string; readonly after: Snapshot }

export interface BegunRollback {
  readonly id: string
  /** The number of the last entry that is kept. */
  readonly to: number
  readonly scope: RollbackScope
  /** The files before it; absent if it is about the conversation alone. */
  readonly before?: Snapshot
  /** So many turns came back with the same append; without it the conversation was rewound. */
  readonly added?: number
}

const owner = 'snapshot'

export const noteEntry = (note: SnapshotNote): EntryBody => ({ type: 'state', owner, value: note })

/** A piece of work in a session: a run, or a rollback. */
interface Piece {
  readonly seq: number
  readonly at: number
  /** In their order; none for a rollback. */
  readonly notes: { readonly seq: number; readonly note: SnapshotNote }[]
  readonly rollback?: BegunRollback
  /** The number of the entry with which a run ended. */
  end?: number
  after?: Snapshot
}

/** The work of a session on files, and its rollbacks, in the order of the log. */
export class Timeline {
  readonly pieces: Piece[] = []
  /** The number of the last turn. */
  lastTurn = 0
  /** The number of the rewind of each rollback. */
  readonly #rewinds = new Map<string, number>()
  /** The number that each turn had first, by its id and by the numbers under which undos brought it back. */
  readonly #firstById = new Map<string, number>()
  readonly #firstBySeq = new Map<number, number>()

  static async read(entries: AsyncIterable<LogEntry>): Promise<Timeline> {
    const timeline = new Timeline()
    for await (const entry of entries) timeline.apply(entry)
    return timeline
  }

  apply(entry: LogEntry): void {
    const { seq, at } = entry
    const last = this.pieces.at(-1)
    if (entry.type === 'turn') this.#noteTurn(entry.turn.id, seq)
    if (entry.type === 'run_started') this.pieces.push({ seq, at, notes: [] })
    if (entry.type === 'run_ended' && last && !last.rollback) last.end = seq
    if (entry.type === 'rewind' && last?.rollback?.to === entry.toSeq) this.#rewinds.set(last.rollback.id, seq)
    if (entry.type !== 'state' || entry.owner !== owner || !isRecord(entry.value)) return
    const note = checkedAs<SnapshotNote>(entry.value)
    if ('rollback' in note) this.pieces.push({ seq, at, notes: [], rollback: note.rollback })
    else if ('done' in note) {
      const piece = this.pieces.findLast(({ rollback }) => rollback?.id === note.done)
      if (piece) piece.after = note.after
    } else if (last && !last.rollback) {
      last.notes.push({ seq, note })
      if ('moment' in note && note.moment === 'end') last.after = note.snapshot
    }
  }

  #noteTurn(id: string, seq: number): void {
    this.lastTurn = seq
    const first = this.#firstById.get(id)
    if (first === undefined) this.#firstById.set(id, seq)
    else this.#firstBySeq.set(seq, first)
  }

  /** The folder of the last snapshot. */
  get folder(): string | undefined {
    for (const { notes, rollback } of this.pieces.toReversed()) {
      const last = notes.findLast(({ note }) => 'snapshot' in note)?.note
      const folder = rollback?.before?.folder ?? (last && 'snapshot' in last ? last.snapshot.folder : undefined)
      if (folder !== undefined) return folder
    }
    return undefined
  }

  /** The last snapshot that a run took. */
  get latest(): Snapshot | undefined {
    const notes = this.pieces.flatMap((piece) => piece.notes.map(({ note }) => note))
    const last = notes.findLast((note) => 'snapshot' in note)
    return last && 'snapshot' in last ? last.snapshot : undefined
  }

  /** The ids of all snapshots. */
  get snapshotIds(): ReadonlySet<string> {
    const all = this.pieces.flatMap(({ notes, rollback, after }) => [
      ...notes.map(({ note }) => ('snapshot' in note ? note.snapshot : undefined)),
      rollback?.before,
      after,
    ])
    return new Set(all.flatMap((one) => (one ? [one.id] : [])))
  }

  /** The last run has no end: it is under way, or its process died. */
  get isOpen(): boolean {
    const last = this.pieces.at(-1)
    return last !== undefined && !last.rollback && last.end === undefined
  }

  /** The last rollback has not restored all files: it is under way, or its process died. */
  get isRollingBack(): boolean {
    const last = this.pieces.at(-1)
    return last?.rollback?.before !== undefined && !last.after
  }

  /** Why the last run that could take no snapshot took none. */
  get unavailable(): string | undefined {
    return this.pieces.map(reasonIn).findLast((why) => why !== undefined)
  }

  rollbackOf(id: string): Piece | undefined {
    return this.pieces.find(({ rollback }) => rollback?.id === id)
  }

  rewindOf(id: string): number | undefined {
    return this.#rewinds.get(id)
  }

  get lastRollback(): Piece | undefined {
    return this.pieces.findLast(({ rollback }) => rollback)
  }

  /**
   * The work on files after an entry, oldest first. With `now`, work that was cut off lasts until the next work, or until
   * then.
   */
  workAfter(to: number, now?: Snapshot): readonly Work[] {
    // The work for a turn that an undo brought back stands where the turn was first.
    const seq = (this.#firstBySeq.get(to + 1) ?? to + 1) - 1
    return this.pieces.flatMap((piece, i) => {
      if (piece.rollback) return piece.seq > seq ? rollbackWork(piece, now) : []
      const isOver = (piece.end ?? this.pieces[i + 1]?.seq ?? Number.POSITIVE_INFINITY) <= seq
      const before = isOver ? undefined : firstAfter(piece, seq)
      if (!before) return []
      // The files before the next work have what others changed since.
      const isKnown = now !== undefined || this.#isUndone(piece, i)
      const after = piece.after ?? (isKnown ? (firstOf(this.pieces.slice(i + 1)) ?? now) : undefined)
      if (after) return [{ before, after }]
      const why = reasonIn(piece)
      throw new RollbackRefusedError(
        'cut_off',
        `${why === undefined ? 'a run was cut off' : `no snapshot could be taken at the end of a run (${why})`}, so the changes since its last snapshot may be its own or those of others; with force all of them are undone`,
      )
    })
  }

  /** A rollback, by force, has undone all until then, and what it undid was not brought back. */
  #isUndone(piece: Piece, at: number): boolean {
    const later = this.pieces.slice(at + 1)
    const isBroughtBack = ({ seq }: Piece): boolean =>
      later.some((one) => one.seq > seq && one.rollback && one.rollback.to < seq)
    return later.some(
      (one) => one.rollback?.before && firstAfter(piece, one.rollback.to) !== undefined && !isBroughtBack(one),
    )
  }
}

const rollbackWork = ({ rollback, after: end }: Piece, now?: Snapshot): readonly Work[] => {
  const after = end ?? now
  return rollback?.before && after ? [{ before: rollback.before, after }] : []
}

/** The files at the first moment of a run after an entry; undefined if it changed no files after that entry. */
function firstAfter(piece: Piece, seq: number): Snapshot | undefined {
  const { notes } = piece
  const why = reasonIn(piece)
  const first = notes.find((one) => one.seq > seq && 'moment' in one.note)?.note
  if (!first && why !== undefined) throw new RollbackRefusedError('not_kept', `the files were not kept there: ${why}`)
  // Calls are noted before they are made, and so is why none was noted.
  const hasCalls = notes.some(({ seq: at, note }) => at > seq && !('moment' in note && note.moment === 'prompt'))
  return hasCalls && first && 'snapshot' in first ? first.snapshot : undefined
}

/** Why no snapshots were taken in the rest of a run. */
function reasonIn({ notes }: Piece): string | undefined {
  const last = notes.findLast(({ note }) => 'unavailable' in note)?.note
  return last && 'unavailable' in last ? last.unavailable : undefined
}

function firstOf(pieces: readonly Piece[]): Snapshot | undefined {
  for (const { notes, rollback } of pieces) {
    const first = rollback?.before ?? notes.flatMap(({ note }) => ('snapshot' in note ? [note.snapshot] : []))[0]
    if (first) return first
  }
  return undefined
}

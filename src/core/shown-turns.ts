import { withInterruptionNote } from './interruption-note.ts'
import type { EntryOf } from './log.ts'
import { Pairs } from './pairing.ts'
import type { Message, SessionContentBlock, SessionTurn } from './turn.ts'

/** A turn as the model gets it. */
export interface ShownTurn {
  readonly id: string
  readonly role: SessionTurn['role']
  /** The number of the entry that completed it. */
  readonly seq: number
  /** A `context_edit` names a block by its index in this list. Undefined for a hidden block. */
  readonly blocks: readonly (SessionContentBlock | undefined)[]
}

/** All turns of a conversation, with the number of the entry that completed each of them. */
interface Turns {
  readonly turns: readonly SessionTurn[]
  readonly seqs: readonly number[]
}

type ContextEdit = EntryOf<'context_edit'>
type Compaction = EntryOf<'compaction'>

/** What models get of a conversation: its turns, changed by compactions, edits and interruptions. */
export class ShownTurns {
  compactions: Compaction[] = []
  edits: ContextEdit[] = []
  hasInterrupted = false
  readonly #views = new Map<string, View>()

  /** The summary that replaces the beginning of the conversation, if there is one. */
  get compaction(): Compaction | undefined {
    return this.compactions.at(-1)
  }

  /** An interrupted turn is shown with a note, so from now on the list of turns itself cannot be sent. */
  noteInterrupted(): void {
    this.hasInterrupted = true
  }

  compact(entry: Compaction): void {
    this.compactions.push(entry)
    this.#views.clear()
  }

  edit(entry: ContextEdit): void {
    this.edits.push(entry)
    this.#views.clear()
  }

  /** How many turns the summary replaces. */
  countReplaced({ seqs }: Turns): number {
    const { toSeq } = this.compaction ?? {}
    return toSeq === undefined ? 0 : seqs.findLastIndex((seq) => seq <= toSeq) + 1
  }

  rewind(toSeq: number): void {
    this.edits = this.edits.filter((edit) => edit.seq <= toSeq)
    this.compactions = this.compactions.filter((compaction) => compaction.seq <= toSeq)
    this.#views.clear()
  }

  /** The messages for a model: the list of turns itself, unless something in it was compacted, edited or interrupted. */
  messagesFor(provider: string, all: Turns): readonly Message[] {
    const { turns } = all
    if (this.compactions.length === 0 && this.edits.length === 0 && !this.hasInterrupted) return turns
    let view = this.#views.get(provider)
    if (!view) this.#views.set(provider, (view = this.#newView(provider, all)))
    for (; view.next < turns.length; view.next++) view.pairs.add(edited(turns[view.next]!, view.edits))
    return view.pairs.messages
  }

  /** The turns after the summary. A call among them may still lack its result. */
  turnsFor(provider: string, all: Turns): ShownTurn[] {
    const { next, edits } = this.#newView(provider, all)
    return all.turns.slice(next).map((turn, i) => ({
      id: turn.id,
      role: turn.role,
      seq: all.seqs[next + i]!,
      blocks: editedBlocks(turn, edits.get(turn.id)),
    }))
  }

  /** The kind of the latest change after entry `seq`. */
  changeAfter(seq: number): string | undefined {
    if (this.compactions.some((entry) => entry.seq > seq)) return 'compaction'
    return this.edits.some((entry) => entry.seq > seq) ? 'context edit' : undefined
  }

  #newView(provider: string, all: Turns): View {
    const edits = Map.groupBy(
      this.edits.filter((edit) => edit.provider === undefined || edit.provider === provider),
      (edit) => edit.turnId,
    )
    const pairs = new Pairs()
    if (!this.compaction) return { pairs, next: 0, edits }
    const { summary, id, at } = this.compaction
    // It has the id of its entry, so that it can be edited like a turn.
    pairs.add(edited({ id, runId: '', role: 'user', content: summary, createdAt: at }, edits))
    return { pairs, next: this.countReplaced(all), edits }
  }
}

/** The messages for one provider so far. It grows with the conversation. */
interface View {
  readonly pairs: Pairs
  /** The index of the first turn that is not in it yet. */
  next: number
  readonly edits: Map<string, ContextEdit[]>
}

function edited(turn: SessionTurn, edits: Map<string, ContextEdit[]>): Message {
  const turnEdits = edits.get(turn.id)
  if (!turnEdits) return withInterruptionNote(turn)
  return withInterruptionNote({
    ...turn,
    content: editedBlocks(turn, turnEdits).filter((block) => block !== undefined),
  })
}

function editedBlocks({ content }: SessionTurn, edits: readonly ContextEdit[] = []): ShownTurn['blocks'] {
  const blocks: (SessionContentBlock | undefined)[] = [...content]
  for (const { block, replacement } of edits) if (block < blocks.length) blocks[block] = replacement
  return blocks
}

import type { EntryBody, EntryOf, InboxItem, LogEntry } from '../core/log.ts'
import type { SessionTurn } from '../core/turn.ts'

type Letter = EntryOf<'input'>

/**
 * Messages that were accepted and went with a run that was stopped before it heard them. The engine lets go of them; a
 * person who said something wants to find it again. Fed with the entries of a log, each once.
 */
export class Unheard {
  readonly #waiting = new Map<string, Letter>()
  readonly #dropped = new Map<string, Letter>()
  #head = 0

  get letters(): readonly Letter[] {
    return [...this.#dropped.values()]
  }

  apply(entry: LogEntry): void {
    if (entry.seq <= this.#head) return
    this.#head = entry.seq
    switch (entry.type) {
      case 'input':
        if (entry.mode !== 'answer') this.#waiting.set(entry.id, entry)
        this.#dropped.delete(entry.clientKey)
        break
      case 'turn':
        for (const id of entry.consumed ?? []) this.#waiting.delete(id)
        if (entry.clientKey !== undefined) this.#dropped.delete(entry.clientKey)
        break
      case 'run_ended':
        this.#drop(entry.dropsTo ?? 0)
        break
      case 'rewind':
        for (const letters of [this.#waiting, this.#dropped])
          for (const [key, { seq }] of letters) if (seq > entry.toSeq) letters.delete(key)
    }
  }

  #drop(toSeq: number): void {
    for (const [id, letter] of this.#waiting) {
      if (letter.seq > toSeq) continue
      this.#waiting.delete(id)
      this.#dropped.set(againKey(letter), letter)
    }
  }
}

/** As a message for the next run. */
export function sentAgain(letter: Letter): InboxItem {
  return { mode: letter.mode, content: letter.content, clientKey: againKey(letter) }
}

/** As something that was said, and that nobody answers for now. */
export function writtenDown(letter: Letter, turn: Pick<SessionTurn, 'id' | 'createdAt'>): EntryBody {
  return said(letter.content, againKey(letter), turn)
}

/** A message of a person, outside of a run. */
export function said(
  content: SessionTurn['content'],
  clientKey: string,
  { id, createdAt }: Pick<SessionTurn, 'id' | 'createdAt'>,
): EntryBody {
  return { type: 'turn', turn: { id, runId: '', role: 'user', content, createdAt }, clientKey }
}

/** The key of a message that was dropped is used up. */
const againKey = ({ clientKey }: Letter): string => `${clientKey}~again`

import { SessionBusyError } from '../../core/errors.ts'
import type { EntryBody, EntryOf, LogEntry } from '../../core/log.ts'
import type { Session } from '../../core/store.ts'
import { yieldOf } from '../../plugins/yield-note.ts'
import type { AgentMakings } from '../engine/agent-makings.ts'
import { saidEntry } from '../engine/said.ts'
import type { OneWriter } from './one-writer.ts'

type Letter = EntryOf<'input'>

export interface UnheardOptions {
  readonly session: Session
  readonly writer: OneWriter
  readonly makings: Pick<AgentMakings, 'clock' | 'newId'>
}

/**
 * Messages that were accepted and went with a run that was stopped before it heard them. The engine lets go of them; a
 * person who said something wants to find it again. Those of a run that was cancelled are cancelled with it, whatever the
 * agent does since; the others are for the next run. Fed with the entries of a log, each once.
 */
export class Unheard {
  readonly #options: UnheardOptions
  readonly #waiting = new Map<string, Letter>()
  readonly #dropped = new Map<string, Letter>()
  /** Under which keys those are that somebody cancelled. */
  readonly #cancelled = new Set<string>()
  #head = 0

  constructor(options: UnheardOptions) {
    this.#options = options
  }

  get isEmpty(): boolean {
    return this.#dropped.size === 0
  }

  apply(entry: LogEntry): void {
    if (entry.seq <= this.#head) return
    this.#head = entry.seq
    switch (entry.type) {
      case 'input':
        if (entry.mode !== 'answer' && entry.mode !== 'stop') this.#waiting.set(entry.id, entry)
        this.#forget(entry.clientKey)
        break
      case 'turn':
        for (const id of entry.consumed ?? []) this.#waiting.delete(id)
        if (entry.clientKey !== undefined) this.#forget(entry.clientKey)
        break
      case 'run_ended':
        this.#drop(entry.dropsTo ?? 0, entry.status === 'aborted')
        break
      case 'state':
        if (yieldOf(entry.owner, entry.value)?.to === 'interrupted') this.#cancelled.clear() // only its process ended
        break
      case 'rewind':
        for (const letters of [this.#waiting, this.#dropped])
          for (const [key, { seq }] of letters) if (seq > entry.toSeq) letters.delete(key)
    }
  }

  #forget(key: string): void {
    this.#dropped.delete(key)
    this.#cancelled.delete(key)
  }

  #drop(toSeq: number, isCancelled: boolean): void {
    for (const [id, letter] of this.#waiting) {
      if (letter.seq > toSeq) continue
      this.#waiting.delete(id)
      this.#dropped.set(againKey(letter), letter)
      if (isCancelled) this.#cancelled.add(againKey(letter))
    }
  }

  /** Into the store, for the next run. */
  async sendAgain(): Promise<void> {
    for (const [clientKey, { mode, content }] of [...this.#dropped])
      if (!this.#cancelled.has(clientKey)) await this.#options.session.send({ mode, content, clientKey })
  }

  /** Writes down what was cancelled before it was heard, unless another process is at work, who does so as well. */
  async keepCancelled(): Promise<void> {
    if (this.#cancelled.size > 0) await this.takeUpUnlessBusy()
  }

  /** Takes what waits in the store into the log. What was dropped goes there too, or into the store again. */
  takeUp(): Promise<void> {
    const { session, writer } = this.#options
    return writer.inTurn(() =>
      writer.whileOpen(async () => {
        await this.sendAgain()
        const kept = this.#writtenDown()
        if (kept.length > 0) await session.log.append(...kept)
      }),
    )
  }

  /** False where another process is at work, who takes what waits. */
  async takeUpUnlessBusy(): Promise<boolean> {
    try {
      await this.takeUp()
      return true
    } catch (error) {
      if (error instanceof SessionBusyError) return false
      throw error
    }
  }

  /** As something that was said, and that nobody answers for now. */
  #writtenDown(): readonly EntryBody[] {
    const { makings } = this.#options
    return [...this.#dropped]
      .filter(([key]) => this.#cancelled.has(key))
      .map(([key, { content }]) => saidEntry(content, key, makings))
  }
}

/** The key of a message that was dropped is used up. */
const againKey = ({ clientKey }: Letter): string => `${clientKey}~again`

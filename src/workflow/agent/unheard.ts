import { SessionBusyError } from '../../core/errors.ts'
import type { EntryBody, EntryOf, LogEntry } from '../../core/log.ts'
import type { Session } from '../../core/store.ts'
import { yieldOf } from '../../plugins/yield-note.ts'
import { saidEntry } from '../engine/said.ts'
import type { WorkflowDependencies } from '../engine/workflow-dependencies.ts'
import type { OneWriter } from './one-writer.ts'

type Letter = EntryOf<'input'>

export interface UnheardOptions {
  readonly session: Session
  readonly writer: OneWriter
  readonly makings: Pick<WorkflowDependencies, 'clock' | 'newId'>
}

/**
 * Messages that were accepted by a run that a person cancelled before it delivered them. The engine would give them to
 * the next run; but a person who cancels an agent also cancels what it was told. They become turns that are not answered, so that
 * people still see what they said. Fed with the entries of a log, each once.
 */
export class Unheard {
  readonly #options: UnheardOptions
  readonly #waiting = new Map<string, Letter>()
  readonly #cancelled = new Set<string>()
  #head = 0

  constructor(options: UnheardOptions) {
    this.#options = options
  }

  get isEmpty(): boolean {
    return this.#cancelled.size === 0
  }

  isCancelled({ id }: Letter): boolean {
    return this.#cancelled.has(id)
  }

  apply(entry: LogEntry): void {
    if (entry.seq <= this.#head) return
    this.#head = entry.seq
    switch (entry.type) {
      case 'input':
        if (entry.mode !== 'answer' && entry.mode !== 'stop') this.#waiting.set(entry.id, entry)
        break
      case 'turn':
        this.#forget((letter) => entry.consumed?.includes(letter.id) ?? false)
        break
      case 'run_ended':
        this.#forget(({ seq }) => seq <= (entry.dropsTo ?? 0))
        for (const { id, seq } of this.#waiting.values()) if (seq <= (entry.stoppedAt ?? 0)) this.#cancelled.add(id)
        break
      case 'state':
        if (yieldOf(entry.owner, entry.value)?.to === 'interrupted') this.#cancelled.clear() // only its process ended
        break
      case 'rewind':
        this.#forget(({ seq }) => seq > entry.toSeq)
    }
  }

  #forget(isGone: (letter: Letter) => boolean): void {
    for (const letter of this.#waiting.values()) {
      if (!isGone(letter)) continue
      this.#waiting.delete(letter.id)
      this.#cancelled.delete(letter.id)
    }
  }

  /** Writes down what was cancelled before it was heard, unless another process is at work, who does so as well. */
  async keepCancelled(): Promise<void> {
    if (!this.isEmpty) await this.takeUpUnlessBusy()
  }

  /** Takes what waits in the store into the log, and writes down what was cancelled. */
  takeUp(): Promise<void> {
    const { session, writer } = this.#options
    return writer.inTurn(() =>
      writer.whileOpen(async () => {
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
    const letters = [...this.#waiting.values()].filter((letter) => this.isCancelled(letter))
    return letters.map(({ id, content, meta }) => ({
      ...saidEntry(content, makings, meta && { meta }),
      consumed: [id],
    }))
  }
}

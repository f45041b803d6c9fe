import type { TapeFact, TapeItem } from './tape-items.ts'
import { Turns } from './turns.ts'

/** A tape that is being written: everything in order, still with its secrets. */
export class Recording {
  readonly items: TapeItem[] = []
  readonly facts: TapeFact[] = []
  readonly #turns = new Turns()
  readonly #numbers = new Map<string, number>()

  add(item: TapeItem): void {
    this.items.push(item)
  }

  /** Waits until something from outside may come in. */
  turn(): Promise<void> {
    return this.#turns.next()
  }

  /** Nothing else may come in before this is done. */
  hold(work: Promise<unknown>): void {
    this.#turns.hold(work)
  }

  /** Counts things of one kind from 1. */
  number(kind: 'timer' | 'request' | 'execute' | 'provider'): number {
    const n = (this.#numbers.get(kind) ?? 0) + 1
    this.#numbers.set(kind, n)
    return n
  }
}

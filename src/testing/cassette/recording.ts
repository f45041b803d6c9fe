import type { TapeFact, TapeItem } from './tape-items.ts'

/** A tape that is being recorded: all items in order, with secrets not yet removed. */
export class Recording {
  readonly items: TapeItem[] = []
  readonly facts: TapeFact[] = []
  readonly #turns = new Turns()
  readonly #numbers = new Map<string, number>()

  add(item: TapeItem): void {
    this.items.push(item)
  }

  /** Resolves when the next item from outside may be delivered. */
  turn(): Promise<void> {
    return this.#turns.next()
  }

  /** Delivers nothing else until `work` is done. */
  hold(work: Promise<unknown>): void {
    this.#turns.hold(work)
  }

  /** The next number for items of one kind, from 1. */
  number(kind: 'timer' | 'request' | 'execute' | 'provider'): number {
    const n = (this.#numbers.get(kind) ?? 0) + 1
    this.#numbers.set(kind, n)
    return n
  }
}

/**
 * Delivers items from outside one by one, each after the program has finished all it could do with the one before.
 * Recording and replay do the same, so what happens in between depends on the order alone, never on timing.
 */
class Turns {
  readonly #waiting: (() => void)[] = []
  #held: Promise<unknown> | undefined
  #isBusy = false

  next(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve)
      void this.#deliver()
    })
  }

  /** Delivers nothing else until `work` is done, which may load code and so take long once. */
  hold(work: Promise<unknown>): void {
    this.#held = Promise.all([this.#held, Promise.race([work.then(ignore, ignore), unrefTimeout(maxHoldMs)])])
  }

  async #deliver(): Promise<void> {
    if (this.#isBusy) return
    this.#isBusy = true
    while (this.#waiting.length > 0) {
      await settled()
      while (this.#held) {
        const held = this.#held
        await held
        if (this.#held === held) this.#held = undefined
        await settled()
      }
      this.#waiting.shift()?.()
    }
    this.#isBusy = false
  }
}

const maxHoldMs = 1_000
const ignore = (): void => {}

function unrefTimeout(ms: number): Promise<void> {
  return new Promise((resolve) => {
    const timer: { unref?: () => void } | number = setTimeout(resolve, ms)
    if (typeof timer === 'object') timer.unref?.()
  })
}

/** Resolves when all code has run that only waited for promises. */
export function settled(): Promise<void> {
  return new Promise((resolve) => {
    if (typeof setImmediate === 'function') setImmediate(resolve)
    else setTimeout(resolve, 0)
  })
}

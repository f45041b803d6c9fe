import type { EventIterator, ModelEvent } from '../core/provider.ts'

/** A stream that is still to come; once it is there, it costs nothing to have waited. */
export class LazyStream implements AsyncIterableIterator<ModelEvent> {
  readonly #coming: Promise<EventIterator>
  #inner: EventIterator | undefined
  #isLeft = false

  constructor(coming: Promise<EventIterator>) {
    this.#coming = coming
    coming.catch(() => {}) // whoever waits for the first event hears of it
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  take(): ModelEvent | undefined {
    return this.#inner?.take?.()
  }

  next(): Promise<IteratorResult<ModelEvent>> {
    return this.#inner ? this.#inner.next() : this.#first()
  }

  async return(): Promise<IteratorResult<ModelEvent>> {
    this.#isLeft = true
    await this.#inner?.return?.()
    return over
  }

  async #first(): Promise<IteratorResult<ModelEvent>> {
    this.#inner = await this.#coming
    return this.#isLeft ? over : this.#inner.next()
  }
}

const over = { done: true, value: undefined } as const

import type { EventIterator, ModelEvent } from '../core/provider.ts'

/**
 * A stream around the stream of a provider that may still send the request again, until content arrives. From then on events
 * are passed on as they are. It is a hand-written iterator, because a generator would cost extra promises for each delta.
 */
export abstract class DecoratedStream implements AsyncIterableIterator<ModelEvent> {
  /** The stream of the present attempt. */
  protected inner: EventIterator | undefined
  protected hasContent = false

  take(): ModelEvent | undefined {
    return this.hasContent ? this.inner?.take?.() : undefined
  }

  next(): Promise<IteratorResult<ModelEvent>> {
    return this.hasContent ? this.inner!.next() : this.nextBeforeContent()
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  async return(): Promise<IteratorResult<ModelEvent>> {
    this.close()
    this.hasContent = false // `next()` then finds the stream closed, instead of reading on
    await this.inner?.return?.()
    return done
  }

  async throw(error?: unknown): Promise<IteratorResult<ModelEvent>> {
    await this.return()
    throw error
  }

  /** Sets `hasContent` when an event carries content. After `close` it returns `done`. */
  protected abstract nextBeforeContent(): Promise<IteratorResult<ModelEvent>>

  /** Ends a pause between attempts. No attempt starts after that. */
  protected abstract close(): void
}

export const done: IteratorResult<ModelEvent> = { done: true, value: undefined }

/** Whether an event carries a part of the reply, rather than the status of the request. */
export function isContent(event: ModelEvent): boolean {
  const type = event?.type // `event` may be malformed (even undefined); the loop reports that later
  return type !== 'start' && type !== 'repair' && type !== 'oauth_refresh' && type !== 'retry' && type !== 'alive'
}

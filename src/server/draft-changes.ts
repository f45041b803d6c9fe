import type { Clock } from '../core/clock.ts'
import type { ServerDrafts } from './server-options.ts'

/** A draft that a client has changed. */
export interface DraftChange {
  readonly id: string
  readonly text: string
  readonly version: number
}

/** The drafts of sessions, each with a version, so that several clients agree: the last write counts. */
export class DraftChanges {
  readonly #drafts: ServerDrafts
  readonly #clock: Clock
  readonly #versions = new Map<string, number>()
  /** The last write of each draft that is under way. */
  readonly #writing = new Map<string, Promise<void>>()
  readonly #listeners = new Set<(change: DraftChange) => void>()

  constructor(drafts: ServerDrafts, clock: Clock) {
    this.#drafts = drafts
    this.#clock = clock
  }

  /** The version of a text from before the server was started is 0. */
  async load(id: string): Promise<Omit<DraftChange, 'id'>> {
    await this.#writing.get(id)?.catch(() => {}) // else a version would come with the text before it
    const version = this.#versions.get(id) ?? 0
    return { text: await this.#drafts.load(id), version }
  }

  /** Resolves with the version, which is higher than all before it, also those before a restart. */
  async save(id: string, text: string): Promise<number> {
    const version = Math.max(this.#clock.now(), (this.#versions.get(id) ?? 0) + 1)
    this.#versions.set(id, version)
    await this.#write(id, text)
    for (const listener of this.#listeners) listener({ id, text, version })
    return version
  }

  /** Removes the draft of a session that is gone. */
  async forget(id: string): Promise<void> {
    this.#versions.delete(id)
    await this.#write(id, '')
  }

  /** One after the other: a store of files may end a later write first. */
  async #write(id: string, text: string): Promise<void> {
    const before = this.#writing.get(id)
    const writing = (async () => {
      await before?.catch(() => {}) // its own caller gets the error
      await this.#drafts.save(id, text)
    })()
    this.#writing.set(id, writing)
    try {
      await writing
    } finally {
      if (this.#writing.get(id) === writing) this.#writing.delete(id)
    }
  }

  /** Calls the listener with each change that is made through this server. Returns a function that stops it. */
  follow(listener: (change: DraftChange) => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }
}

import { visibleName } from '../../platform/visible-text.ts'
import { type MakeAgent, openSeat, type Seat } from './seat.ts'

export interface ConversationsOptions {
  readonly make: MakeAgent
  /** How many are kept; the one that was not used for the longest time goes first. */
  readonly most: number
  /** Whether the host program has a conversation that is not kept here. */
  readonly knows?: (sessionId: string) => boolean | Promise<boolean>
}

/** The conversations that clients may go on with, each with an agent of its own. */
export class Conversations {
  readonly #options: ConversationsOptions
  readonly #kept = new Map<string, Seat>()
  readonly #busy = new Set<string>()
  #isClosed = false

  constructor(options: ConversationsOptions) {
    this.#options = options
  }

  /** Begins one, or goes on with the one that is named. Throws what a caller can act on. */
  async use<T>(
    { id: named, canAsk }: { id: string | undefined; canAsk: boolean },
    work: (seat: Seat, id: string) => Promise<T>,
  ): Promise<T> {
    const id = named ?? crypto.randomUUID()
    if (this.#busy.has(id))
      throw new Error(`the conversation ${id} is at work; wait for its answer, or leave out session to begin another`)
    this.#busy.add(id)
    try {
      const seat = await this.#seatFor(id, named === undefined, canAsk)
      this.#kept.delete(id) // and behind all others again
      this.#kept.set(id, seat)
      return await work(seat, id).finally(() => {
        seat.ask = undefined
      })
    } finally {
      this.#busy.delete(id)
      await this.#dropOldest()
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true
    const all = [...this.#kept.values()]
    this.#kept.clear()
    await Promise.allSettled(all.map((seat) => seat.close()))
  }

  async #seatFor(id: string, isNew: boolean, canAsk: boolean): Promise<Seat> {
    const { make, knows } = this.#options
    const kept = this.#kept.get(id)
    if (kept) return kept
    if (!isNew && !(await knows?.(id)))
      throw new Error(
        `there is no conversation ${visibleName(id.slice(0, 100))} any more; leave out session to begin one, and say what it has to know`,
      )
    return openSeat(make, { canAsk, sessionId: id })
  }

  async #dropOldest(): Promise<void> {
    const idle = [...this.#kept].filter(([id]) => !this.#busy.has(id))
    const most = this.#isClosed ? 0 : this.#options.most
    for (const [id, seat] of idle.slice(0, Math.max(0, this.#kept.size - most))) {
      this.#kept.delete(id)
      await seat.close()
    }
  }
}

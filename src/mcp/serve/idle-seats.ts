import { type MakeAgent, openSeat, type Seat } from './seat.ts'

/**
 * The agents that tools are called with. A client that calls one after another always meets the same agent, with its
 * background commands and lists; calls at the same time have one each.
 */
export class IdleSeats {
  readonly #make: MakeAgent
  readonly #idle: Seat[] = []
  #isClosed = false

  constructor(make: MakeAgent) {
    this.#make = make
  }

  async use<T>(canAsk: boolean, work: (seat: Seat) => Promise<T>): Promise<T> {
    const at = this.#idle.findLastIndex((seat) => seat.canAsk === canAsk)
    const seat = at < 0 ? await openSeat(this.#make, { canAsk }) : this.#idle.splice(at, 1)[0]!
    try {
      return await work(seat)
    } finally {
      seat.ask = undefined
      await this.#giveBack(seat)
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await Promise.allSettled(this.#idle.splice(0).map((seat) => seat.close()))
  }

  async #giveBack(seat: Seat): Promise<void> {
    if (this.#isClosed) return seat.close()
    // What was said so far is of no use to anybody; what was started stays.
    if (seat.agent.turns.length > mostTurns && !(await isReset(seat))) return seat.close()
    this.#idle.push(seat)
    if (this.#idle.length > mostIdle) await this.#idle.shift()?.close()
  }
}

function isReset({ agent }: Seat): Promise<boolean> {
  return agent.reset().then(
    () => true,
    () => false,
  )
}

const mostIdle = 4
const mostTurns = 300

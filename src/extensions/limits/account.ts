import type { LimitState } from '../../core/feature-hooks.ts'
import { type Amounts, billionths, type Meter, type Quote } from './meter.ts'

/** What a request may use up at most. */
export interface Wanted {
  readonly input: number
  /** Thinking included. */
  readonly output: number
  /** With less output than this it is of no use. */
  readonly leastOutput: number
  /** Absent where nobody knows the price, and that is allowed. */
  readonly quote: Quote | undefined
  /** It is the final answer of the run, and may use what the run's own meter keeps for it. */
  readonly isFinal?: boolean
}

export interface Reservation {
  readonly amounts: Amounts
  readonly output: number
  /** The limit that left room for no more output; absent where all fits. */
  readonly cutBy?: LimitState
}

/** Why a request does not fit. */
export interface Refused {
  readonly refused: LimitState
  /** What it would need at the least, as far as it is known. */
  readonly needs: number
  /** What is kept for a final answer and would be enough. */
  readonly kept?: number
}

/** What one run may use: every meter from its own up to the one at the top has a say. */
export class Account {
  /** The meter of the run itself. */
  readonly own: Meter | undefined
  readonly meters: readonly Meter[]
  /** Shared by the whole tree: what one run gives back may be what another waits for. */
  readonly #bell: Bell
  /** Requests of this run that are under way. */
  #own = 0

  constructor(own: Meter | undefined, above: Account | undefined) {
    this.own = own
    this.meters = [...(own ? [own] : []), ...(above?.meters ?? [])]
    this.#bell = above ? above.#bell : new Bell()
  }

  /** Takes what is asked for, or less output if only that fits, in one stroke. */
  reserve(wanted: Wanted): Reservation | Refused {
    let output = wanted.output
    let cutBy: LimitState | undefined
    for (const meter of this.meters) {
      const { fits, limit, needs } = this.#affordable(meter, wanted)
      if (fits < wanted.leastOutput) return { refused: meter.state(limit), needs, kept: meter.kept(limit) }
      if (fits >= output) continue
      output = fits
      cutBy = meter.state(limit)
    }
    const amounts = amountsFor(wanted, output)
    for (const meter of this.meters) meter.hold(amounts, 1)
    this.#own++
    return { amounts, output, ...(cutBy && { cutBy }) }
  }

  /** Whether more may fit once others are done. A run does not wait for itself: it may be in the midst of a reply. */
  get mayGetMore(): boolean {
    return this.#own === 0 && this.meters.some((meter) => meter.isHeld)
  }

  /** Output for which there will be no more room, whatever others give back. */
  mostOutput(wanted: Wanted): number {
    const own = this.meters.filter((meter) => !meter.isHeld)
    return Math.min(wanted.output, ...own.map((meter) => this.#affordable(meter, wanted).fits))
  }

  /** A child's final answer is work to the run above it. */
  #affordable(meter: Meter, wanted: Wanted): Affordable {
    const mayUseAll = wanted.isFinal && meter === this.own
    return affordable((name) => (mayUseAll ? meter.room(name) : meter.roomForWork(name)), wanted)
  }

  /** Resolves when something was given back. */
  change(): Promise<void> {
    return this.#bell.next
  }

  /** In place of what was reserved, what was used. */
  settle({ amounts }: Reservation, used: Amounts): void {
    for (const meter of this.meters) {
      meter.hold(amounts, -1)
      meter.spend(used)
    }
    this.#own--
    this.#bell.ring()
  }

  /** Counts what an attempt wasted whose reservation the next attempt needs. Comes back with a limit that is exceeded now. */
  waste(used: Amounts): LimitState | undefined {
    for (const meter of this.meters) meter.spend(used)
    for (const meter of this.meters)
      for (const name of ['tokens', 'cost'] as const) if (meter.room(name) < 0) return meter.state(name)
    return undefined
  }
}

class Bell {
  #waiting: PromiseWithResolvers<void> | undefined

  get next(): Promise<void> {
    this.#waiting ??= Promise.withResolvers()
    return this.#waiting.promise
  }

  ring(): void {
    this.#waiting?.resolve()
    this.#waiting = undefined
  }
}

interface Affordable {
  readonly fits: number
  readonly limit: string
  readonly needs: number
}

/** How much output there is room for, and what bounds it. */
function affordable(room: (name: keyof Amounts) => number, { input, leastOutput, quote }: Wanted): Affordable {
  if (room('turns') < 1) return { fits: 0, limit: 'turns', needs: 1 }
  const byTokens = room('tokens') - input
  const byCost = quote ? affordableBy(quote, room('cost')) : Number.POSITIVE_INFINITY
  if (byTokens <= byCost) return { fits: byTokens, limit: 'tokens', needs: input + leastOutput }
  return { fits: byCost, limit: 'cost', needs: quote ? quote.base + quote.perToken * leastOutput : 0 }
}

function affordableBy({ base, perToken }: Quote, room: number): number {
  const left = room - billionths(base)
  if (left < 0) return -1
  // One less, so that rounding up cannot go over.
  return perToken === 0 ? Number.POSITIVE_INFINITY : Math.floor((left - 1) / (perToken * 1_000_000_000))
}

function amountsFor({ input, quote }: Wanted, output: number): Amounts {
  const cost = quote ? billionths(quote.base) + billionths(quote.perToken * output) : 0
  return { tokens: input + output, cost, turns: 1 }
}

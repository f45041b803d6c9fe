import type { LimitState } from '../../core/feature-hooks.ts'
import { type Amounts, billionths, type Meter, type Quote } from './meter.ts'

/** The most that a request may use. */
interface RequestBounds {
  readonly input: number
  /** Thinking included. */
  readonly output: number
  /** With less output than this, the request is not worth sending. */
  readonly leastOutput: number
  /** Absent if the price is unknown and that is allowed. */
  readonly quote: Quote | undefined
  /** The request is for the final answer, which may use the reserve of the run's own meter. */
  readonly isFinal?: boolean
}

export interface Reservation {
  readonly amounts: Amounts
  readonly output: number
  /** The limit that reduced the output; absent if it was not reduced. */
  readonly cutBy?: LimitState
}

/** Why a request does not fit. */
interface Refused {
  readonly refused: LimitState
  /** The least that it would need, as far as known. */
  readonly needs: number
  /** What is reserved for a final answer. */
  readonly reserved?: number
}

/** What one run may use: bounded by its own meter and by those of all its ancestors. */
export class Account {
  /** The meter of the run itself. */
  readonly own: Meter | undefined
  readonly meters: readonly Meter[]
  /** Shared by the whole tree: one run may wait for what another one releases. */
  readonly #released: Signal
  /** The number of requests of this run under way. */
  #own = 0

  constructor(own: Meter | undefined, above: Account | undefined) {
    this.own = own
    this.meters = [...(own ? [own] : []), ...(above?.meters ?? [])]
    this.#released = above ? above.#released : new Signal()
  }

  /** Reserves the request, with less output if necessary. */
  reserve(wanted: RequestBounds): Reservation | Refused {
    let output = wanted.output
    let cutBy: LimitState | undefined
    for (const meter of this.meters) {
      const { fits, limit, needs } = this.#affordable(meter, wanted)
      if (fits < wanted.leastOutput) return { refused: meter.state(limit), needs, reserved: meter.reserved(limit) }
      if (fits >= output) continue
      output = fits
      cutBy = meter.state(limit)
    }
    const amounts = amountsFor(wanted, output)
    for (const meter of this.meters) meter.hold(amounts, 1)
    this.#own++
    return { amounts, output, ...(cutBy && { cutBy }) }
  }

  /** Whether more may fit once other runs are done. A run must not wait for its own requests. */
  get mayGetMore(): boolean {
    return this.#own === 0 && this.meters.some((meter) => meter.isHeld)
  }

  /** The output that would fit if all other runs released their reservations. */
  mostOutput(wanted: RequestBounds): number {
    const own = this.meters.filter((meter) => !meter.isHeld)
    return Math.min(wanted.output, ...own.map((meter) => this.#affordable(meter, wanted).fits))
  }

  /** Only the run's own reserve is for its final answer: to its parents, it is work. */
  #affordable(meter: Meter, wanted: RequestBounds): Affordable {
    const mayUseAll = wanted.isFinal && meter === this.own
    return affordable((name) => (mayUseAll ? meter.room(name) : meter.roomForWork(name)), wanted)
  }

  /** Resolves when a reservation was released. */
  change(): Promise<void> {
    return this.#released.next
  }

  /** Replaces a reservation by the real usage. */
  release({ amounts }: Reservation, used: Amounts): void {
    for (const meter of this.meters) {
      meter.hold(amounts, -1)
      meter.spend(used)
    }
    this.#own--
    this.#released.fire()
  }

  /** Counts the usage of a failed attempt and keeps its reservation for the next one. Returns a limit that is now exceeded. */
  countFailed(used: Amounts): LimitState | undefined {
    for (const meter of this.meters) meter.spend(used)
    for (const meter of this.meters)
      for (const name of ['tokens', 'cost'] as const) if (meter.room(name) < 0) return meter.state(name)
    return undefined
  }
}

class Signal {
  #waiting: PromiseWithResolvers<void> | undefined

  get next(): Promise<void> {
    this.#waiting ??= Promise.withResolvers()
    return this.#waiting.promise
  }

  fire(): void {
    this.#waiting?.resolve()
    this.#waiting = undefined
  }
}

interface Affordable {
  readonly fits: number
  readonly limit: string
  readonly needs: number
}

/** The output that fits, and the limit that bounds it. */
function affordable(room: (name: keyof Amounts) => number, { input, leastOutput, quote }: RequestBounds): Affordable {
  if (room('turns') < 1) return { fits: 0, limit: 'turns', needs: 1 }
  const byTokens = room('tokens') - input
  const byCost = quote ? affordableBy(quote, room('cost')) : Number.POSITIVE_INFINITY
  if (byTokens <= byCost) return { fits: byTokens, limit: 'tokens', needs: input + leastOutput }
  return { fits: byCost, limit: 'cost', needs: quote ? quote.base + quote.perToken * leastOutput : 0 }
}

function affordableBy({ base, perToken }: Quote, room: number): number {
  const left = room - billionths(base)
  if (left < 0) return -1
  // One less, so that rounding up cannot exceed the limit.
  return perToken === 0 ? Number.POSITIVE_INFINITY : Math.floor((left - 1) / (perToken * 1_000_000_000))
}

function amountsFor({ input, quote }: RequestBounds, output: number): Amounts {
  const cost = quote ? billionths(quote.base) + billionths(quote.perToken * output) : 0
  return { tokens: input + output, cost, turns: 1 }
}

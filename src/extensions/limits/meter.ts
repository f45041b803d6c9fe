import type { Limits } from '../../core/behavior.ts'
import type { Clock } from '../../core/clock.ts'
import type { LimitState } from '../../core/feature-hooks.ts'
import type { ModelRequest, Provider } from '../../core/provider.ts'
import type { TurnUsage } from '../../core/turn.ts'

/** What a model call uses, in whole numbers so that sums are exact: money in billionths of a dollar. */
export interface Amounts {
  readonly cost: number
  readonly tokens: number
  readonly turns: number
}

/** What was used before the run. */
export interface Spent extends Amounts {
  readonly timeMs: number
  /** Calls by log and id: one that runs again counts once. */
  readonly calls: ReadonlySet<string>
}

export const nothingSpent: Spent = { cost: 0, tokens: 0, turns: 0, timeMs: 0, calls: new Set() }

export const billionths = (dollars: number): number => Math.ceil(dollars * billion)

/** The amounts of a usage; `turns` is 1 if there was a reply. */
export function amountsOf(usage: TurnUsage, turns: 0 | 1): Amounts {
  const { input, output, cacheRead = 0, cacheCreation = 0, cost = 0 } = usage
  return { tokens: input + output + cacheRead + cacheCreation, cost: billionths(cost), turns }
}

type Amount = keyof Amounts
const amounts: readonly Amount[] = ['turns', 'tokens', 'cost']
const billion = 1_000_000_000

/** How much of one set of limits is used, held by requests under way, and reserved for the final answer. */
export class Meter {
  readonly limits: Limits
  readonly calls: Set<string>
  readonly #spent: Record<Amount, number>
  readonly #held: Record<Amount, number> = { cost: 0, tokens: 0, turns: 0 }
  /** The smallest reserve. */
  readonly #minReserve: Amounts
  #reserved: Amounts
  readonly #clock: Clock
  #elapsed: number
  #checkedAt: number

  /** `reserve` is the fraction for the final answer. */
  constructor(limits: Limits, { cost, tokens, turns, timeMs, calls }: Spent, clock: Clock, reserve = 0) {
    this.limits = limits
    const part = (name: Amount): number => (limits[name] === undefined ? 0 : Math.floor(reserve * this.#max(name)))
    this.#minReserve = { cost: part('cost'), tokens: part('tokens'), turns: reserve > 0 ? 1 : 0 }
    this.#reserved = this.#minReserve
    this.calls = new Set(calls)
    this.#spent = { cost, tokens, turns }
    this.#clock = clock
    this.#elapsed = timeMs
    this.#checkedAt = clock.now()
  }

  /** A clock that is set back does not reduce it. */
  get elapsed(): number {
    const now = this.#clock.now()
    this.#elapsed += Math.max(0, now - this.#checkedAt)
    this.#checkedAt = now
    return this.#elapsed
  }

  /**
   * Raises the reserve to what a final answer would use now: at most half of the limit, because an answer without any
   * work before it is useless, but at least what the shortest answer needs.
   */
  reserve(answer: Omit<Amounts, 'turns'>, shortest: Omit<Amounts, 'turns'>): void {
    const { turns } = this.#minReserve
    const reserved = (name: 'cost' | 'tokens'): number =>
      Math.max(this.#minReserve[name], shortest[name], Math.min(answer[name], Math.floor(this.#max(name) / 2)))
    if (turns > 0) this.#reserved = { cost: reserved('cost'), tokens: reserved('tokens'), turns }
  }

  /** The reserve of a limit, in the unit of the limit. */
  reserved(limit: string): number {
    const { cost, ...others } = this.#reserved
    const amounts: Record<string, number> = { cost: cost / billion, ...others }
    return amounts[limit] ?? 0
  }

  /** What is left for work, without the reserve. */
  roomForWork(name: Amount): number {
    return this.room(name) - this.#reserved[name]
  }

  /** What is left, the reserve included. */
  room(name: Amount): number {
    return this.#max(name) - this.#spent[name] - this.#held[name]
  }

  /** Whether requests under way may release something. */
  get isHeld(): boolean {
    return this.#held.turns > 0
  }

  hold(amount: Amounts, sign: 1 | -1): void {
    for (const name of amounts) this.#held[name] += sign * amount[name]
  }

  spend(amount: Amounts): void {
    for (const name of amounts) this.#spent[name] += amount[name]
  }

  /** All limits that are set, each in its own unit. */
  get states(): readonly LimitState[] {
    const { cost, tokens, turns, timeMs, toolCalls } = this.limits
    const { cost: money, ...spent } = this.#spent
    const shown = [
      ['cost', money / billion, cost],
      ['tokens', spent.tokens, tokens],
      ['turns', spent.turns, turns],
      ['timeMs', this.elapsed, timeMs],
      ['toolCalls', this.calls.size, toolCalls],
    ] as const
    return shown.flatMap(([limit, spent, max]) => (max === undefined ? [] : [{ limit, spent, max }]))
  }

  state(limit: string): LimitState {
    return this.states.find((one) => one.limit === limit) ?? { limit, spent: 0, max: 0 }
  }

  #max(name: Amount): number {
    const { [name]: max = Number.POSITIVE_INFINITY } = this.limits
    return Math.floor(name === 'cost' ? max * billion : max) // limits are whole numbers
  }
}

/** The price of a request in dollars: for its input, and for each output token. */
export interface Quote {
  readonly base: number
  readonly perToken: number
}

/** The highest possible price: no input is read from the cache, and all of it is written to the cache if that costs more. */
export async function quoteFor(provider: Provider, request: ModelRequest, input: number): Promise<Quote | undefined> {
  const { model, cache } = request
  const ways: TurnUsage[] = [{ input, output: 0 }]
  if (cache) ways.push({ input: 0, output: 0, cacheCreation: input })
  let worst: Quote | undefined
  for (const way of ways) {
    const base = await priceOf(provider, model, way)
    const more = await priceOf(provider, model, { ...way, output: sample })
    if (base === undefined || more === undefined) return undefined
    const perToken = Math.max(0, more - base) / sample
    if (!worst || base > worst.base) worst = { base, perToken: Math.max(perToken, worst?.perToken ?? 0) }
  }
  return worst
}

/** The price in dollars; `undefined` if unknown or if the provider throws. */
export async function priceOf(provider: Provider, model: string, usage: TurnUsage): Promise<number | undefined> {
  try {
    return known(await provider.costOf?.(model, usage))
  } catch {
    return undefined
  }
}

/** The same without waiting: prices are loaded by now. */
export function priceNow(provider: Provider, model: string, usage: TurnUsage): number | undefined {
  try {
    return known(provider.costOf?.(model, usage))
  } catch {
    return undefined
  }
}

const known = (price: unknown): number | undefined =>
  typeof price === 'number' && Number.isFinite(price) && price >= 0 ? price : undefined

/** Large enough for an exact price per token. */
const sample = 100_000

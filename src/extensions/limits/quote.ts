import type { ModelRequest, Provider } from '../../core/provider.ts'
import type { TurnUsage } from '../../core/turn.ts'

/** What a request may cost, in dollars: for its input, and for each token of output. */
export interface Quote {
  readonly base: number
  readonly perToken: number
}

/** The price at its worst: nothing of the input is cached yet, and where caching costs more, all of it is written. */
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

/** Dollars; `undefined` where nobody knows, and where whoever should know fails at it. */
export async function priceOf(provider: Provider, model: string, usage: TurnUsage): Promise<number | undefined> {
  try {
    return known(await provider.costOf?.(model, usage))
  } catch {
    return undefined
  }
}

/** The same at once: prices are loaded by now. */
export function priceNow(provider: Provider, model: string, usage: TurnUsage): number | undefined {
  try {
    return known(provider.costOf?.(model, usage))
  } catch {
    return undefined
  }
}

const known = (price: unknown): number | undefined =>
  typeof price === 'number' && Number.isFinite(price) && price >= 0 ? price : undefined

/** Enough for the price of one to be exact. */
const sample = 100_000

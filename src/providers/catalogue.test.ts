import { calcPrice } from '@pydantic/genai-prices'
import { describe, expect, test } from 'vitest'
import type { TurnUsage } from '../core/turn.ts'
import { catalogueOf, createCatalogue, type PricedUsage, type PriceSource } from './catalogue.ts'

const at = new Date('2026-09-20T12:00:00Z')
const absent = (): Promise<PriceSource> => Promise.reject(new Error('Cannot find package'))

/** A package that counts how often it was asked for. */
function counted(): { load: () => Promise<PriceSource>; loads: () => number } {
  let loads = 0
  function load(): Promise<PriceSource> {
    loads++
    return import('@pydantic/genai-prices') as Promise<unknown> as Promise<PriceSource>
  }
  return { load, loads: () => loads }
}

describe('a cost is what the price list makes of the same tokens', () => {
  const usages: Record<string, PricedUsage> = {
    'a plain call': { input: 1200, output: 340 },
    'nothing at all': { input: 0, output: 0 },
    'reads from the cache': { input: 800, output: 500, cacheRead: 60_000 },
    'reads and writes': { input: 90, output: 1000, cacheRead: 200_000, cacheCreation: 10_000 },
    'writes for an hour': { input: 50, output: 10, cacheCreation: 9000, cacheCreation1h: 4000 },
    'a prompt above the tier': { input: 250_000, output: 2000, cacheRead: 100_000, cacheCreation: 5000 },
  }
  const models: [provider: string, id: string, model: string][] = [
    ['anthropic', 'anthropic', 'claude-opus-5-5'],
    ['anthropic', 'anthropic', 'claude-sonnet-4-5-20250929'],
    ['anthropic', 'anthropic', 'claude-haiku-4-5'],
    ['openai', 'openai', 'gpt-5.1'],
    ['openai', 'openai', 'gpt-6-sol'],
    ['openai', 'openai', 'o3'],
    ['openrouter', 'openrouter', 'anthropic/claude-sonnet-4.5'],
    ['cerebras', 'cerebras', 'gpt-oss-120b'],
    ['google', 'google', 'gemini-2.5-pro'],
    ['gemini', 'google', 'gemini-2.5-flash'],
    ['vertex', 'google', 'gemini-3.1-pro-preview'],
    ['groq', 'groq', 'openai/gpt-oss-120b'],
    ['deepseek', 'deepseek', 'deepseek-v4-pro'],
    ['mistral', 'mistral', 'codestral-2508'],
    ['together', 'together', 'meta-llama/Llama-3.3-70B-Instruct-Turbo'],
    ['togetherai', 'together', 'meta-llama/Llama-3.3-70B-Instruct-Turbo'],
    ['fireworks', 'fireworks', 'accounts/fireworks/models/deepseek-v3p2'],
    ['xai', 'x-ai', 'grok-4.5'],
    ['azure', 'azure', 'gpt-4o'],
    ['bedrock', 'aws', 'amazon.nova-lite-v1:0'],
    ['amazon-bedrock', 'aws', 'amazon.nova-lite-v1:0'],
    ['moonshot', 'moonshotai', 'kimi-k2'],
    ['kimi', 'moonshotai', 'kimi-k2'],
    ['copilot', 'github-copilot', 'gpt-5.5'],
    ['zai', 'zai', 'GLM-5.2'],
    ['z.ai', 'zai', 'GLM-5.2'],
    ['cohere', 'cohere', 'command-r'],
  ]

  test.each(models)('%s (%s): %s', async (provider, providerId, model) => {
    const { costOf } = createCatalogue()
    for (const { input, output, cacheRead = 0, cacheCreation = 0, cacheCreation1h = 0 } of Object.values(usages)) {
      const listed = calcPrice(
        {
          input_tokens: input + cacheRead + cacheCreation,
          output_tokens: output,
          cache_read_tokens: cacheRead,
          cache_write_tokens: cacheCreation,
          cache_write_1h_tokens: cacheCreation1h,
        },
        model,
        { providerId, timestamp: at },
      )
      const usage = { input, output, cacheRead, cacheCreation, cacheCreation1h }
      expect(listed?.provider.id).toBe(providerId)
      expect(await costOf(provider, model, usage, at)).toBe(listed?.total_price)
      if (input > 0) expect(listed?.total_price).toBeGreaterThan(0)
    }
  })

  test('a call on Opus 5.5 with a warm cache costs 47 cents', async () => {
    const usage = { input: 90_000, cacheRead: 200_000, cacheCreation: 10_000, output: 1000 }
    expect(await createCatalogue().costOf('anthropic', 'claude-opus-5-5', usage)).toBeCloseTo(0.47, 10)
  })

  test('an hour in the cache costs more than five minutes, and is counted once', async () => {
    const { costOf } = createCatalogue()
    const price = (usage: Partial<PricedUsage>) =>
      costOf('anthropic', 'claude-opus-5-5', { input: 0, output: 0, ...usage }, at)
    expect(await price({ cacheCreation: 1_000_000 })).toBeCloseTo(5)
    expect(await price({ cacheCreation: 1_000_000, cacheCreation1h: 1_000_000 })).toBeCloseTo(8)
    expect(await price({ cacheCreation1h: 1_000_000 })).toBeCloseTo(8)
  })

  test('the hour of the call counts where prices change by the hour', async () => {
    const { costOf } = createCatalogue()
    const usage = { input: 1_000_000, output: 0 }
    const prices = new Set<number | undefined>()
    for (let hour = 0; hour < 24; hour++)
      prices.add(await costOf('deepseek', 'deepseek-v4-pro', usage, new Date(Date.UTC(2026, 8, 20, hour, 30))))
    expect(prices.size).toBeGreaterThan(1)
  })
})

describe('what is not listed stays unknown', () => {
  const usage: TurnUsage = { input: 1000, output: 100 }
  test.each([
    ['an unlisted model', 'openai', 'gpt-99-imaginary'],
    ['an unlisted service', 'unlisted', 'gpt-5.1'],
    ['a service whose name only resembles a listed one', 'my-openai-proxy', 'gpt-5.1'],
    ['a model at home', 'ollama', 'llama3.1:8b'],
    ['another one', 'lmstudio', 'openai/gpt-oss-20b'],
    ['a model that is listed without a price', 'google', 'gemma-3-27b-it'],
    ['a name that every object has', 'constructor', '__proto__'],
  ])('%s', async (_, provider, model) => {
    expect(await createCatalogue().costOf(provider, model, usage)).toBeUndefined()
  })

  test('without the package, every cost and every window', async () => {
    const { costOf, modelInfo } = catalogueOf({}, absent)
    expect(await costOf('anthropic', 'claude-opus-5-5', usage)).toBeUndefined()
    expect(costOf('anthropic', 'claude-opus-5-5', usage)).toBeUndefined()
    expect(await modelInfo('anthropic', 'claude-opus-5-5')).toBeUndefined()
  })

  test.each([
    ['input', Number.NaN],
    ['output', -1],
    ['cacheRead', Number.POSITIVE_INFINITY],
    ['cacheCreation', Number.NaN],
    ['cacheCreation1h', -5],
  ])('the cost of %s %d tokens', async (key, count) => {
    const { costOf } = createCatalogue({ models: { mine: { input: 1, output: 1 } } })
    expect(await costOf('anthropic', 'claude-opus-5-5', { ...usage, [key]: count })).toBeUndefined()
    expect(await costOf('home', 'mine', { ...usage, [key]: count })).toBeUndefined()
  })

  test('the cost at no date', async () => {
    const never = new Date(Number.NaN)
    expect(await createCatalogue().costOf('openai', 'o3', usage, never)).toBeUndefined()
  })
})

describe('the package is loaded when it is needed', () => {
  const usage = { input: 1000, output: 100 }

  test('once, at the first question; from then on a cost is no promise', async () => {
    const { load, loads } = counted()
    const { costOf, modelInfo } = catalogueOf({}, load)
    expect(loads()).toBe(0)
    const first = costOf('openai', 'gpt-5.1', usage)
    const second = costOf('openai', 'o3', usage)
    expect(first).toBeInstanceOf(Promise)
    expect(await first).toBeGreaterThan(0)
    expect(await second).toBeGreaterThan(0)
    expect(costOf('openai', 'gpt-5.1', usage)).toBe(await first)
    await modelInfo('openai', 'gpt-5.1')
    expect(loads()).toBe(1)
  })

  test('never for models at home, for a full price of the host, or when prices are switched off', async () => {
    const { load, loads } = counted()
    const mine = { input: 1, output: 2, cacheRead: 0.1, cacheWrite: 1.25, cacheWrite1h: 2 }
    const { costOf, modelInfo } = catalogueOf({ models: { mine, 'ollama/qwen': { contextWindow: 4096 } } }, load)
    expect(costOf('ollama', 'qwen', usage)).toBeUndefined()
    expect(costOf('openai', 'mine', usage)).toBeCloseTo(0.0012)
    expect(await modelInfo('ollama', 'qwen')).toEqual({ contextWindow: 4096 })
    expect(catalogueOf({ prices: false }, load).costOf('openai', 'gpt-5.1', usage)).toBeUndefined()
    expect(loads()).toBe(0)
  })

  test('prices that are switched off are so for the host’s own table too, but windows stay known', async () => {
    const off = createCatalogue({ prices: false, models: { 'gpt-5.1': { input: 1, output: 2 } } })
    expect(await off.costOf('openai', 'gpt-5.1', usage)).toBeUndefined()
    expect(await off.modelInfo('openai', 'gpt-5.1')).toMatchObject({ contextWindow: 400_000 })
  })
})

describe('a host knows better', () => {
  const usage = {
    input: 1_000_000,
    output: 1_000_000,
    cacheRead: 1_000_000,
    cacheCreation: 2_000_000,
    cacheCreation1h: 1_000_000,
  }

  test('a price of its own, in dollars per million', async () => {
    const own = { input: 1, output: 10, cacheRead: 0.1, cacheWrite: 1.5, cacheWrite1h: 2 }
    const { costOf } = catalogueOf({ models: { mine: own } }, absent)
    expect(costOf('home', 'mine', usage)).toBeCloseTo(14.6)
  })

  test('a cache without a price costs what input costs', async () => {
    const { costOf } = catalogueOf({ models: { mine: { input: 1, output: 10 } } }, absent)
    expect(await costOf('home', 'mine', usage)).toBeCloseTo(14)
  })

  test('half a price is no price', async () => {
    const { costOf } = createCatalogue({ models: { mine: { input: 1 } } })
    expect(await costOf('home', 'mine', usage)).toBeUndefined()
  })

  test('one field replaced leaves the others as they are listed, tiers included', async () => {
    const models = { 'claude-sonnet-4-5': { output: 100 } }
    const { costOf } = createCatalogue({ models })
    const small = { input: 100_000, output: 1_000_000 }
    const large = { input: 300_000, output: 1_000_000, cacheRead: 100_000 }
    expect(await costOf('anthropic', 'claude-sonnet-4-5', small)).toBeCloseTo(0.3 + 100)
    expect(await costOf('anthropic', 'claude-sonnet-4-5', large)).toBeCloseTo(1.8 + 0.06 + 100)
  })

  test('`provider/model` counts before `model`, field by field', async () => {
    const models = { m: { input: 1, output: 1, contextWindow: 10 }, 'a/m': { input: 5, contextWindow: 20 } }
    const { costOf, modelInfo } = catalogueOf({ models }, absent)
    expect(await costOf('a', 'm', { input: 1_000_000, output: 1_000_000 })).toBeCloseTo(6)
    expect(await costOf('b', 'm', { input: 1_000_000, output: 1_000_000 })).toBeCloseTo(2)
    expect(await modelInfo('a', 'm')).toEqual({ contextWindow: 20 })
    expect(await modelInfo('b', 'm')).toEqual({ contextWindow: 10 })
  })

  test('a window of its own changes no price', async () => {
    const { costOf, modelInfo } = createCatalogue({ models: { 'gpt-5.1': { contextWindow: 64_000 } } })
    expect(await modelInfo('openai', 'gpt-5.1')).toMatchObject({ contextWindow: 64_000, name: expect.any(String) })
    expect(await costOf('openai', 'gpt-5.1', { input: 1000, output: 0 })).toBe(
      await createCatalogue().costOf('openai', 'gpt-5.1', { input: 1000, output: 0 }),
    )
  })

  test.each([Number.NaN, -1, '3' as unknown as number])('a price of %s is refused by name', (input) => {
    expect(() => createCatalogue({ models: { mine: { input } } })).toThrow(/models\["mine"\]\.input .*got/)
  })
})

describe('a window is known where the list has one', () => {
  test.each([
    ['anthropic', 'claude-opus-5-5', 1_000_000],
    ['openai', 'gpt-5.1', 400_000],
    ['xai', 'grok-4.5', 500_000],
    ['cerebras', 'gpt-oss-120b', 131_072],
  ])('%s: %s', async (provider, model, contextWindow) => {
    expect(await createCatalogue().modelInfo(provider, model)).toMatchObject({ contextWindow })
  })

  test('an unlisted model has no information', async () => {
    expect(await createCatalogue().modelInfo('openai', 'gpt-99-imaginary')).toBeUndefined()
  })

  test('Gemini’s own way to write a model is understood', async () => {
    const usage = { input: 1000, output: 10 }
    const { costOf } = createCatalogue()
    expect(await costOf('google', 'models/gemini-2.5-pro', usage)).toBe(await costOf('google', 'gemini-2.5-pro', usage))
    expect(await costOf('google', 'gemini-2.5-pro', usage)).toBeGreaterThan(0)
  })
})

describe('the models of a provider', () => {
  test('are those of the price list under its own name for it', async () => {
    const { models } = createCatalogue()
    expect(await models('anthropic')).toContain('claude-haiku-4-5')
    expect(await models('xai')).toEqual(expect.arrayContaining([expect.stringMatching(/^grok-/)]))
    expect(await models('my-openai-proxy')).toEqual([])
  })

  test('are none where the list is not installed, or has nothing to say about servers at home', async () => {
    expect(await catalogueOf({}, absent).models('anthropic')).toEqual([])
    const { load, loads } = counted()
    expect(await catalogueOf({}, load).models('ollama')).toEqual([])
    expect(loads()).toBe(0)
  })
})

import { calcPrice } from '@pydantic/genai-prices'
import { describe, expect, test } from 'vitest'
import { fakeService } from '../../../test/oracles/loopback.ts'
import { type ServiceName, serviceCases, services } from '../../../test/oracles/services.ts'
import { type Spent, speak } from '../../../test/oracles/streams.ts'
import { createAgent } from '../../create-agent.ts'
import type { ServiceOptions } from '../service.ts'

const spent: Spent = { input: 1000, output: 200, cacheRead: 5000, cacheWrite: 0 }

describe('the cost of a run', () => {
  test.each<[ServiceName, string, Spent]>([
    ['anthropic', 'claude-sonnet-4-5', { ...spent, cacheWrite: 3000 }],
    ['anthropic', 'claude-opus-4-5', spent],
    ['openai', 'gpt-5', spent],
    ['google', 'gemini-2.5-pro', spent],
    ['cerebras', 'gpt-oss-120b', { ...spent, cacheRead: 0 }],
    ['openrouter', 'anthropic/claude-sonnet-4.5', { ...spent, cacheRead: 0 }],
  ])('at %s with %s is that of the catalogue', async (name, model, usage) => {
    const stats = await run(name, { defaultModel: model }, usage)
    const { input, output, cacheRead, cacheWrite } = usage
    const counted = {
      input_tokens: input + cacheRead + cacheWrite,
      output_tokens: output,
      cache_read_tokens: cacheRead,
      cache_write_tokens: cacheWrite,
    }
    const listed = calcPrice(counted, model, { providerId: name })
    expect(listed?.total_price).toBeGreaterThan(0)
    expect(stats.cost).toBeCloseTo(listed!.total_price, 12)
    expect(stats.turnUsage).toMatchObject([{ input, output, model, cost: stats.cost }])
  })

  test.each(serviceCases)('at %s with an unlisted model is unknown, not zero', async (name) => {
    const stats = await run(name, { defaultModel: 'made-up-model-1' })
    expect(stats).not.toHaveProperty('cost')
    expect(stats.turnUsage[0]).not.toHaveProperty('cost')
    expect(stats.turnUsage[0]).toMatchObject({ input: 1000, output: 200 })
  })

  test.each(serviceCases)('at %s is the caller’s price, if there is one', async (name) => {
    const models = { 'made-up-model-1': { input: 2, output: 10, cacheRead: 0.5 } }
    const stats = await run(name, { defaultModel: 'made-up-model-1', prices: { models } })
    expect(stats.cost).toBeCloseTo((1000 * 2 + 200 * 10 + 5000 * 0.5) / 1_000_000, 12)
  })

  test.each(serviceCases)('at %s is not looked up when no prices are wanted', async (name) => {
    expect(await run(name, { prices: false })).not.toHaveProperty('cost')
    expect(await run(name, { prices: { prices: false } })).not.toHaveProperty('cost')
  })

  test('at OpenRouter is what OpenRouter says', async () => {
    const answer = speak('openai-chat', { text: 'hello', usage: spent }).replace('"usage":{', '"usage":{"cost":0.0042,')
    const { fetch, asked } = fakeService(answer)
    const provider = services.openrouter.make({ fetch, apiKey: 'key' })
    const stats = await createAgent({ provider }).run({ prompt: 'hi' })
    expect(stats.cost).toBe(0.0042)
    expect(asked[0]!.body.usage).toEqual({ include: true })
  })
})

async function run(name: ServiceName, options: ServiceOptions, usage: Spent = spent) {
  const { make, wire } = services[name]
  const { fetch } = fakeService(speak(wire, { text: 'hello', usage }))
  return createAgent({ provider: make({ fetch, apiKey: 'key', ...options }) }).run({ prompt: 'hi' })
}

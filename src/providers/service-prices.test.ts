import { describe, expect, test } from 'vitest'
import { plainProvider } from '../core/provider.ts'
import { aiSdk } from './ai-sdk/ai-sdk.ts'
import { withAliases } from './aliases.ts'
import { catalogueLookups } from './service.ts'
import { anthropic } from './services/anthropic.ts'
import { withoutVision } from './without-vision.ts'

const rates = { input: 1, output: 2, cacheRead: 0.1, cacheWrite: 1.25, cacheWrite1h: 2, contextWindow: 1000 }
const million = { input: 1_000_000, output: 1_000_000 }

describe('what a provider says about its models', () => {
  test('prices are what the options say, a promise only the first time', async () => {
    const { costOf } = catalogueLookups('anthropic', { models: { mine: rates } })
    expect(await costOf('mine', million)).toBe(3)
    expect(costOf('mine', million)).toBe(3)
  })

  test('and otherwise what the catalogue says', async () => {
    const { costOf, contextWindow } = catalogueLookups('anthropic', undefined)
    expect(await costOf('claude-sonnet-4-5', million)).toBeGreaterThan(1)
    expect(await contextWindow('claude-sonnet-4-5')).toBeGreaterThan(100_000)
    expect(await costOf('unlisted-model', million)).toBeUndefined()
    expect(await contextWindow('unlisted-model')).toBeUndefined()
  })

  test('no price where none is wanted, but still a window', async () => {
    const { costOf, contextWindow } = catalogueLookups('anthropic', false)
    expect(await costOf('claude-sonnet-4-5', million)).toBeUndefined()
    expect(await contextWindow('claude-sonnet-4-5')).toBeGreaterThan(100_000)
  })

  test('a catalogue that could not be made is made by the next question', async () => {
    let failures = 1
    const { costOf, contextWindow } = catalogueLookups('anthropic', {
      get models() {
        if (failures-- > 0) throw new Error('not loaded')
        return { mine: rates }
      },
    })
    await expect(contextWindow('mine')).rejects.toThrow('not loaded')
    expect(await contextWindow('mine')).toBe(1000)
    expect(costOf('mine', million)).toBe(3)
  })

  test('a service has both, whatever stands around it', async () => {
    const service = anthropic({ apiKey: 'k', prices: { models: { mine: rates } } })
    const blind = { ...plainProvider(service), meta: { ...service.meta, capabilities: { vision: false } } }
    const decorated = withAliases(withoutVision(blind), { read_file: 'Read' })
    expect(await decorated.costOf?.('mine', million)).toBe(3)
    expect(await decorated.contextWindow?.('mine')).toBe(1000)
  })

  test('a model of the AI SDK has what its options say', async () => {
    const doStream = () => Promise.reject(new Error('not asked'))
    const model = { specificationVersion: 'v2', provider: 'p', modelId: 'm', doStream } as const
    expect(aiSdk(model).costOf).toBeUndefined()
    const provider = aiSdk(model, { costOf: () => 7, contextWindow: () => 9 })
    expect(provider.costOf?.('m', million)).toBe(7)
    expect(provider.contextWindow?.('m')).toBe(9)
  })
})

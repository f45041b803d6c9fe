import { describe, expect, test } from 'vitest'
import { fakeService } from '../../../test/oracles/loopback.ts'
import { speak, type WireName } from '../../../test/oracles/streams.ts'
import type { Provider } from '../../core/provider.ts'
import type { ThinkingLevel } from '../../core/thinking.ts'
import { createAgent } from '../../create-agent.ts'
import { tool } from '../../testing/index.ts'
import type { Behavior } from '../../types.ts'
import type { ServiceOptions } from '../service.ts'
import { anthropic } from './anthropic.ts'
import { cerebras } from './cerebras.ts'
import { google } from './google.ts'
import { openai } from './openai.ts'
import { openaiCompat } from './openai-compat.ts'
import { openrouter } from './openrouter.ts'

const make = {
  anthropic,
  openai,
  openrouter,
  cerebras,
  google,
  acme: (options) => openaiCompat({ name: 'acme', baseURL: 'https://acme.example', ...options, defaultModel: 'm' }),
  deepseek: (options) => openaiCompat({ name: 'deepseek', ...options }),
  together: (options) => openaiCompat({ name: 'together', ...options }),
  groq: (options) => openaiCompat({ name: 'groq', ...options }),
} satisfies Record<string, (options: ServiceOptions & { defaultModel: string }) => Provider>

type Name = keyof typeof make
type Case = readonly [name: Name, model: string, levels: Readonly<Record<ThinkingLevel, object>>]

/** What is left of the output for an answer of 2000 tokens, with the room for thinking on top. */
const room = { off: 2000, minimal: 3024, low: 6096, medium: 12_240, high: 34_768 } as const

const budgeted = (budget_tokens: number) => ({
  max_tokens: 2000 + budget_tokens,
  thinking: { type: 'enabled', budget_tokens },
})
const tried = (max_tokens: number, effort: string) => ({
  max_tokens,
  thinking: { type: 'adaptive', display: 'summarized' },
  output_config: { effort },
})
const responses = (max_output_tokens: number, effort?: string) => ({
  max_output_tokens,
  ...(effort && { reasoning: effort === 'none' ? { effort } : { effort, summary: 'auto' } }),
})
const gemini = (maxOutputTokens: number, thinkingConfig?: object) => ({
  generationConfig: { maxOutputTokens, ...(thinkingConfig && { thinkingConfig }) },
})
const shown = (config: object) => ({ includeThoughts: true, ...config })

const cases: readonly Case[] = [
  [
    'anthropic',
    'claude-sonnet-4-5',
    {
      off: { max_tokens: 2000 },
      minimal: budgeted(1024),
      low: budgeted(4096),
      medium: budgeted(10_240),
      high: budgeted(32_768),
      adaptive: { max_tokens: 2000 },
    },
  ],
  [
    'anthropic',
    'claude-opus-4-6',
    {
      off: { max_tokens: 2000 },
      minimal: budgeted(1024),
      low: budgeted(4096),
      medium: budgeted(10_240),
      high: budgeted(32_768),
      adaptive: { max_tokens: 2000, thinking: { type: 'adaptive' } },
    },
  ],
  [
    'anthropic',
    'claude-sonnet-5',
    {
      off: { max_tokens: 2000, thinking: { type: 'disabled' } },
      minimal: tried(room.minimal, 'low'),
      low: tried(room.low, 'low'),
      medium: tried(room.medium, 'medium'),
      high: tried(room.high, 'high'),
      adaptive: { max_tokens: 2000, thinking: { type: 'adaptive', display: 'summarized' } },
    },
  ],
  [
    'openai',
    'gpt-5.5',
    {
      off: responses(room.off, 'none'),
      minimal: responses(room.minimal, 'low'),
      low: responses(room.low, 'low'),
      medium: responses(room.medium, 'medium'),
      high: responses(room.high, 'high'),
      adaptive: responses(room.off, 'none'),
    },
  ],
  [
    'openai',
    'gpt-4.1',
    {
      off: responses(room.off),
      minimal: responses(room.off),
      low: responses(room.off),
      medium: responses(room.off),
      high: responses(room.off),
      adaptive: responses(room.off),
    },
  ],
  [
    'openrouter',
    'anthropic/claude-sonnet-5',
    {
      off: { max_tokens: room.off },
      minimal: { max_tokens: room.minimal, reasoning: { effort: 'minimal' } },
      low: { max_tokens: room.low, reasoning: { effort: 'low' } },
      medium: { max_tokens: room.medium, reasoning: { effort: 'medium' } },
      high: { max_tokens: room.high, reasoning: { effort: 'high' } },
      adaptive: { max_tokens: room.off },
    },
  ],
  [
    'cerebras',
    'gpt-oss-120b',
    {
      off: { max_completion_tokens: room.off },
      minimal: { max_completion_tokens: room.minimal, reasoning_effort: 'low' },
      low: { max_completion_tokens: room.low, reasoning_effort: 'low' },
      medium: { max_completion_tokens: room.medium, reasoning_effort: 'medium' },
      high: { max_completion_tokens: room.high, reasoning_effort: 'high' },
      adaptive: { max_completion_tokens: room.off },
    },
  ],
  [
    'google',
    'gemini-2.5-flash',
    {
      off: gemini(room.off, { thinkingBudget: 0 }),
      minimal: gemini(room.minimal, shown({ thinkingBudget: 1024 })),
      low: gemini(room.low, shown({ thinkingBudget: 4096 })),
      medium: gemini(room.medium, shown({ thinkingBudget: 10_240 })),
      high: gemini(2000 + 24_576, shown({ thinkingBudget: 24_576 })),
      adaptive: gemini(room.off, { thinkingBudget: 0 }),
    },
  ],
  [
    'google',
    'gemini-3-pro-preview',
    {
      // There is no way to turn it off.
      off: gemini(room.low, { thinkingLevel: 'LOW' }),
      minimal: gemini(room.minimal, shown({ thinkingLevel: 'LOW' })),
      low: gemini(room.low, shown({ thinkingLevel: 'LOW' })),
      medium: gemini(room.medium, shown({ thinkingLevel: 'HIGH' })),
      high: gemini(room.high, shown({ thinkingLevel: 'HIGH' })),
      adaptive: gemini(room.low, { thinkingLevel: 'LOW' }),
    },
  ],
  [
    'acme',
    'm',
    {
      off: { max_tokens: room.off },
      minimal: { max_tokens: room.off },
      low: { max_tokens: room.off },
      medium: { max_tokens: room.off },
      high: { max_tokens: room.off },
      adaptive: { max_tokens: room.off },
    },
  ],
  [
    'deepseek',
    'deepseek-chat',
    {
      off: { max_tokens: room.off, thinking: { type: 'disabled' } },
      minimal: { max_tokens: room.minimal, thinking: { type: 'enabled' } },
      low: { max_tokens: room.low, thinking: { type: 'enabled' } },
      medium: { max_tokens: room.medium, thinking: { type: 'enabled' } },
      high: { max_tokens: room.high, thinking: { type: 'enabled' } },
      adaptive: { max_tokens: room.off, thinking: { type: 'disabled' } },
    },
  ],
  [
    'together',
    'openai/gpt-oss-120b',
    {
      off: { max_tokens: room.off, reasoning: { enabled: false } },
      minimal: { max_tokens: room.minimal, reasoning: { enabled: true } },
      low: { max_tokens: room.low, reasoning: { enabled: true } },
      medium: { max_tokens: room.medium, reasoning: { enabled: true } },
      high: { max_tokens: room.high, reasoning: { enabled: true } },
      adaptive: { max_tokens: room.off, reasoning: { enabled: false } },
    },
  ],
  [
    'groq',
    'openai/gpt-oss-120b',
    {
      off: { max_completion_tokens: room.off },
      minimal: { max_completion_tokens: room.minimal, reasoning_effort: 'low' },
      low: { max_completion_tokens: room.low, reasoning_effort: 'low' },
      medium: { max_completion_tokens: room.medium, reasoning_effort: 'medium' },
      high: { max_completion_tokens: room.high, reasoning_effort: 'high' },
      adaptive: { max_completion_tokens: room.off },
    },
  ],
]

describe('what is asked for', () => {
  const table = cases.flatMap(([name, model, levels]) =>
    (Object.entries(levels) as [ThinkingLevel, object][]).map(
      ([level, wanted]) => [level, name, model, wanted] as const,
    ),
  )

  test.each(table)('A184 at level %s of %s, model %s', async (level, name, model, wanted) => {
    const [asked] = await thoughts(name, model, { thinking: level, behavior: { maxTokens: 2000 } })
    expect(asked).toEqual(wanted)
  })

  test.each<[Name, string, object]>([
    ['anthropic', 'claude-sonnet-4-5', budgeted(5000)],
    ['anthropic', 'claude-sonnet-5', tried(7000, 'low')],
    ['openai', 'gpt-5.5', responses(7000, 'low')],
    ['openrouter', 'm', { max_tokens: 7000, reasoning: { max_tokens: 5000 } }],
    ['cerebras', 'gpt-oss-120b', { max_completion_tokens: 7000, reasoning_effort: 'low' }],
    ['google', 'gemini-2.5-flash', gemini(7000, shown({ thinkingBudget: 5000 }))],
    ['google', 'gemini-3-pro-preview', gemini(7000, shown({ thinkingLevel: 'LOW' }))],
    ['deepseek', 'deepseek-chat', { max_tokens: 7000, thinking: { type: 'enabled' } }],
  ])('A185 with a budget of 5000 in place of the level’s by %s, model %s', async (name, model, wanted) => {
    const run = { thinking: 'low', behavior: { maxTokens: 2000, thinkingBudget: 5000 } } as const
    const [asked] = await thoughts(name, model, run)
    expect(asked).toEqual(wanted)
  })

  test.each([
    [2000, 2000],
    [9000, 8000],
  ])(
    'A185 of an adaptive model with a budget of %i is at most %i tokens in all',
    async (thinkingBudget, max_tokens) => {
      const behavior = { maxTokens: 8000, thinkingBudget }
      const [asked] = await thoughts('anthropic', 'claude-sonnet-5', { thinking: 'adaptive', behavior })
      expect(asked).toEqual({ max_tokens, thinking: { type: 'adaptive', display: 'summarized' } })
      // Others run without reasoning, and the budget means nothing to them.
      const [elsewhere] = await thoughts('openrouter', 'm', { thinking: 'adaptive', behavior })
      expect(elsewhere).toEqual({ max_tokens: 8000 })
    },
  )

  test('A184 of a model that must call a tool is no thinking', async () => {
    const schema = { type: 'object', properties: { a: { type: 'number' } }, required: ['a'] }
    const calls = [{ id: 'c1', name: '__output__', input: { a: 1 } }]
    const { fetch, asked } = fakeService(speak('openai-chat', { text: 'done' }), speak('openai-chat', { calls }))
    const provider = openaiCompat({ name: 'deepseek', fetch, apiKey: 'key', prices: false })
    const stats = await createAgent({ provider }).run({ prompt: 'go', thinking: 'high', behavior: { schema } })
    expect(stats.output).toEqual({ a: 1 })
    expect(asked.map(({ body }) => body.thinking)).toEqual([{ type: 'enabled' }, { type: 'disabled' }])
  })
})

describe('thinking that decays', () => {
  const decay = { afterTurn: 5, factor: 0.5, floor: 1024 }
  const vector = [8192, 8192, 8192, 8192, 8192, 4096, 2048, 1024, 1024]
  const behavior: Behavior = { maxTokens: 2000, thinkingBudget: 8192, thinkingDecay: decay }

  // biome-ignore lint/suspicious/noExplicitAny: bodies are looked into at will
  test.each<[Name, string, (asked: any) => unknown]>([
    ['anthropic', 'claude-sonnet-4-5', ({ thinking }) => thinking.budget_tokens],
    ['anthropic', 'claude-sonnet-5', ({ max_tokens }) => max_tokens - 2000],
    ['openai', 'gpt-5.5', ({ max_output_tokens }) => max_output_tokens - 2000],
    ['openrouter', 'm', ({ max_tokens }) => max_tokens - 2000],
    ['cerebras', 'gpt-oss-120b', ({ max_completion_tokens }) => max_completion_tokens - 2000],
    ['google', 'gemini-2.5-flash', ({ generationConfig }) => generationConfig.thinkingConfig.thinkingBudget],
  ])('A186 is asked of %s, model %s, turn by turn', async (name, model, read) => {
    const asked = await thoughts(name, model, { thinking: 'medium', behavior }, 9)
    expect(asked.map(read)).toEqual(vector)
  })

  test('A187 is never more than the budget, and at nothing is off', async () => {
    const wishes = [2 * 8192, 2048, -5]
    const asked = await thoughts(
      'anthropic',
      'claude-sonnet-4-5',
      { thinking: 'high', behavior: { ...behavior, thinkingDecay: (turn) => wishes[turn - 1]! } },
      3,
    )
    expect(asked).toEqual([budgeted(8192), budgeted(2048), { max_tokens: 2000 }])
  })

  test('A187 is nothing without a budget', async () => {
    const run = { thinking: 'high', behavior: { maxTokens: 2000, thinkingDecay: decay } } as const
    const asked = await thoughts('anthropic', 'claude-sonnet-4-5', run, 9)
    expect(asked).toEqual(Array.from({ length: 9 }, () => budgeted(32_768)))
  })
})

type RunOptions = Omit<Parameters<ReturnType<typeof createAgent>['run']>[0] & object, 'prompt'>

/** What was said about thinking in each request of a run of so many turns. */
async function thoughts(name: Name, model: string, run: RunOptions, turns = 1): Promise<object[]> {
  const wire = wireOf(name)
  const calls = (i: number) => [{ id: `call_${i}`, name: 'noop', input: {} }]
  const answers = Array.from({ length: turns - 1 }, (_, i) => speak(wire, { calls: calls(i) }))
  const { fetch, asked } = fakeService(...answers, speak(wire, { text: 'done' }))
  const provider = make[name]({ fetch, apiKey: 'key', prices: false, defaultModel: model })
  await createAgent({ provider, tools: { noop: tool('noop', () => 'ok') } }).run({ prompt: 'go', ...run })
  expect(asked).toHaveLength(turns)
  return asked.map(({ body }) => pick(body))
}

const about = [
  ...['thinking', 'output_config', 'max_tokens', 'max_completion_tokens', 'max_output_tokens'],
  ...['reasoning', 'reasoning_effort', 'generationConfig'],
]

const pick = (body: object): object =>
  Object.fromEntries(Object.entries(body).filter(([field]) => about.includes(field)))

function wireOf(name: Name): WireName {
  if (name === 'anthropic') return 'anthropic-messages'
  if (name === 'openai') return 'openai-responses'
  return name === 'google' ? 'gemini' : 'openai-chat'
}

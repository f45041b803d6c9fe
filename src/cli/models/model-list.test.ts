import { expect, test } from 'vitest'
import { traitsOf } from './model-list.ts'

test.each([
  ['claude-sonnet-4-5-20250929', { maxOutput: 64_000, reasoning: true }],
  ['claude-opus-4-1', { maxOutput: 32_000, reasoning: true }],
  ['anthropic/claude-3.5-haiku', { maxOutput: 8192 }],
  ['claude-opus-9', { reasoning: true }],
  ['gpt-4o-mini', { maxOutput: 16_384 }],
  ['gpt-5-mini', { maxOutput: 128_000, reasoning: true }],
  ['o3', { maxOutput: 100_000, reasoning: true }],
  ['models/gemini-2.5-pro', { maxOutput: 65_536, reasoning: true }],
  ['qwen3:8b', { reasoning: true }],
  ['pro3-large', {}],
  ['llama-3.3-70b', {}],
])('the known traits of %s are %j', (id, traits) => {
  expect(traitsOf(id)).toEqual(traits)
})

import { expect, test } from 'vitest'
import { createAgent } from '../index.ts'
import { call, memoryExecution, scripted, texts } from '../testing/index.ts'
import { glob } from './glob.ts'

test('A127 it may run beside others, and says what it does', () => {
  expect(glob.isConcurrencySafe).toBe(true)
  expect(glob.replay).toBe('pure')
  expect(glob.effects).toEqual(['fs.read'])
  expect(glob.touches?.({ pattern: '*', path: 'src' })).toEqual([{ path: 'src', access: 'search' }])
  expect(glob.deriveApprovalKey?.({ pattern: '*' })).toBe('.')
  expect(glob.timeoutMs).toBeGreaterThan(50_000)
})

test.each([
  [{ pattern: '' }, '"pattern" is empty'],
  [{ pattern: '*', head_limit: -1 }, '"head_limit" must be a whole number'],
])('%j is refused before anything runs', async (input, words) => {
  const provider = scripted([call('1', 'glob', input)], 'done')
  const agent = createAgent({ provider, tools: { glob }, execution: memoryExecution() })
  await agent.run({ prompt: 'go' })
  expect(texts(agent.turns)[2]).toContain(`Validation error: ${words}`)
})

test('through an agent, results and failures are texts that the model can read', async () => {
  const calls = [call('1', 'glob', { pattern: '**/*.ts' }), call('2', 'glob', { pattern: '[' })]
  const execution = memoryExecution({ files: { 'src/a.ts': '', 'b.md': '' } })
  const agent = createAgent({ provider: scripted(calls, 'done'), tools: { glob }, execution })
  await agent.run({ prompt: 'go' })
  expect(texts(agent.turns)[2]).toMatch(/^user: ←src\/a\.ts ←Tool error: the pattern "\[" cannot be used: /)
})

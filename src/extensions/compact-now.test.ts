import { describe, expect, test } from 'vitest'
import { AgentAbortedError } from '../core/errors.ts'
import type { ModelRequest } from '../core/provider.ts'
import { createAgent } from '../index.ts'
import { call, type ScriptedProvider, type Step, scripted, tool } from '../testing/index.ts'
import { type CompactNow, compactNow } from './compact-now.ts'

const look = tool('look', () => 'seen')

function start(...steps: readonly Step[]): {
  provider: ScriptedProvider
  compaction: CompactNow
  agent: ReturnType<typeof createAgent>
} {
  const provider = scripted(...steps)
  const compaction = compactNow()
  return { provider, compaction, agent: createAgent({ provider, tools: { look }, extensions: [compaction] }) }
}

const isSummary = ({ system }: ModelRequest): boolean => system.startsWith('You condense')
const shown = (request: ModelRequest | undefined): string[] =>
  (request?.messages ?? []).map(
    ({ role, content }) =>
      `${role}: ${content.map((block) => (block.type === 'text' ? block.text : block.type)).join(' ')}`,
  )

describe('compacting on request', () => {
  test('C025 keeps the last four messages behind a summary with its heading', async () => {
    const { agent, compaction, provider } = start('a1', 'a2', 'a3', 'All about it.', 'a4')
    for (const prompt of ['q1', 'q2', 'q3']) await agent.run({ prompt })
    expect(await compaction.compact(agent)).toBe('All about it.')
    expect(isSummary(provider.requests[3]!)).toBe(true)
    await agent.run({ prompt: 'q4' })
    expect(shown(provider.requests[4])).toEqual([
      'user: ## Context Summary (compacted)\n\nAll about it.',
      'user: q2',
      'assistant: a2',
      'user: q3',
      'assistant: a3',
      'user: q4',
    ])
  })

  test('a second summary carries the first one on', async () => {
    const { agent, compaction, provider } = start('a1', 'a2', 'a3', 'First.', 'a4', 'Second.', 'a5')
    for (const prompt of ['q1', 'q2', 'q3']) await agent.run({ prompt })
    await compaction.compact(agent)
    await agent.run({ prompt: 'q4' })
    await compaction.compact(agent)
    expect(JSON.stringify(provider.requests[5]!.messages)).toMatch(/<previous_summary>\\nFirst\.\\n/)
    await agent.run({ prompt: 'q5' })
    expect(shown(provider.requests[6])[0]).toBe('user: ## Context Summary (compacted)\n\nSecond.')
    expect(shown(provider.requests[6])).toHaveLength(6)
  })

  test('C025 results whose call was summed up are gone with it', async () => {
    const { agent, compaction, provider } = start('a1', [call('1', 'look', {})], 'a2', 'a3', 'Sum.', 'a4')
    for (const prompt of ['q1', 'q2', 'q3']) await agent.run({ prompt })
    // q1 a1 q2 call | result a2 q3 a3
    await compaction.compact(agent)
    await agent.run({ prompt: 'q4' })
    expect(shown(provider.requests.at(-1))).toEqual([
      'user: ## Context Summary (compacted)\n\nSum.',
      'assistant: a2',
      'user: q3',
      'assistant: a3',
      'user: q4',
    ])
  })

  test('asks the model for nothing but the summary, also where a prompt has no answer yet', async () => {
    const { agent, compaction, provider } = start('a1', 'a2', new Error('no'), 'Sum.')
    await agent.run({ prompt: 'q1' })
    await agent.run({ prompt: 'q2' })
    await expect(agent.run({ prompt: 'q3' })).rejects.toThrow('no')
    await compaction.compact(agent)
    expect(provider.requests).toHaveLength(4)
    expect(agent.log.transcript.messagesFor(agent.meta.name)).toHaveLength(5)
  })

  test('C025 an empty conversation has nothing to compact', async () => {
    const { agent, compaction, provider } = start()
    await expect(compaction.compact(agent)).rejects.toThrow(/nothing to compact: the conversation is empty/)
    expect(provider.requests).toHaveLength(0)
  })

  test('C025 nor has one that would be kept whole', async () => {
    const { agent, compaction, provider } = start('a1', 'a2')
    for (const prompt of ['q1', 'q2']) await agent.run({ prompt })
    await expect(compaction.compact(agent)).rejects.toThrow(/nothing to compact: the last 4 messages are always kept/)
    expect(provider.requests).toHaveLength(2)
  })

  test.each<[string, Step, RegExp]>([
    ['an empty one', '  ', /no summary/],
    ['a failure', new Error('the service is down'), /no summary could be had: .*the service is down/],
  ])('C025 with %s in place of a summary everything stays as it was', async (_, step, why) => {
    const { agent, compaction, provider } = start('a1', 'a2', 'a3', step, step, step, 'a4')
    for (const prompt of ['q1', 'q2', 'q3']) await agent.run({ prompt })
    await expect(compaction.compact(agent)).rejects.toThrow(why)
    expect(agent.log.transcript.messagesFor(agent.meta.name)).toHaveLength(6)
    expect(provider.requests.filter(isSummary).length).toBeGreaterThan(0)
  })

  test('C025 it can be stopped, and then nothing changes', async () => {
    const stopping = new AbortController()
    const { agent, compaction } = start('a1', 'a2', 'a3', () => {
      stopping.abort()
      return 'too late'
    })
    for (const prompt of ['q1', 'q2', 'q3']) await agent.run({ prompt })
    await expect(compaction.compact(agent, { signal: stopping.signal })).rejects.toThrow(AgentAbortedError)
    expect(agent.log.transcript.compaction).toBeUndefined()
  })

  test('what comes later is a run like any other', async () => {
    const { agent, compaction } = start('a1', 'a2', 'a3')
    for (const prompt of ['q1', 'q2']) await agent.run({ prompt })
    await expect(compaction.compact(agent)).rejects.toThrow()
    expect((await agent.run({ prompt: 'q3' })).text).toBe('a3')
  })
})

import { describe, expect, test } from 'vitest'
import { type Clock, systemClock } from '../../core/clock.ts'
import type { ToolDef } from '../../core/tool.ts'
import { createAgent, createMemoryStore, createSession, loadSession } from '../../index.ts'
import { call, fakeClock, type Step, scripted, texts, tool } from '../../testing/index.ts'
import type { PluginEntry, PluginServices } from '../plugin.ts'
import { marksOf } from '../tool-marks.ts'
import { spawnAgentPlugin } from './spawn-agent.ts'

const like: Partial<PluginServices> = { childOf: () => ({}) }

function spawnTool(services = like, entry: Partial<PluginEntry> = {}): ToolDef {
  return spawnAgentPlugin.tools!({
    config: {},
    entry: { id: '1', toolId: 'spawn-agent', ...entry },
    services: { agentId: 'a', clock: systemClock, ...services },
  })[0]!
}

async function use(steps: readonly Step[], spawn: ToolDef, more: { clock?: Clock } = {}) {
  const provider = scripted(...steps)
  const agent = createAgent({ provider, tools: { spawn }, ...more })
  let details: unknown
  agent.hooks.hook('tool:after', (done) => void (details = done.details))
  await agent.run({ prompt: 'go' })
  return { told: texts(agent.turns)[2]!.replace('user: ←', ''), details, provider }
}

describe('a sub-agent', () => {
  test('D029 has a conversation of its own, of the chosen definition, and reports once', async () => {
    const asked: unknown[] = []
    const childOf: PluginServices['childOf'] = (id) => {
      asked.push(id)
      return { system: 'You look things up.' }
    }
    const input = { task: 'look', context: 'in the attic', agentDefinitionId: 'finder' }
    const spawn = spawnTool({ childOf, definitionIds: ['finder'] })
    const { told, details, provider } = await use([[call('1', 'spawn-agent', input)], 'found it', 'fin'], spawn)
    expect(asked).toEqual(['finder'])
    expect(told).toBe('found it')
    expect(texts(provider.requests[1]!.messages)).toEqual(['user: look\n\nin the attic'])
    expect(JSON.stringify(provider.requests[1]!.system)).toContain('You look things up.')
    expect(marksOf(details)).toEqual({ duration: 2 })
    expect(details).toMatchObject({ childId: expect.any(String), turns: 1 })
  })

  test.each([
    [undefined, 120_000],
    [5000, 5000],
  ])('D029 that works longer than its limit (%s set) is cancelled after %s ms', async (timeoutMs, limit) => {
    const clock = fakeClock()
    let wasStopped: AbortSignal | undefined
    const hang: Step = (_, signal) => {
      wasStopped = signal
      void clock.advance(limit)
      return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
    }
    const spawn = spawnTool(like, timeoutMs === undefined ? {} : { timeoutMs })
    const { told } = await use([[call('1', 'spawn-agent', { task: 'dig' })], hang, 'fin'], spawn, { clock })
    expect(wasStopped?.aborted).toBe(true)
    expect(told).toMatch(new RegExp(`^Tool error: .*${limit}`))
  })

  test('that waits for a person leaves the call open, and continues in another process', async () => {
    const store = createMemoryStore()
    const ask = tool('ask', (_, { answer, suspend }) => (answer ? 'answered' : suspend('question')), {
      replay: 'keyed',
    })
    const tools = { spawn: spawnTool(), ask }
    const first = scripted([call('1', 'spawn-agent', { task: 'look' })], [call('2', 'ask')])
    const session = await createSession({ store, id: 's' })
    expect(await createAgent({ provider: first, session, tools }).run({ prompt: 'go' })).toMatchObject({
      status: 'suspended',
      stopReason: 'question',
    })
    const [child] = (await store.list()).sessions.map(({ id }) => id).filter((id) => id !== 's')
    await (await loadSession(store, child!)).answer('2', { content: 'yes' })
    const provider = scripted('child done', 'fin')
    const agent = createAgent({ provider, session: await loadSession(store, 's'), tools })
    expect(await agent.run()).toMatchObject({ text: 'fin' })
    expect(texts(provider.requests[0]!.messages)).toEqual(['user: look', expect.any(String), 'user: ←answered'])
    expect(texts(agent.turns)[2]).toBe('user: ←child done')
  })

  test.each<[string, Partial<PluginServices>, object, string]>([
    ['an unknown definition', { ...like, definitionIds: ['a', 'b'] }, { task: 'x', agentDefinitionId: 'c' }, 'a, b'],
    ['an empty task', like, { task: ' ' }, '"task" is empty'],
    ['a host without sub-agents', {}, { task: 'x' }, 'the host offers no `childOf`'],
  ])('%s is told to the model', async (_, services, input, words) => {
    const { told } = await use([[call('1', 'spawn-agent', { ...input })], 'fin'], spawnTool(services))
    expect(told).toContain(words)
  })

  test('needs an approval, and is not offered three levels down', () => {
    expect(spawnAgentPlugin.defaultApproval).toEqual({ 'spawn-agent': { mode: 'confirm' } })
    expect(spawnTool()).toMatchObject({ maxDepth: 3, replay: 'keyed', effects: ['spawn'], isConcurrencySafe: true })
    expect(spawnTool().deriveApprovalKey?.({ task: 'x', agentDefinitionId: 'finder' })).toBe('finder')
  })
})

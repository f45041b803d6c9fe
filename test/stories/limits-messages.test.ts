import { describe, expect, test } from 'vitest'
import { type Agent, createAgent, createMemoryStore, createSession, loadSession } from '../../src/index.ts'
import { call, type Step, scripted, texts, tool } from '../../src/testing/index.ts'
import type { Behavior, Session, SessionStore } from '../../src/types.ts'

const look = (id: string): Step => [call(id, 'look')]
const limits = { turns: 1, warnAt: 1 } as const

interface Case {
  readonly agent: Agent
  readonly session: Session
  readonly store: SessionStore
}

async function agentWith(steps: readonly Step[], behavior: Behavior = { limits }): Promise<Case> {
  const store = createMemoryStore()
  const session = await createSession({ store, id: 's' })
  const tools = { look: tool('look', () => 'seen'), ask: tool('ask', (_, ctx) => ctx.suspend('question')) }
  return { agent: createAgent({ provider: scripted(...steps), session, tools, behavior }), session, store }
}

const mail = (session: Session, mode: 'prompt' | 'steer' | 'followUp', text: string): Promise<unknown> =>
  session.send({ mode, clientKey: text, content: [{ type: 'text', text }] })

describe('messages to an agent whose run has ended', () => {
  test('E05 a prompt sent to a session whose budget is used up starts a new count and is answered', async () => {
    const { agent, session } = await agentWith([look('1'), 'fresh', 'never'])
    expect((await agent.run({ prompt: 'go' })).stopReason).toBe('budget')
    await mail(session, 'prompt', 'again')
    expect(await agent.run()).toMatchObject({ stopReason: 'end', text: 'fresh' })
  })

  test('E05 steering of work that a budget ended goes on with its count; the next prompt brings both', async () => {
    const { agent } = await agentWith([look('1'), 'fresh'])
    await agent.run({ prompt: 'go' })
    await agent.steer('faster')
    expect((await agent.run()).stopReason).toBe('budget')
    expect((await agent.run({ prompt: 'again' })).text).toBe('fresh')
    expect(texts(agent.turns).slice(-3)).toEqual(['user: faster', 'user: again', 'assistant: fresh'])
  })

  test.each(['followUp', 'steer'] as const)('E05 a %s after finished work starts a new count', async (mode) => {
    const { agent } = await agentWith(['one', 'two', 'never'])
    expect((await agent.run({ prompt: 'go' })).stopReason).toBe('end')
    await agent[mode]('and this?')
    expect(await agent.run()).toMatchObject({ stopReason: 'end', text: 'two' })
    expect(await agent.run()).toMatchObject({ stopReason: 'end', turns: 0 })
  })

  test('E05 the same holds for an agent without a session', async () => {
    const agent = createAgent({ provider: scripted('one', 'two', 'never'), behavior: { limits } })
    await agent.run({ prompt: 'go' })
    await agent.followUp('and this?')
    expect(await agent.run()).toMatchObject({ stopReason: 'end', text: 'two' })
  })

  test('E05 and for one that finds the message in its session', async () => {
    const { agent, store } = await agentWith(['one'])
    await agent.run({ prompt: 'go' })
    const session = await loadSession(store, 's')
    await mail(session, 'followUp', 'and this?')
    const later = createAgent({ provider: scripted('two', 'never'), session, behavior: { limits } })
    expect(await later.run()).toMatchObject({ stopReason: 'end', text: 'two' })
  })

  test('a follow-up that was sent during the work stays on its count, however often the agent runs', async () => {
    const { agent } = await agentWith([{ text: 'one', calls: [call('1', 'look')] }, 'two', 'never'], {
      limits: { turns: 2, warnAt: 1 },
    })
    const unhook = agent.hooks.hook('tool:before', () => agent.followUp('go on for ever'))
    expect((await agent.run({ prompt: 'go' })).stopReason).toBe('budget')
    unhook()
    expect(await agent.run()).toMatchObject({ stopReason: 'budget', turns: 0, undelivered: [{ mode: 'followUp' }] })
    expect(await agent.run()).toMatchObject({ stopReason: 'budget', turns: 0 })
  })

  test('work that a follow-up began is counted from there when it goes on', async () => {
    const { agent } = await agentWith(['one', [call('1', 'ask')], 'three', 'never'], {
      limits: { turns: 2, warnAt: 1 },
    })
    await agent.run({ prompt: 'go' })
    await agent.followUp('ask the other one')
    expect((await agent.run()).status).toBe('suspended')
    await agent.steer('never mind')
    expect(await agent.run()).toMatchObject({ stopReason: 'end', text: 'three' })
    expect(texts(agent.turns).at(-1)).toBe('assistant: three')
  })
})

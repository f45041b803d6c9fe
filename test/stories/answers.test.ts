import { describe, expect, test } from 'vitest'
import { createAgent, createMemoryStore, createSession, loadSession, type ToolDef } from '../../src/index.ts'
import { call, scripted, texts, tool } from '../../src/testing/index.ts'
import { createSpawnTool } from '../../src/tools/spawn.ts'
import type { AgentHookMap, SessionStore } from '../../src/types.ts'

/** Every `deploy` needs an approval. */
const asking: AgentHookMap = {
  'tool:gate': (ctx) => {
    if (ctx.name !== 'deploy' || ctx.approval?.decision === 'allow') return
    if (!ctx.block) ctx.halt = { reason: 'approval needed', digest: 'd1', request: { command: 'deploy' } }
  },
}

function deploying(): { tools: Record<string, ToolDef>; ran: string[] } {
  const ran: string[] = []
  return { ran, tools: { deploy: tool('deploy', (_, ctx) => String(ran.push(ctx.callId))) } }
}

async function suspended(store: SessionStore) {
  const { tools, ran } = deploying()
  const session = await createSession({ store, id: 's' })
  const agent = createAgent({ provider: scripted([call('1', 'deploy')]), session, tools, hooks: asking })
  expect(await agent.run({ prompt: 'Deploy.' })).toMatchObject({ status: 'suspended', stopReason: 'approval needed' })
  expect(ran).toEqual([])
  return { tools, ran }
}

describe('an approval is a thing in the log', () => {
  test('that another process finds, answers through the inbox, and the next run acts upon', async () => {
    const store = createMemoryStore()
    const { tools, ran } = await suspended(store)

    const elsewhere = await loadSession(store, 's')
    expect(elsewhere.pending).toEqual([
      {
        callId: '1',
        name: 'deploy',
        input: {},
        reason: 'approval needed',
        digest: 'd1',
        request: { command: 'deploy' },
      },
    ])
    await elsewhere.answer('1', { decision: 'allow', by: 'ann' })

    const session = await loadSession(store, 's')
    const provider = scripted('Deployed.')
    expect(await createAgent({ provider, session, tools, hooks: asking }).run()).toMatchObject({ text: 'Deployed.' })
    expect(ran).toEqual(['1'])
    expect(session.pending).toEqual([])
    const types = (await store.read('s')).map(({ type }) => type)
    expect(types.filter((type) => type.startsWith('approval'))).toEqual(['approval_requested', 'approval_answered'])
  })

  test('whose denial the model reads, with what was said', async () => {
    const store = createMemoryStore()
    const { tools, ran } = await suspended(store)
    await (await loadSession(store, 's')).answer('1', { decision: 'deny', by: 'bob', content: 'not on a Friday' })
    const session = await loadSession(store, 's')
    await createAgent({ provider: scripted('Then not.'), session, tools, hooks: asking }).run()
    expect(ran).toEqual([])
    expect(texts(session.turns)[2]).toBe('user: ←Blocked: denied by bob: not on a Friday')
  })

  test('E07 to which the first answer counts, and a later one is refused unless it says the same', async () => {
    const store = createMemoryStore()
    const { tools, ran } = await suspended(store)
    const [ann, bob] = [await loadSession(store, 's'), await loadSession(store, 's')]
    await ann.answer('1', { decision: 'deny', by: 'ann' })
    await ann.answer('1', { decision: 'deny', by: 'ann' }) // sent again, after a lost connection for instance
    await expect(bob.answer('1', { decision: 'allow', by: 'bob' })).rejects.toThrow(
      'Session/InteractionAlreadyAnswered: call "1" was answered before, with "deny"',
    )
    const session = await loadSession(store, 's')
    await createAgent({ provider: scripted('Then not.'), session, tools, hooks: asking }).run()
    expect(ran).toEqual([])
    expect(texts(session.turns)[2]).toContain('denied by ann')
  })

  test('to which an answer about something else is none', async () => {
    const store = createMemoryStore()
    const { tools, ran } = await suspended(store)
    const answer = { callId: '1', digest: 'another', decision: 'allow', by: 'mallory' } as const
    await store.send('s', { mode: 'answer', clientKey: 'k', content: [], answer })
    const session = await loadSession(store, 's')
    const stats = await createAgent({ provider: scripted('never'), session, tools, hooks: asking }).run()
    expect(stats.status).toBe('suspended')
    expect(ran).toEqual([])
  })

  test('and answering a call that does not wait says which ones do', async () => {
    const store = createMemoryStore()
    await suspended(store)
    const session = await loadSession(store, 's')
    await expect(session.answer('9', { decision: 'allow' })).rejects.toThrow('no call "9" waits for an answer; 1 does')
    await expect(session.answer('1', {})).rejects.toThrow('needs a decision')
  })
})

test('a question that a tool put is answered with content, in another process', async () => {
  const store = createMemoryStore()
  const ask = tool('ask', (_, ctx) => {
    const [said] = ctx.answer ?? ctx.suspend('Which colour?')
    return said?.type === 'text' ? said.text : 'nothing'
  })
  const first = await createSession({ store, id: 's' })
  await createAgent({ provider: scripted([call('1', 'ask')]), session: first, tools: { ask } }).run({
    prompt: 'Paint.',
  })
  const elsewhere = await loadSession(store, 's')
  expect(elsewhere.pending).toMatchObject([{ callId: '1', name: 'ask', reason: 'Which colour?' }])
  await elsewhere.answer('1', { content: 'blue' })
  await expect(elsewhere.answer('1', { content: 'red' })).rejects.toThrow('was answered before, with "blue"')

  const session = await loadSession(store, 's')
  await createAgent({ provider: scripted('Blue it is.'), session, tools: { ask } }).run()
  expect(texts(session.turns)).toEqual(['user: Paint.', 'assistant: →ask({})', 'user: ←blue', 'assistant: Blue it is.'])
})

test('the approval that a child waits for is found from the top and answered in its own session', async () => {
  const store = createMemoryStore()
  const { tools, ran } = deploying()
  const all = { ...tools, spawn: createSpawnTool() }
  const hooks: AgentHookMap = { 'child:tool:gate': asking['tool:gate'] as never }
  const provider = scripted([call('s1', 'spawn', { task: 'deploy' })], [call('1', 'deploy')])
  const first = await createSession({ store, id: 's' })
  const stats = await createAgent({ provider, session: first, tools: all, hooks }).run({ prompt: 'Go.' })
  expect(stats).toMatchObject({ status: 'suspended', stopReason: 'approval needed' })

  const pending = await (await loadSession(store, 's')).pendingInTree()
  expect(pending).toHaveLength(1) // and not the call that waits for the child
  const [waiting] = pending
  expect(waiting).toMatchObject({ sessionId: 's/s1', callId: '1', digest: 'd1' })
  await (await loadSession(store, waiting!.sessionId)).answer('1', { decision: 'allow', by: 'ann' })

  const session = await loadSession(store, 's')
  const again = scripted('child is done', 'all is done')
  expect(await createAgent({ provider: again, session, tools: all, hooks }).run()).toMatchObject({
    text: 'all is done',
  })
  expect(ran).toEqual(['1'])
  expect(texts(session.turns)[2]).toBe('user: ←child is done')
})

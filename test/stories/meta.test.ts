import { describe, expect, test } from 'vitest'
import type { EntryOf } from '../../src/core/log.ts'
import { createAgent } from '../../src/create-agent.ts'
import { exportSession, importSession } from '../../src/sessions/export.ts'
import { createMemoryStore } from '../../src/sessions/memory-store.ts'
import { createSession, loadSession } from '../../src/sessions/session.ts'

import { call, memoryExecution, type Step, scripted, tool } from '../../src/testing/index.ts'

const ada = { sender: 'ada', trace: { id: 7 } }
const bob = { sender: 'bob' }
const text = (words: string) => [{ type: 'text', text: words }] as const

async function desk(...steps: Step[]) {
  const store = createMemoryStore()
  const session = await createSession({ store, id: 's' })
  const provider = scripted(...steps)
  const agent = createAgent({ name: 'desk', provider, session, execution: memoryExecution() })
  return { store, session, provider, agent }
}

describe('E16 the meta of a message', () => {
  test('E16 is in the run, its turn, the hooks and the log, and not in what the model is sent', async () => {
    const { agent, session, store, provider } = await desk('Hello.')
    const heard: unknown[] = []
    agent.hooks.hook('session:start', (ctx) => void heard.push(ctx))
    agent.hooks.hook('session:end', ({ agent, meta }) => void heard.push({ agent, meta }))
    await agent.run({ prompt: 'Hi.', meta: ada })
    const { runId } = session.turns[0]!
    expect(heard).toEqual([
      { runId, agent: 'desk', sessionId: 's', depth: 0, meta: ada },
      { agent: 'desk', meta: ada },
    ])
    expect(session.turns.map(({ meta }) => meta)).toEqual([ada, undefined])
    expect((await store.read('s'))[0]).toMatchObject({ type: 'run_started', agent: 'desk', meta: ada })
    const loaded = await loadSession(store, 's')
    expect([loaded.runs[0], loaded.turns[0]]).toMatchObject([{ agent: 'desk', meta: ada }, { meta: ada }])
    expect(JSON.stringify(provider.requests[0]!.system)).not.toContain('ada')
  })

  test('E16 of steering is told with it, and is the turn’s own unless several senders share the turn', async () => {
    const { agent, session } = await desk([call('c1', 'dig')], [call('c2', 'dig')], 'Done.')
    const told: unknown[] = []
    agent.hooks.hook('steer:inject', ({ message, meta }) => void told.push([message, meta]))
    let digs = 0
    const dig = tool('dig', async () => {
      await agent.steer('one', { meta: ada })
      if (++digs > 1) await agent.steer('two', { meta: bob })
    })
    await agent.run({ prompt: 'Dig.', tools: { dig } })
    const said = session.turns.filter(({ role, content }) => role === 'user' && content[0]?.type === 'text')
    expect(said.map(({ meta }) => meta)).toEqual([undefined, ada, undefined])
    expect(told).toEqual([
      ['one', ada],
      ['one', ada],
      ['two', bob],
    ])
  })

  test('E16 of a prompt that waits in the session is that of the run that takes it up', async () => {
    const { agent, session } = await desk('Hello.')
    await session.send({ mode: 'prompt', clientKey: 'm1', content: text('Hi.'), meta: ada })
    const senders: unknown[] = []
    agent.hooks.around('run', ({ meta }, next) => {
      senders.push(meta)
      return next()
    })
    await agent.run()
    expect(senders).toEqual([ada])
    expect(session.runs[0]).toMatchObject({ meta: ada })
    expect(session.turns[0]!.meta).toEqual(ada)
  })

  test('E16 survives a suspension, a new process, and an export', async () => {
    const ask = tool('ask', (_, { suspend, answer }) => (answer ? 'answered' : suspend('waiting')))
    const { agent, session, store } = await desk([call('c1', 'ask')])
    await agent.run({ prompt: 'Ask.', meta: ada, tools: { ask } })
    await session.answer('c1', { content: 'yes', meta: bob })
    expect(session.log.transcript.inbox).toEqual([])
    const again = await loadSession(store, 's')
    const resumed = createAgent({
      name: 'desk',
      provider: scripted('Done.'),
      session: again,
      execution: memoryExecution(),
    })
    await resumed.run({ tools: { ask } })
    expect(again.runs.map(({ meta }) => meta)).toEqual([ada, ada])
    expect((await store.read('s')).find(({ type }) => type === 'input')).toMatchObject({ mode: 'answer', meta: bob })
    const elsewhere = createMemoryStore()
    await importSession(elsewhere, exportSession(store, 's'), { id: 's' })
    const copy = (await elsewhere.read('s')).filter((entry): entry is EntryOf<'turn'> => entry.type === 'turn')
    expect(copy[0]!.turn.meta).toEqual(ada)
  })

  test('E16 is refused where it is no small object of plain JSON, with what is wrong', async () => {
    const { agent, session } = await desk()
    const since = { since: new Date(0) } as never
    await expect(agent.run({ prompt: 'x', meta: since })).rejects.toThrow(
      'run() option "meta" must be an object of plain JSON',
    )
    const big = { text: 'ä'.repeat(5000) }
    await expect(agent.steer('x', { meta: big })).rejects.toThrow(
      'meta of steer() has 10011 bytes as JSON and may have 8192',
    )
    const item = { mode: 'prompt', clientKey: 'k', content: text('x'), meta: ['ada'] as never } as const
    await expect(session.send(item)).rejects.toThrow('the meta of a message must be an object')
    expect(session.log.head).toBe(0)
  })
})

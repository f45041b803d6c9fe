import { type AgentEvent, followEvents } from '../../src/events/events.ts'
import { type AgentOptions, createAgent, createMemoryStore, createSession, loadSession } from '../../src/index.ts'
import { call, memoryExecution, scripted, tool } from '../../src/testing/index.ts'
import { edit, shell, todowrite } from '../../src/tools/index.ts'
import type { Agent, SessionStore } from '../../src/types.ts'

/** The events of one session, of all its runs, as a screen received them. */
export type Recording = readonly AgentEvent[]

/** Real runs in which everything happens that a screen has to show. */
export const recordings: Readonly<Record<string, () => Promise<Recording>>> = {
  'tools that work, fail, tell their progress, and one that is unknown': () =>
    record({ tools: ownTools, provider: scripted(...manyCalls) }, async (agent) => {
      await agent.run({ prompt: 'Go.' })
      await agent.run({ prompt: 'On.' })
    }),

  'calls that a person allows, refuses, and answers later': async () => {
    const session = await createSession({ store: createMemoryStore() })
    const provider = scripted([call('1', 'mail'), call('2', 'mail')], 'Done.')
    return record({ tools: ownTools, provider, session, hooks: { 'tool:gate': untilAllowed } }, async (agent) => {
      await agent.run({ prompt: 'Go.' })
      for (const decision of ['allow', 'deny'] as const) {
        await session.answer(session.pending[0]!.callId, { decision, by: 'ann', content: 'because' })
        await agent.run()
      }
    })
  },

  'a tool that asks a question, which is answered later': async () => {
    const session = await createSession({ store: createMemoryStore() })
    const provider = scripted([call('1', 'ask')], 'Red it is.')
    return record({ tools: ownTools, provider, session }, async (agent) => {
      await agent.run({ prompt: 'Which?' })
      await session.answer('1', { content: 'red' })
      await agent.run()
    })
  },

  'an edit, a todo list, a background job, and a tool that calls a tool': () => {
    const execution = memoryExecution({ files: { 'a.txt': 'one\ntwo\n' }, exec: () => new Promise(() => {}) })
    const todos = [{ content: 'look', status: 'in_progress' }]
    const provider = scripted(
      [call('1', 'edit', { path: 'a.txt', old_string: 'two', new_string: 'three' }), call('2', 'todowrite', { todos })],
      [call('3', 'shell', { command: 'serve', background: true }), call('4', 'outer')],
      { text: 'Done.', usage: { input: 100, output: 7, cacheRead: 50, cost: 0.25 } },
    )
    const tools = { ...ownTools, edit, todowrite, shell }
    return record({ tools, provider, execution }, (agent) => agent.run({ prompt: 'Go.' }))
  },

  'sub-agents of sub-agents': () => {
    const provider = scripted([call('1', 'delegate')], [call('2', 'delegate')], 'Deepest.', 'Deeper.', 'Done.')
    return record({ tools: { delegate }, provider }, (agent) => agent.run({ prompt: 'Go.' }))
  },

  'an answer that is stopped while it streams': () =>
    record({ provider: scripted('Once upon a time.') }, (agent, onEvent) => {
      onEvent((event) => {
        if (!event.durable && event.type === 'text') agent.abort()
      })
      return agent.run({ prompt: 'Tell.' }).catch(() => {})
    }),

  'a call that is stopped while it runs, and messages that arrive meanwhile': () =>
    record({ tools: ownTools, provider: scripted([call('1', 'wait')], 'Done.', 'More.') }, async (agent, onEvent) => {
      onEvent((event) => {
        if (!event.durable || event.entry.type !== 'call_started') return
        void agent.steer('Hurry.')
        void agent.followUp('And then?')
        setTimeout(() => agent.abort(), 5)
      })
      await agent.run({ prompt: 'Wait.' }).catch(() => {})
      await agent.run({ prompt: 'Again.' })
    }),

  'a service that breaks off, then fails for good': () => {
    const broken = [{ type: 'start' }, { type: 'text', delta: 'Half an ans' }] as const
    const classifyError = () => ({ kind: 'provider_error', retryable: true }) as const
    const provider = scripted(broken, 'A whole answer.', broken, new Error('no'), { options: { classifyError } })
    return record({ provider }, async (agent) => {
      await agent.run({ prompt: 'One.' })
      await agent.run({ prompt: 'Two.' }).catch(() => {})
    })
  },

  'a summary, a rewind, a label and a limit': async () => {
    const session = await createSession({ store: createMemoryStore() })
    const provider = scripted('One.', 'Two.', [call('1', 'say')], [call('2', 'say')])
    return record({ tools: ownTools, provider, session }, async (agent) => {
      await agent.run({ prompt: 'First' })
      const here = session.log.head
      await session.open()
      const summary = [{ type: 'text', text: 'They greeted.' }] as const
      await session.log.append({ type: 'compaction', toSeq: here, summary }, { type: 'label', text: 'greeted' })
      await session.release()
      await agent.run({ prompt: 'Second' })
      await session.rewind(here)
      await agent.run({ prompt: 'Third', behavior: { maxTurns: 1 } })
    })
  },

  'a process that dies during a call, and the next one that continues': async () => {
    const store = withoutOwners(createMemoryStore())
    const first = await createSession({ store, id: 's' })
    const dying = record(
      { tools: ownTools, provider: scripted([call('1', 'hang')]), session: first },
      (agent, onEvent) => {
        void agent.run({ prompt: 'Go.' }).catch(() => {})
        return new Promise<void>((done) =>
          onEvent((event) => event.durable && event.entry.type === 'call_started' && done()),
        )
      },
    )
    const before = await dying
    const session = await loadSession(store, 's')
    const provider = scripted('So it goes.')
    return [...before, ...(await record({ tools: ownTools, provider, session }, (agent) => agent.run()))]
  },
}

const ownTools = {
  fail: tool('fail', () => Promise.reject(new Error('too dark'))),
  say: tool('say', (_, { progress }) => {
    for (const part of ['a third', 'two thirds']) progress(part)
    return 'said'
  }),
  mail: tool('mail', () => 'sent'),
  ask: tool('ask', (_, ctx) => (ctx.answer ? `they said ${JSON.stringify(ctx.answer)}` : ctx.suspend('question'))),
  wait: tool(
    'wait',
    (_, { signal }) => new Promise((_, stop) => signal.addEventListener('abort', () => stop(signal.reason))),
  ),
  hang: tool('hang', () => new Promise(() => {})),
  outer: tool('outer', async (_, ctx) => JSON.stringify(await ctx.call?.('say', {}))),
}

const manyCalls = [
  { thinking: 'Hm. Let me see.', text: 'I look.', calls: [call('1', 'fail'), call('2', 'say'), call('3', 'none')] },
  'One.',
  [call('4', 'say', { text: 'long '.repeat(50) })],
  'Two.',
]

const delegate = tool('delegate', async (_, ctx) => {
  const child = await ctx.createChild({ preset: {} })
  return (await child.run({ prompt: 'Deeper?' })).text
})

type Listen = (listener: (event: AgentEvent) => void) => void

async function record(
  options: AgentOptions,
  work: (agent: Agent, onEvent: Listen) => Promise<unknown>,
): Promise<Recording> {
  const agent = createAgent(options)
  const events: AgentEvent[] = []
  const listeners = [(event: AgentEvent): void => void events.push(event)]
  const stop = followEvents(agent, (event) => {
    for (const listener of listeners) listener(event)
  })
  await work(agent, (listener) => void listeners.push(listener))
  stop()
  return [...events]
}

function untilAllowed(ctx: { approval?: unknown; halt?: { reason: string } }): void {
  if (!ctx.approval) ctx.halt = { reason: 'mail is never sent unasked' }
}

/** A store in which a lease can be taken from a process that seems dead. */
function withoutOwners(store: SessionStore): SessionStore {
  return { ...store, lease: (id, request) => store.lease(id, { ...request, takeOver: true }) }
}

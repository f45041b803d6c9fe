import { describe, expect, test } from 'vitest'
import type { EntryBody } from '../../src/core/log.ts'
import {
  createAgent,
  createMemoryStore,
  createSession,
  type HookContexts,
  type SessionContentBlock,
  type ToolDef,
} from '../../src/index.ts'
import { call, type Step, scripted, texts, tool } from '../../src/testing/index.ts'
import type { Message, ToolCallBlock } from '../../src/types.ts'
import { fail, first, kindOf, resultsOf, story, three, tools, unpaired } from './pairing-story.ts'

// As in pairing.test.ts: `story` checks that each call has exactly one result and that the agent can go on.

const boom = (): never => {
  throw new Error('boom')
}

const brokenTools: [string, ToolDef['execute']][] = [
  ['throws an error', boom],
  ['throws a text', () => fail('a text')],
  ['throws undefined', () => fail(undefined)],
  ['rejects with an error', async () => boom()],
  ['rejects with undefined', () => Promise.reject(undefined)],
  ['returns what cannot be shown', () => (() => {}) as never],
]

const brokenHooks: [keyof HookContexts, ToolCallBlock, RegExp][] = [
  ['tool:gate', call('c1', 'ok', { n: 1 }), /^Blocked: .*boom/],
  ['tool:unknown', call('c1', 'missing'), /^Unknown tool: missing/],
  ['validation:reject', call('c1', 'picky'), /^Validation error: /],
  ['validation:coerce', call('c1', 'picky', { n: '1' }), /^did 1$/],
  ['tool:before', call('c1', 'ok', { n: 1 }), /^did 1$/],
  ['tool:progress', call('c1', 'chatty'), /^did undefined$/],
  ['tool:error', call('c1', 'fatal'), /^Tool error: fatal$/],
  ['tool:transform', call('c1', 'ok', { n: 1 }), /^Tool error: .*withheld.*boom/],
  ['tool:after', call('c1', 'ok', { n: 1 }), /^did 1$/],
  ['tool-results:after', call('c1', 'ok', { n: 1 }), /^did 1$/],
  ['mcp:tool:gate', call('c1', 'mcp_x_far'), /^Blocked: .*boom/],
  ['mcp:tool:before', call('c1', 'mcp_x_far'), /^did undefined$/],
  ['mcp:tool:transform', call('c1', 'mcp_x_far'), /^Tool error: .*withheld.*boom/],
  ['mcp:tool:after', call('c1', 'mcp_x_far'), /^did undefined$/],
]

const hidings: [string, (at: { toSeq: number; asked: string; answered: string }) => EntryBody][] = [
  ['a compaction up to a call', ({ toSeq }) => ({ type: 'compaction', toSeq, summary: user('so far').content })],
  ['hiding a call', ({ asked }) => ({ type: 'context_edit', turnId: asked, block: 1 })],
  ['hiding a result', ({ answered }) => ({ type: 'context_edit', turnId: answered, block: 1 })],
]

describe.each(['in memory', 'in a session'] as const)('a failure leaves no call unanswered %s', (kind) => {
  test.each(brokenTools)('a tool that %s is answered with an error', async (_, execute) => {
    const tools = () => ({ broken: tool('broken', execute) })
    const { results, status } = await story(kind, { calls: [call('c1', 'broken'), call('c2', 'ok', { n: 2 })], tools })
    expect(results).toEqual([expect.stringMatching(/^Tool error: ./), 'did 2'])
    expect(status).toBe('completed')
  })

  test.each(brokenHooks)('a handler of %s that fails leaves no call unanswered', async (name, asked, answer) => {
    for (const fail of [() => boom(), async () => boom()]) {
      const reported: string[] = []
      const { results, status } = await story(kind, {
        calls: [asked, call('last', 'ok', { n: 2 })],
        hooks: () => ({ [name]: first(fail), 'hook:error': ({ hook }) => void reported.push(hook) }),
      })
      expect(results).toEqual([expect.stringMatching(answer), 'did 2'])
      expect([reported, status]).toEqual([[name], 'completed'])
    }
  })

  test.each(['tool:gate', 'tool:error', 'tool:transform', 'tool:unknown'] as const)(
    'a handler of %s that answers nonsense leaves no call unanswered',
    async (name) => {
      for (const nonsense of [() => {}, null, 42, { no: 'output' }, [{ type: 'video' }]]) {
        const asked = { 'tool:error': 'fatal', 'tool:unknown': 'missing' }[name as string] ?? 'ok'
        const { results, status } = await story(kind, {
          calls: [call('c1', asked), call('c2', 'ok', { n: 2 })],
          hooks: () => ({ [name]: first((ctx: object) => void Object.assign(ctx, { result: nonsense })) }),
        })
        expect(results).toEqual([expect.any(String), 'did 2'])
        expect(status).toBe('completed')
      }
    },
  )

  test.each([
    ['throws', () => boom()],
    ['rejects', async () => boom()],
  ])('a `before` of a tool that %s does not keep the call from running', async (_, before) => {
    const tools = () => ({ odd: tool('odd', () => 'did it', { before }) })
    const { results } = await story(kind, { calls: [call('c1', 'odd')], tools })
    expect(results).toEqual(['did it'])
  })

  test('unknown tools, invalid input and unreadable arguments are answered', async () => {
    const half = Object.assign(call('c3', 'ok'), { input: '{"n": "hal' })
    const calls = [call('c1', 'missing'), call('c2', 'picky', {}), half, call('c4', 'ok', { n: 4 })]
    const { results } = await story(kind, { calls })
    expect(results.map(kindOf)).toEqual(['Unknown tool', 'Validation error', 'Validation error', 'did 4'])
  })

  test('a model that repeats the ids of its calls gets one result for each', async () => {
    const twice = [call('c1', 'ok', { n: 1 }), call('c1', 'ok', { n: 2 })]
    const { agent, results, ran } = await story(kind, { calls: twice, more: [twice] })
    expect(results).toEqual(['did 1', 'did 2'])
    expect(ran).toHaveLength(4)
    const ids = agent.turns.flatMap(({ content }) => content.flatMap((b) => (b.type === 'tool_call' ? [b.id] : [])))
    expect(new Set(ids).size).toBe(4)
  })

  test('the result of a nested call never stands for a call of the model', async () => {
    const tools = () => ({ outer: tool('outer', async (_, ctx) => `saw ${(await ctx.call('ok', { n: 7 })).output}`) })
    const calls = [call('c1', 'outer'), call('c1.1', 'ok', { n: 2 })]
    const { results } = await story(kind, { calls, tools })
    expect(results).toEqual(['saw did 7', 'did 2'])
  })

  test('a provider that fails after a turn with calls leaves them answered', async () => {
    const { results, status } = await story(kind, { calls: three('ok'), more: [new Error('down')] })
    expect([results, status]).toEqual([['did 1', 'did 2', 'did 3'], 'error'])
  })
})

describe('turns that were added, cut or hidden from outside', () => {
  test('imported calls that have their results are not run again', async () => {
    const { agent, session, provider, ran } = await stored('fine')
    await session.addTurns([
      user('go'),
      { role: 'assistant', content: [call('c1', 'ok', { n: 1 })] },
      { role: 'user', content: [result('c1', 'did 1')] },
      { role: 'assistant', content: [{ type: 'text', text: 'done' }] },
    ])
    await agent.run({ prompt: 'go on' })
    expect(texts(provider.requests[0]?.messages ?? [])).toEqual([
      'user: go',
      'assistant: →ok({"n":1})',
      'user: ←did 1',
      'assistant: done',
      'user: go on',
    ])
    expect([ran, unpaired(agent.turns)]).toEqual([[], []])
  })

  test('imported calls that lack their results are answered', async () => {
    const { agent, session, provider } = await stored('fine')
    await session.addTurns([user('go'), { role: 'assistant', content: three('ok') }, user('never mind')])
    await agent.run()
    expect([unpaired(agent.turns), unpaired(provider.requests[0]?.messages ?? [])]).toEqual([[], []])
    expect(texts(agent.turns).slice(-2)).toEqual(['user: never mind', 'assistant: fine'])
  })

  test('a message stored while a run is suspended answers the open calls, as a prompt would', async () => {
    const { agent, session, ran } = await stored(three('suspend'), 'fine')
    await agent.run({ prompt: 'go' })
    await session.addTurns([user('never mind')])
    await agent.run()
    expect([unpaired(agent.turns), ran]).toEqual([[], ['suspend 1']])
    expect(resultsOf(agent.turns).map(kindOf)).toEqual(['Skipped', 'Skipped', 'Skipped'])
    expect(texts(agent.turns).slice(-2)).toEqual(['user: never mind', 'assistant: fine'])
  })

  test('a message stored while a call runs does not come between the call and its result', async () => {
    const { agent, session, provider } = await stored(three('ok'), 'fine')
    const add = first(() => session.addTurns([user('by the way')]).catch(() => {})) // it may be refused
    await agent.run({ prompt: 'go', hooks: { 'tool:before': add } })
    expect([unpaired(agent.turns), unpaired(provider.requests[1]?.messages ?? [])]).toEqual([[], []])
  })

  test('going back to a moment between a call and its result leaves no orphan', async () => {
    const { agent, session, seqOf } = await stored(three('ok'), 'fine', 'fine again')
    await agent.run({ prompt: 'go' })
    const toSeq = await seqOf('assistant')
    await session.open()
    await session.log.append({ type: 'rewind', toSeq })
    await session.release()
    expect(unpaired(agent.turns)).toEqual([])
    await agent.run({ prompt: 'go on' })
    expect(unpaired(agent.turns)).toEqual([])
  })

  test.each(hidings)('%s leaves no orphan in the request', async (_, edit) => {
    const { agent, session, provider, seqOf } = await stored(three('ok'), 'fine', 'fine again')
    await agent.run({ prompt: 'go' })
    const [, asked, answered] = agent.turns
    const entry = edit({ toSeq: await seqOf('assistant'), asked: asked!.id, answered: answered!.id })
    await session.open()
    await session.log.append(entry)
    await session.release()
    await agent.run({ prompt: 'go on' })
    expect(unpaired(provider.requests.at(-1)?.messages ?? [])).toEqual([])
    expect(agent.turns.slice(1, 3)).toEqual([asked, answered])
  })

  test.each(['request:prepare', 'context:transform'] as const)('a cut in %s leaves no orphan', async (name) => {
    for (const keep of [0, 1, 3]) {
      const { agent, provider } = await stored(three('ok'), 'fine', 'fine again')
      await agent.run({ prompt: 'go' })
      const cut = (ctx: { messages: readonly Message[] }) => {
        ctx.messages = [...ctx.messages.slice(0, keep), ...ctx.messages.slice(keep + 1)]
      }
      await agent.run({ prompt: 'go on', hooks: { [name]: cut } })
      expect(unpaired(provider.requests.at(-1)?.messages ?? [])).toEqual([])
      expect(unpaired(agent.turns)).toEqual([])
    }
  })
})

async function stored(...script: Step[]) {
  const store = createMemoryStore()
  const session = await createSession({ store, id: 's' })
  const provider = scripted(...script)
  const ran: string[] = []
  const agent = createAgent({ provider, session, tools: tools(ran) })
  /** Where the first turn of a role stands in the log. */
  const seqOf = async (role: Message['role']) => {
    const entry = (await store.read('s')).find((one) => one.type === 'turn' && one.turn.role === role)
    return entry?.seq ?? 0
  }
  return { agent, session, provider, ran, seqOf }
}

function user(text: string): Message {
  return { role: 'user', content: [{ type: 'text', text }] }
}

function result(callId: string, output: string): SessionContentBlock {
  return { type: 'tool_result', callId, output }
}

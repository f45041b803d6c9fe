import { describe, expect, test } from 'vitest'
import type { AgentHookMap, AgentOptions, SessionTurn, ToolHookContext } from '../../src/index.ts'
import { createAgent, createSession } from '../../src/index.ts'
import { call, scripted, texts, tool } from '../../src/testing/index.ts'

describe('registering', () => {
  test('A040 handlers are awaited in order, share one ctx, and the last writer wins', async () => {
    const seen: object[] = []
    const { agent } = caller({
      'tool:gate': [
        async (ctx) => {
          await Promise.resolve()
          seen.push(ctx)
          Object.assign(ctx, { block: true, reason: 'first' })
        },
        (ctx) => {
          seen.push(ctx)
          ctx.reason = `not ${ctx.reason} but second`
        },
      ],
    })
    await agent.run({ prompt: 'go' })
    expect(answersIn(agent.turns)).toEqual(['Blocked: not first but second'])
    expect(seen[0]).toBe(seen[1])
  })

  test('A041 the hooks of an agent live as long as it does', async () => {
    const log: string[] = []
    const agent = createAgent({
      provider: scripted('one', 'two'),
      hooks: { 'turn:before': () => void log.push('called') },
    })
    await agent.run({ prompt: 'a' })
    await agent.run({ prompt: 'b' })
    expect(log).toEqual(['called', 'called'])
  })

  test('A042 the hooks of a run are gone when it ends, well or badly', async () => {
    const log: string[] = []
    const agent = createAgent({ provider: scripted('one', new Error('down'), 'three') })
    const during = (name: string) => ({ prompt: name, hooks: { 'turn:before': () => void log.push(name) } })
    await agent.run(during('first'))
    await agent.run(during('second')).catch(() => {})
    await agent.run({ prompt: 'third' })
    expect(log).toEqual(['first', 'second'])
  })

  test('A043 a mistyped hook name throws at construction, and says what was probably meant', async () => {
    const typo = { 'tool:befor': () => {} } as AgentHookMap
    const message = 'Unknown hook "tool:befor", did you mean "tool:before"'
    expect(() => createAgent({ provider: scripted(), hooks: typo })).toThrow(message)
    const agent = createAgent({ provider: scripted('fine') })
    expect(() => agent.hooks.hook('tool:befor' as 'tool:before', () => {})).toThrow(message)
    await expect(agent.run({ prompt: 'go', hooks: typo })).rejects.toThrow(message)
    expect((await agent.run({ prompt: 'go' })).text).toBe('fine')
  })

  test('A044 a list of handlers is taken in order, for agents and for runs', async () => {
    const log: string[] = []
    const two = (name: string) => ({
      'turn:before': [() => void log.push(`${name} 1`), () => void log.push(`${name} 2`)],
    })
    const agent = createAgent({ provider: scripted('hi'), hooks: two('agent') })
    await agent.run({ prompt: 'go', hooks: two('run') })
    expect(log).toEqual(['agent 1', 'agent 2', 'run 1', 'run 2'])
  })

  test('A045 hook() returns how to take the handler back', async () => {
    const log: string[] = []
    const agent = createAgent({ provider: scripted('one', 'two') })
    const unhook = agent.hooks.hook('turn:before', () => void log.push('called'))
    await agent.run({ prompt: 'a' })
    unhook()
    await agent.run({ prompt: 'b' })
    expect(log).toEqual(['called'])
  })
})

describe('the request', () => {
  test('A046 context:transform edits what is sent and not what is remembered', async () => {
    const provider = scripted('one', 'two')
    const session = await createSession()
    const agent = createAgent({ provider, session })
    await agent.run({ prompt: 'first' })
    agent.hooks.hook('context:transform', (ctx) => void ctx.messages.splice(0, 2))
    await agent.run({ prompt: 'second' })
    expect(texts(provider.requests[1]!.messages)).toEqual(['user: second'])
    expect(texts(session.turns)).toEqual(['user: first', 'assistant: one', 'user: second', 'assistant: two'])
  })

  test('A046 a context:transform that fails half-way changes nothing', async () => {
    const provider = scripted('one')
    const agent = createAgent({ provider, hooks: { 'hook:error': () => {} } })
    agent.hooks.hook('context:transform', (ctx) => {
      ctx.messages.length = 0
      throw new Error('oops')
    })
    await agent.run({ prompt: 'first' })
    expect(texts(provider.requests[0]!.messages)).toEqual(['user: first'])
  })

  test('A046 a cut between a call and its result is repaired in the request', async () => {
    const { agent, provider } = caller({ 'context:transform': (ctx) => void ctx.messages.splice(1, 1) })
    await agent.run({ prompt: 'go' })
    expect(texts(provider.requests[1]!.messages)).toEqual(['user: go'])
    expect(texts(agent.turns)).toEqual(['user: go', 'assistant: →lookup({})', 'user: ←found', 'assistant: done'])
  })

  test('A047 context:transform comes before system:transform, and that before turn:before', async () => {
    const log: string[] = []
    const note = (name: string) => () => void log.push(name)
    const agent = createAgent({ provider: scripted('hi') })
    for (const name of ['turn:before', 'system:transform', 'context:transform', 'turn:after'] as const)
      agent.hooks.hook(name, note(name))
    await agent.run({ prompt: 'go' })
    expect(log).toEqual(['context:transform', 'system:transform', 'turn:before', 'turn:after'])
  })

  test('A047 turn:before shows the very request, transforms included', async () => {
    const shown: unknown[] = []
    const { agent, provider } = caller({
      'context:transform': (ctx) => void ctx.messages.push({ role: 'user', content: [{ type: 'text', text: 'more' }] }),
      'turn:before': ({ turn, options }) => void shown.push([turn, options]),
    })
    await agent.run({ prompt: 'go' })
    expect(shown).toEqual(provider.requests.map((request, i) => [i + 1, request]))
    expect(texts(provider.requests[0]!.messages)).toEqual(['user: go', 'user: more'])
  })

  test('A048 system:transform changes one request and not the next', async () => {
    const { agent, provider } = caller(
      {
        'system:transform': (ctx) => {
          if (ctx.turn === 1) ctx.system += ' Hurry.'
        },
      },
      { system: 'Be brief.' },
    )
    await agent.run({ prompt: 'go' })
    expect(provider.requests.map(({ system }) => system)).toEqual(['Be brief. Hurry.', 'Be brief.'])
  })

  test('A049 system:before changes the system text of the run, for all its requests', async () => {
    const { agent, provider } = caller({}, { system: 'Be brief.' })
    agent.hooks.hook('system:before', (ctx) => {
      ctx.system = ctx.system.replace('plain', 'fancy')
    })
    await agent.run({ prompt: 'go', system: 'Use plain words.' })
    const system = 'Be brief.\n\nUse fancy words.'
    expect(provider.requests.map((request) => request.system)).toEqual([system, system])
  })

  test('A050 system:before fires only when the run brings a system text', async () => {
    const log: string[] = []
    const provider = scripted('one', 'two', 'three')
    const agent = createAgent({ provider, system: 'Be brief.' })
    agent.hooks.hook('system:before', ({ system }) => void log.push(system))
    await agent.run({ prompt: 'a' })
    await agent.run({ prompt: 'b', system: 'Now.' })
    await agent.run({ prompt: 'c' })
    expect(log).toEqual(['Now.'])
    expect(provider.requests.map(({ system }) => system)).toEqual(['Be brief.', 'Be brief.\n\nNow.', 'Be brief.'])
  })
})

describe('the stream', () => {
  test('A052 stream:text and stream:thinking fire per chunk, with the text so far', async () => {
    const log: unknown[] = []
    const provider = scripted({ thinking: 'abcde', text: '123456' }, { options: { chunk: 2 } })
    const agent = createAgent({ provider })
    agent.hooks.hook('stream:thinking', ({ delta, text }) => void log.push(['thinking', delta, text]))
    agent.hooks.hook('stream:text', ({ delta, text }) => void log.push(['text', delta, text]))
    agent.hooks.hook('stream:end', ({ text }) => void log.push(['end', text]))
    await agent.run({ prompt: 'go' })
    expect(log).toEqual([
      ['thinking', 'ab', 'ab'],
      ['thinking', 'cd', 'abcd'],
      ['thinking', 'e', 'abcde'],
      ['text', '12', '12'],
      ['text', '34', '1234'],
      ['text', '56', '123456'],
      ['end', '123456'],
    ])
  })

  test('A053 oauth:refresh fires when the provider renews its token, in the turn for which it does', async () => {
    const reply = { type: 'reply', content: [{ type: 'text', text: 'hi' }], usage: none, stop: 'end' } as const
    const provider = scripted([{ type: 'oauth_refresh', expires: 1234 }, reply], 'later', { options: { name: 'acme' } })
    const log: unknown[] = []
    const agent = createAgent({ provider })
    agent.hooks.hook('turn:before', ({ turnId }) => void log.push(turnId))
    agent.hooks.hook('oauth:refresh', (ctx) => void log.push(ctx))
    await agent.run({ prompt: 'a' })
    await agent.run({ prompt: 'b' })
    expect(log).toEqual([log[0], { turnId: log[0], provider: 'acme', expires: 1234 }, log[2]])
  })

  test('A054 the usage hook carries the turn and the totals so far', async () => {
    const log: unknown[] = []
    const first = { input: 10, output: 1, cacheRead: 3, cost: 0.5 }
    const provider = scripted(
      { calls: [call('c1', 'lookup')], usage: first },
      { text: 'x', usage: { input: 7, output: 2 } },
    )
    const agent = createAgent({ provider, tools: { lookup } })
    agent.hooks.hook('usage', ({ turn, usage, totals }) => void log.push([turn, usage, totals]))
    await agent.run({ prompt: 'go' })
    const model = 'script-1'
    expect(log).toEqual([
      [1, { ...first, model }, first],
      [2, { input: 7, output: 2, model }, { input: 17, output: 3, cacheRead: 3, cost: 0.5 }],
    ])
  })
})

describe('tool hooks', () => {
  test('A051 every tool hook carries turnId, callId, the canonical and the shown name, and the input', async () => {
    const seen: { hook: string; callId: string }[] = []
    const hooks = toolHooks.map((hook) => [hook, (ctx: ToolHookContext) => void seen.push({ hook, ...idsOf(ctx) })])
    const say = tool('say', (input, ctx) => {
      ctx.progress('working')
      if (input.n === 3) throw new Error('no')
      return 'said'
    })
    const spec = { ...say.spec, inputSchema: { type: 'object', properties: { n: { type: 'number' } } } }
    const calls = [call('c0', 'Speak', { n: '3' }), call('c1', 'Speak', { n: 'x' }), call('c2', 'nope', { a: 1 })]
    const agent = createAgent({
      provider: scripted(calls, 'done'),
      tools: { say: { ...say, spec } },
      toolAliases: { say: 'Speak' },
      hooks: Object.fromEntries(hooks),
    })
    await agent.run({ prompt: 'go' })
    const turnId = agent.turns[1]?.id
    const about: Record<string, object> = {
      c0: { turnId, callId: 'c0', name: 'say', displayName: 'Speak', input: { n: 3 } },
      c1: { turnId, callId: 'c1', name: 'say', displayName: 'Speak', input: { n: 'x' } },
      c2: { turnId, callId: 'c2', name: 'nope', displayName: 'nope', input: { a: 1 } },
    }
    expect(new Set(seen.map(({ hook }) => hook))).toEqual(new Set(toolHooks))
    expect(seen).toEqual(seen.map(({ hook, callId }) => ({ hook, ...about[callId] })))
  })

  test('A059 a gate handler that throws blocks the call, and the run goes on', async () => {
    const errors: unknown[] = []
    const error = new Error('policy server is down')
    const { agent, ran } = caller({
      'tool:gate': () => Promise.reject(error),
      'hook:error': (ctx) => void errors.push(ctx),
    })
    const { text } = await agent.run({ prompt: 'go' })
    expect(ran).toEqual([])
    expect(answersIn(agent.turns)).toEqual(['Blocked: a gate failed: policy server is down'])
    expect(errors).toEqual([{ hook: 'tool:gate', error }])
    expect(text).toBe('done')
  })
})

const lookup = tool('lookup', () => 'found')
const none = { input: 0, output: 0 }
const toolHooks = [
  'tool:gate',
  'tool:unknown',
  'validation:reject',
  'validation:coerce',
  'tool:before',
  'tool:progress',
  'tool:error',
  'tool:transform',
  'tool:after',
] as const

/** An agent whose model calls `lookup` once and is done. */
function caller(hooks: AgentHookMap, more: Partial<AgentOptions> = {}) {
  const ran: unknown[] = []
  const provider = scripted([call('c1', 'lookup')], 'done')
  const tools = {
    lookup: tool('lookup', (input) => {
      ran.push(input)
      return 'found'
    }),
  }
  return { agent: createAgent({ provider, tools, hooks, ...more }), provider, ran }
}

function answersIn(turns: readonly SessionTurn[]): unknown[] {
  const blocks = turns.flatMap((turn) => turn.content)
  return blocks.flatMap((block) => (block.type === 'tool_result' ? [block.output] : []))
}

function idsOf({ turnId, callId, name, displayName, input }: ToolHookContext) {
  return { turnId, callId, name, displayName, input }
}

import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { createAgent, createSession, defineTool } from '../../src/index.ts'
import { call, fakeClock, memoryExecution, scripted, texts, tool } from '../../src/testing/index.ts'
import type { ToolDef } from '../../src/types.ts'

describe('what a tool may use', () => {
  test('destructured functions work: progress is reported until the call has its result', async () => {
    const heard: string[] = []
    let late: ((text: string) => void) | undefined
    const talk = tool('talk', async (_, { progress }) => {
      progress('one')
      progress('two')
      late = progress
      return 'ok'
    })
    const agent = createAgent({ provider: scripted([call('7', 'talk')], 'fin'), tools: { talk } })
    agent.hooks.hook('tool:progress', ({ callId, name, text }) => void heard.push(`${callId} ${name} ${text}`))
    await agent.run({ prompt: 'go' })
    late!('three')
    expect(heard).toEqual(['7 talk one', '7 talk two'])
  })

  test('execution and handle are the ones of the agent, spawned once', async () => {
    const execution = memoryExecution({ files: { 'a.txt': 'hello' } })
    const read = tool('read', (_, ctx) => ctx.execution.readFile(ctx.handle, 'a.txt'))
    const agent = createAgent({ provider: scripted([call('1', 'read')], 'fin'), execution, tools: { read } })
    await agent.run({ prompt: 'go' })
    expect(texts(agent.turns)[2]).toBe('user: ←hello')
    expect([agent.execution, agent.handle?.cwd, execution.counts.spawn]).toEqual([execution, '/project', 1])
  })

  test('a call within a call passes the same gates and hooks and leaves entries of its own', async () => {
    const session = await createSession()
    const seen: string[] = []
    const entries: string[] = []
    session.log.subscribe((entry) => void ('callId' in entry && entries.push(`${entry.type} ${entry.callId}`)))
    const inner = tool('inner', (input) => `inner ${input.n}`)
    const outer = tool('outer', async (_, ctx) => {
      const one = await ctx.call('inner', { n: 1 })
      const two = await ctx.call('inner', { n: 2 })
      return `${one.output} / ${two.output} ${two.isError}`
    })
    const agent = createAgent({ provider: scripted([call('1', 'outer')], 'fin'), session, tools: { inner, outer } })
    agent.hooks.hook('tool:gate', (ctx) => {
      seen.push(`${ctx.callId} of ${ctx.parentCallId}`)
      if (ctx.input.n === 2) ctx.block = true
    })
    await agent.run({ prompt: 'go' })
    expect(seen).toEqual(['1 of undefined', '1.1 of 1', '1.2 of 1'])
    expect(texts(agent.turns)[2]).toBe('user: ←inner 1 / Blocked: this call is not allowed true')
    expect(entries).toEqual([
      'call_started 1',
      'call_started 1.1',
      'call_result 1.1',
      'call_result 1.2',
      'call_result 1',
    ])
  })

  test.each(['pure', 'keyed'] as const)(
    'a %s call keeps its key when it runs again after a suspension',
    async (replay) => {
      const keys: string[] = []
      const ask = tool('ask', (_, ctx) => (keys.push(ctx.idempotencyKey) === 1 ? ctx.suspend('waiting') : 'answered'), {
        replay,
      })
      const session = await createSession({ id: 's' })
      const agent = createAgent({ provider: scripted([call('1', 'ask')], 'fin'), session, tools: { ask } })
      expect((await agent.run({ prompt: 'go' })).stopReason).toBe('waiting')
      expect((await agent.run()).text).toBe('fin')
      expect(keys).toEqual(['s/1', 's/1'])
    },
  )

  test('a tool adds what it knows to tool:before', async () => {
    const write = tool('write', () => 'ok', { before: async (input) => ({ priorContent: `old ${input.path}` }) })
    const agent = createAgent({ provider: scripted([call('1', 'write', { path: 'a' })], 'fin'), tools: { write } })
    const seen: unknown[] = []
    agent.hooks.hook('tool:before', (ctx) => void seen.push(ctx.priorContent))
    await agent.run({ prompt: 'go' })
    expect(seen).toEqual(['old a'])
  })

  test('effects are shown to gates, computed from the input; what is not declared, or fails, is unknown', async () => {
    const tools = {
      plain: tool('plain', () => '', { effects: ['net'] }),
      silent: tool('silent', () => ''),
      computed: tool('computed', () => '', { effects: (input) => (input.write ? ['fs.write'] : ['fs.read']) }),
      broken: tool('broken', () => '', {
        effects: () => {
          throw new Error('x')
        },
      }),
    }
    const calls = [
      call('1', 'plain'),
      call('2', 'computed', { write: true }),
      call('3', 'broken'),
      call('4', 'ghost'),
      call('5', 'silent'),
    ]
    const agent = createAgent({ provider: scripted(calls, 'fin'), tools })
    const seen: unknown[] = []
    agent.hooks.hook('tool:gate', (ctx) => void seen.push(ctx.effects))
    await agent.run({ prompt: 'go' })
    expect(seen).toEqual([['net'], ['fs.write'], ['unknown'], ['unknown'], ['unknown']])
  })
})

describe('time limits', () => {
  const hang = (more = {}) =>
    tool(
      'hang',
      (_, ctx) =>
        new Promise<string>((_, reject) => ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason))),
      more,
    )

  test.each([
    ['30 s where a tool says nothing', {}, 30_000],
    ['what the tool declares', { timeoutMs: 500 }, 500],
  ])('%s', async (_, more, limit) => {
    const clock = fakeClock()
    const agent = createAgent({ provider: scripted([call('1', 'hang')], 'fin'), clock, tools: { hang: hang(more) } })
    const outcomes: string[] = []
    agent.log.subscribe((entry) => void (entry.type === 'call_result' && outcomes.push(entry.outcome)))
    const running = agent.run({ prompt: 'go' })
    await clock.advance(limit - 1)
    expect(agent.turns.length).toBe(2)
    await clock.advance(1)
    await running
    expect(texts(agent.turns)[2]).toBe(`user: ←Tool error: it took longer than ${limit} ms`)
    expect(outcomes).toEqual(['timeout'])
  })

  test('0 means none', async () => {
    const clock = fakeClock()
    const agent = createAgent({
      provider: scripted([call('1', 'hang')]),
      clock,
      tools: { hang: hang({ timeoutMs: 0 }) },
    })
    const running = agent.run({ prompt: 'go' })
    await clock.advance(10_000_000)
    expect(agent.isRunning).toBe(true)
    agent.abort()
    await expect(running).rejects.toThrow('aborted')
  })

  test('each call of a wave has a whole time limit of its own, and a result that comes after it is dropped', async () => {
    const clock = fakeClock()
    const wait = tool(
      'wait',
      (input) => new Promise((resolve) => clock.timer(input.ms, () => resolve(`${input.ms}`))),
      { timeoutMs: 100 },
    )
    const calls = [
      call('1', 'wait', { ms: 80 }),
      call('2', 'wait', { ms: 90 }),
      call('3', 'wait', { ms: 120 }),
      call('4', 'wait', { ms: 99 }),
    ]
    const agent = createAgent({ provider: scripted(calls, 'fin'), clock, tools: { wait } })
    const running = agent.run({ prompt: 'go' })
    await clock.advance(1000)
    await running
    expect(texts(agent.turns)[2]).toBe('user: ←80 ←90 ←Tool error: it took longer than 100 ms ←99')
  })

  test('no limit of a call counts while a person decides about a call two levels below', async () => {
    const clock = fakeClock()
    const calling = (name: string): ToolDef =>
      tool(`calls_${name}`, async (_, ctx) => (await ctx.call(name, {})).output, { timeoutMs: 100 })
    const tools = {
      calls_look: calling('look'),
      calls_calls_look: calling('calls_look'),
      look: tool('look', () => 'seen'),
    }
    const agent = createAgent({ provider: scripted([call('1', 'calls_calls_look')], 'fin'), clock, tools })
    const decided = Promise.withResolvers<void>()
    agent.hooks.hook('tool:gate', ({ name }) => (name === 'look' ? decided.promise : undefined))
    const running = agent.run({ prompt: 'go' })
    await clock.advance(1000)
    decided.resolve()
    await running
    expect(texts(agent.turns)[2]).toBe('user: ←seen')
  })

  test('a call whose caller took too long is logged as cancelled, not as one of a run that was stopped', async () => {
    const clock = fakeClock()
    const caller = tool('caller', (_, ctx) => ctx.call('hang', {}), { timeoutMs: 100 })
    const tools = { caller, hang: hang({ timeoutMs: 0 }) }
    const agent = createAgent({ provider: scripted([call('1', 'caller')], 'fin'), clock, tools })
    const results: unknown[] = []
    agent.log.subscribe((entry) => void (entry.type === 'call_result' && results.push([entry.callId, entry.outcome])))
    const running = agent.run({ prompt: 'go' })
    await clock.advance(101)
    await running
    expect(results).toContainEqual(['1.1', 'cancelled'])
  })
})

describe('defineTool', () => {
  const add = defineTool({
    name: 'add',
    description: 'Adds.',
    input: z.object({ a: z.number(), b: z.number().default(1) }),
    execute: ({ a, b }) => String(a + b),
  })

  test('takes the JSON Schema from the schema library, without $schema', () => {
    expect(add.spec.inputSchema).toMatchObject({
      type: 'object',
      properties: { a: { type: 'number' } },
      required: ['a'],
    })
    expect(add.spec.inputSchema).not.toHaveProperty('$schema')
  })

  test('fills defaults in, and answers what does not fit with a validation error', async () => {
    const strict = defineTool({
      name: 'strict',
      description: '',
      input: z.object({ word: z.enum(['a', 'b']) }),
      execute: () => 'ran',
    })
    const calls = [call('1', 'add', { a: 2 }), call('2', 'strict', { word: 'c' })]
    const agent = createAgent({ provider: scripted(calls, 'fin'), tools: { add, strict } })
    await agent.run({ prompt: 'go' })
    expect(texts(agent.turns)[2]).toMatch(/^user: ←3 ←Validation error: word: /)
  })

  test('what the schema makes of an input is what gates judge and what runs, and it is made once', async () => {
    const ran: unknown[] = []
    const open = defineTool({
      name: 'open',
      description: '',
      input: z.object({ path: z.string().transform((path) => `/base/${path}`), mode: z.string().default('r') }),
      execute: (input) => String(ran.push(input)),
    })
    const agent = createAgent({ provider: scripted([call('1', 'open', { path: 'x' })], 'fin'), tools: { open } })
    const judged: unknown[] = []
    agent.hooks.hook('tool:gate', ({ input }) => judged.push(input))
    await agent.run({ prompt: 'go' })
    expect(judged).toEqual([{ path: '/base/x', mode: 'r' }])
    expect(ran).toEqual(judged)
  })

  test('an input that becomes more than data is judged as it was sent, and run as it became', async () => {
    const days: unknown[] = []
    const when = defineTool({
      name: 'when',
      description: '',
      input: z.object({ at: z.string().transform((text) => new Date(text)) }),
      inputSchema: { type: 'object', properties: { at: { type: 'string' } } },
      execute: ({ at }) => String(days.push(at.getUTCFullYear())),
    })
    const agent = createAgent({ provider: scripted([call('1', 'when', { at: '2026-11-15' })], 'fin'), tools: { when } })
    agent.hooks.hook('tool:gate', ({ input }) => days.push(input))
    await agent.run({ prompt: 'go' })
    expect(days).toEqual([{ at: '2026-11-15' }, 2026])
  })

  test('a call whose input the schema refuses gets a result without tool:before', async () => {
    const strict = defineTool({
      name: 'strict',
      description: '',
      input: z.object({ n: z.number().max(3) }),
      execute: () => 'ran',
    })
    const agent = createAgent({ provider: scripted([call('1', 'strict', { n: 7 })], 'fin'), tools: { strict } })
    const heard: string[] = []
    for (const name of ['validation:reject', 'tool:before'] as const) agent.hooks.hook(name, () => heard.push(name))
    await agent.run({ prompt: 'go' })
    expect(heard).toEqual(['validation:reject'])
  })

  test('a schema that takes its time has its say when the tool runs', async () => {
    const slow = defineTool({
      name: 'slow',
      description: '',
      input: z.object({ n: z.number().refine(async (n) => n < 3, 'too big') }),
      execute: ({ n }) => `ran ${n}`,
    })
    const agent = createAgent({
      provider: scripted([call('1', 'slow', { n: 1 }), call('2', 'slow', { n: 7 })], 'fin'),
      tools: { slow },
    })
    await agent.run({ prompt: 'go' })
    expect(texts(agent.turns)[2]).toBe('user: ←ran 1 ←Validation error: n: too big')
  })

  test('says what is missing when a library gives no JSON Schema', () => {
    const input = { '~standard': { validate: (value: unknown) => ({ value }) } }
    expect(() => defineTool({ name: 'x', description: '', input, execute: () => '' })).toThrow(
      /Tool "x": input: .* Pass \{ schema, jsonSchema \}/,
    )
  })
})

import { describe, expect, test } from 'vitest'
import type { InteractionRequest } from '../../src/core/interaction.ts'
import { Suspended } from '../../src/core/tool-context.ts'
import { createAgent } from '../../src/create-agent.ts'
import { createMemoryStore, createSession, loadSession } from '../../src/sessions/index.ts'
import { fakeClock } from '../../src/testing/fake-clock.ts'
import { call, scripted } from '../../src/testing/scripted.ts'
import { resultsOf, runCalls, runWith, schema, toolFile, until, world } from './tool-layers-kit.ts'

/** Runs until it is told to stop. */
const hangs = `(_, host, signal) => new Promise((_, reject) => {
    void host.audit.write('started')
    signal.addEventListener('abort', () => { void host.audit.write('aborted'); reject(signal.reason) })
  })`

describe('the time a call may take', () => {
  test.each([
    ['is what is configured', { config: { slow: { timeoutMs: 50 } } }, {}, 50],
    ['is 30 seconds where nothing is configured', {}, {}, 30_000],
    ['is what the tool says about this very call', { config: { slow: { timeoutMs: 50 } } }, { ms: 70 }, 70],
  ])('B005 %s', async (_, options, input, limit) => {
    const at = await world()
    await at.write('home/tools/slow.mjs', toolFile('slow', { execute: hangs, timeoutMs: '({ ms }) => ms' }))
    const clock = fakeClock()
    const running = runCalls(at.layers(options), [['slow', input]], { clock })
    await until(() => at.notes.includes('started'))
    await clock.advance(limit - 1)
    expect(at.notes).toEqual(['started'])
    await clock.advance(1)
    const { results } = await running
    expect(results).toEqual([`Tool error: ToolTransient/ExecutionTimeout: slow took longer than ${limit} ms`])
    expect(at.notes).toEqual(['started', 'aborted'])
  })

  test('does not run while a person is asked', async () => {
    const at = await world()
    const execute = `async (_, host) => ({ ok: true, value: await host.interaction.request({ kind: 'Ask', payload: { kind: 'Ask', prompt: '?' } }) })`
    await at.write('home/tools/asks.mjs', toolFile('asks', { execute }))
    const clock = fakeClock()
    let answer: ((value: unknown) => void) | undefined
    const interact = () =>
      new Promise<{ status: 'accepted'; value: unknown }>((resolve) => {
        answer = (value) => resolve({ status: 'accepted', value })
      })
    const running = runCalls(at.layers({ interact, config: { asks: { timeoutMs: 10 } } }), [['asks']], { clock })
    await until(() => answer !== undefined)
    await clock.advance(200)
    answer?.('blue')
    expect((await running).results).toEqual(['{"status":"accepted","value":"blue"}'])
  })
})

test('B006 input is checked, also inside, before the tool runs', async () => {
  const at = await world()
  const fields = {
    inputSchema: `{ type: 'object', required: ['to'], properties: { to: { type: 'array', items: { type: 'string', pattern: '@' } } } }`,
    execute: `async ({ to }, host) => { await host.audit.write('ran'); return { ok: true, value: to.join() } }`,
  }
  await at.write('home/tools/send.mjs', toolFile('send', fields))
  const { results } = await runCalls(at.layers(), [['send'], ['send', { to: ['no one'] }], ['send', { to: ['a@b'] }]])
  expect(results).toEqual([
    'Validation error: missing required property "to"',
    expect.stringMatching(/^Validation error: ToolTerminal\/InputInvalid: .*to\/0/),
    'a@b',
  ])
  expect(at.notes).toEqual(['ran'])
})

test('B007 output is not checked, only shown; its schema is told to the model', async () => {
  const at = await world()
  const odd = {
    outputSchema: `{ type: 'number' }`,
    execute: `async () => ({ ok: true, value: { output: 'no number', more: [1] } })`,
  }
  await at.write('home/tools/odd.mjs', toolFile('odd', odd))
  await at.write(
    'home/tools/half.mjs',
    toolFile('half', {
      execute: `() => ({ ok: true, value: 1, errors: [{ class: 'ToolTransient', code: 'ResourceBusy', message: 'two' }] })`,
    }),
  )
  const { results, provider } = await runCalls(at.layers(), [['odd'], ['half']])
  expect(provider.requests[0]?.tools.map(({ description }) => description)).toEqual([
    'Does half.',
    'Does odd.\n\nIts output, by JSON Schema: {"type":"number"}',
  ])
  expect(results[0]).toBe('{"output":"no number","more":[1]}')
  expect(JSON.parse(results[1]!)).toMatchObject({ value: 1, errors: [{ message: 'two' }] })
})

test('B052 of a failure the model sees class, code and message, and no stack', async () => {
  const at = await world()
  const failing: Record<string, string> = {
    says: `async () => ({ ok: false, error: { class: 'ToolTerminal', code: 'NotFound', message: 'no such issue', stack: 'at secret.js' } })`,
    throws: `async () => { throw new Error('boom') }`,
    raises: `() => { throw Object.assign(new Error('later'), { class: 'ToolTransient', code: 'ResourceBusy' }) }`,
    poses: `async () => ({ ok: false, error: { class: 'Root', code: 'x', message: 'm' } })`,
    babbles: `async () => 'not an answer'`,
  }
  for (const [name, execute] of Object.entries(failing))
    await at.write(`home/tools/${name}.mjs`, toolFile(name, { execute }))
  const { results } = await runCalls(
    at.layers(),
    Object.keys(failing).map((name) => [name] as const),
  )
  expect(results).toEqual([
    'Tool error: ToolTerminal/NotFound: no such issue',
    'Tool error: ToolTerminal/ExecutionFailed: boom',
    'Tool error: ToolTransient/ResourceBusy: later',
    'Tool error: ToolTerminal/ExecutionFailed: poses failed without saying why',
    'Tool error: ToolTerminal/OutputMalformed: babbles must answer { ok: true, value } or { ok: false, error }',
  ])
})

test('B049 a turn that is cancelled aborts the tools that run', async () => {
  const at = await world()
  await at.write('home/tools/slow.mjs', toolFile('slow', { execute: hangs }))
  const agent = createAgent({ provider: scripted([call('1', 'slow')]), extensions: [at.layers()] })
  const running = agent.run({ prompt: 'go' })
  await until(() => at.notes.includes('started'))
  agent.abort()
  await expect(running).rejects.toThrow('aborted')
  expect(at.notes).toEqual(['started', 'aborted'])
  await agent.destroy()
})

describe('what a tool may use', () => {
  test('B048 variables that it declares, and no others', async () => {
    const at = await world()
    const fields = {
      configSchema: schema('', ['TOKEN', 'ABSENT']),
      inputSchema: `{ type: 'object', properties: { name: { type: 'string' } } }`,
      execute: `async ({ name }, host) => ({ ok: true, value: String(host.env.get(name)) })`,
    }
    await at.write('home/tools/peek.mjs', toolFile('peek', fields))
    const layers = at.layers({ env: { TOKEN: 't-1', SECRET: 's-1' } })
    const { results } = await runCalls(
      layers,
      ['TOKEN', 'ABSENT', 'SECRET', 'constructor'].map((name) => ['peek', { name }] as const),
    )
    expect(results.slice(0, 2)).toEqual(['t-1', 'undefined'])
    expect(results.slice(2)).toEqual([
      expect.stringMatching(/^Tool error: ExtensionHost\/EnvNotDeclared: peek may not read the variable "SECRET"/),
      expect.stringContaining('ExtensionHost/EnvNotDeclared'),
    ])
  })

  test('a host that it cannot change, that says where it is, and that no record of ours can be forged with', async () => {
    const at = await world()
    const execute = `async (_, host) => {
        'use strict'
        const tries = [() => { host.env = {} }, () => { host.env.get = () => 'x' }, () => { host.session.state.read = 0 }, () => { host.config.readOwn().enabled = false }]
        const refused = tries.filter((attempt) => { try { attempt() } catch { return true } }).length
        await host.audit.write('ToolInvocationSucceeded', { event: 'forged' })
        host.progress('half way')
        return { ok: true, value: [refused, host.session.projectRoot, host.tools.list().map(({ name }) => name), host.call.id].join(' ') }
      }`
    await at.write('home/tools/tries.mjs', toolFile('tries', { execute }))
    const progress: string[] = []
    const { results } = await runCalls(at.layers(), [['tries']], {
      hooks: { 'tool:progress': ({ text }) => void progress.push(text) },
    })
    expect(results).toEqual([`4 ${at.project} tries c0`])
    expect(progress).toEqual(['half way'])
    expect(at.audited).toMatchObject([
      {
        class: 'ToolInvocation',
        event: 'ToolNote',
        tool: 'tries',
        callId: 'c0',
        details: { event: 'ToolInvocationSucceeded' },
      },
    ])
  })

  test('B011 init may prompt, by the interaction protocol and nothing else', async () => {
    const at = await world()
    const lifecycle = `{ async init(host) {
        const { value } = await host.interaction.request({ kind: 'Auth.DeviceCode', payload: { kind: 'Auth.DeviceCode', url: 'https://x.example', code: 'AB', expiresAt: 0 } })
        this.user = value
      } }`
    await at.write(
      'home/tools/login.mjs',
      toolFile('login', {
        lifecycle,
        execute: `function () { return { ok: true, value: 'as ' + this.lifecycle.user } }`,
      }),
    )
    const asks = (kind: string): string =>
      toolFile(kind, { lifecycle: `{ init: (host) => host.interaction.request({ kind: '${kind}', payload: {} }) }` })
    await at.write('home/tools/poser.mjs', asks('Approve'))
    const asked: InteractionRequest[] = []
    const interact = async (request: InteractionRequest) => {
      asked.push(request)
      return { status: 'accepted', value: 'ada' } as const
    }
    const layers = at.layers({ interact })
    const { results } = await runCalls(layers, [['login']])
    expect(results).toEqual(['as ada'])
    expect(asked).toMatchObject([{ kind: 'Auth.DeviceCode', payload: { code: 'AB' } }])
    expect(layers.diagnostics).toMatchObject([{ message: expect.stringContaining('a tool cannot ask for "Approve"') }])
    const alone = at.layers()
    await runWith(alone, ['done'])
    expect(alone.diagnostics.map(({ message }) => message).join()).toContain(
      'login cannot ask: no interactor is attached',
    )
  })
})

test('a question without a person to answer leaves the call open, and a later answer comes back to the tool', async () => {
  const at = await world()
  const execute = `async (_, host) => {
      const { status, value } = await host.interaction.request({ kind: 'Ask', payload: { kind: 'Ask', prompt: 'which?' } })
      return { ok: true, value: status + ' ' + value }
    }`
  await at.write('home/tools/asks.mjs', toolFile('asks', { execute }))
  const noPerson = async () => {
    throw new Suspended('permission-required')
  }
  const session = await createSession()
  const provider = scripted([call('1', 'asks')], 'done')
  const agent = createAgent({ provider, session, extensions: [at.layers({ interact: noPerson })] })
  expect(await agent.run({ prompt: 'go' })).toMatchObject({ status: 'suspended', stopReason: 'permission-required' })
  await session.answer('1', { content: 'the blue one' })
  expect(await agent.run()).toMatchObject({ status: 'completed' })
  expect(resultsOf(agent.turns)).toEqual(['accepted the blue one'])
  await agent.destroy()
})

describe('what a tool keeps', () => {
  const slot = (version: number, more = ''): string =>
    `{ slotVersion: ${version}, schema: { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] }, ${more} }`
  const counts = `async (_, host) => {
      const { n } = (await host.session.state.read()) ?? { n: 0 }
      await host.session.state.write({ n: n + 1 })
      return { ok: true, value: n + 1 }
    }`

  async function go(
    layers: ReturnType<Awaited<ReturnType<typeof world>>['layers']>,
    store: ReturnType<typeof createMemoryStore>,
    names: string[],
  ): Promise<string[]> {
    const known = await loadSession(store, 's').catch(() => undefined)
    const session = known ?? (await createSession({ store, id: 's' }))
    const before = session.turns.length
    const provider = scripted(...names.map((name, i) => [call(`${before}-${i}`, name)]), 'done')
    const agent = createAgent({ provider, extensions: [layers], session })
    await agent.run({ prompt: 'go' })
    await agent.destroy()
    return resultsOf(agent.turns.slice(before))
  }

  test('B050 is its own, and there again when the session goes on', async () => {
    const at = await world()
    const store = createMemoryStore()
    for (const name of ['one', 'two'])
      await at.write(`home/tools/${name}.mjs`, toolFile(name, { stateSlot: slot(1), execute: counts }))
    expect(await go(at.layers(), store, ['one', 'one', 'two'])).toEqual(['1', '2', '1'])
    expect(await go(at.layers(), store, ['one', 'two'])).toEqual(['3', '2'])
  })

  test('B050 of an old version is dropped, or becomes what the tool makes of it', async () => {
    const at = await world()
    const store = createMemoryStore()
    const write = (version: number, more?: string) =>
      at.write('home/tools/one.mjs', toolFile('one', { stateSlot: slot(version, more), execute: counts }))
    await write(1)
    expect(await go(at.layers(), store, ['one', 'one'])).toEqual(['1', '2'])
    await write(2, 'migrate: (old, version) => ({ n: old.n * 10 + version })')
    expect(await go(at.layers(), store, ['one'])).toEqual(['22'])
    await write(3)
    expect(await go(at.layers(), store, ['one'])).toEqual(['1'])
    await write(4, `migrate: () => ({ n: 'not what the schema says' })`)
    expect(await go(at.layers(), store, ['one'])).toEqual(['1'])
  })

  test('B050 is not there for a tool that takes its name, nor kept in another shape, nor without a slot', async () => {
    const at = await world()
    const store = createMemoryStore()
    await at.write('home/tools/one.mjs', toolFile('one', { stateSlot: slot(1), execute: counts }))
    await go(at.layers(), store, ['one'])
    await at.write('project/.libero/tools/one.mjs', toolFile('one', { stateSlot: slot(1), execute: counts }))
    const bad = `async (_, host) => { await host.session.state.write({ n: 'x' }); return { ok: true, value: 1 } }`
    await at.write('home/tools/bad.mjs', toolFile('bad', { stateSlot: slot(1), execute: bad }))
    await at.write('home/tools/none.mjs', toolFile('none', { execute: bad }))
    expect(await go(at.layers(), store, ['one', 'bad', 'none'])).toEqual([
      '1',
      expect.stringContaining('Validation/StateInvalid'),
      expect.stringContaining('ExtensionHost/NoStateSlot'),
    ])
  })
})

import { createAgent, createSpawnTool } from 'libero'
import { connectMcpServers } from 'libero/mcp'
import { call, fakeClock, type Step, scripted, texts } from 'libero/testing'
import { expect, onTestFinished } from 'vitest'
import type { ChildPreset } from '../../src/core/children.ts'
import { testInTurns } from '../soak.ts'
import { agentWith, eventually, faultServer, resultsOf, within } from './fixtures/fault-kit.ts'

// Each of them starts processes.
const test = testInTurns(3)

test.each(['crash-at-start', 'crash-on-list'])(
  'FM-10 a server with %s is retried five times with growing delays, then disabled',
  async (mode) => {
    const server = await faultServer([mode])
    const clock = fakeClock()
    const { agent, provider, heardOf } = agentWith([server.config], { clock })
    provider.push('done', 'done')
    await within(agent.run({ prompt: 'go' }))
    const [f] = await agent.mcpServers()
    const delays: number[] = []
    for (let attempt = 1; attempt <= 5; attempt++) {
      await eventually(() => expect(heardOf('mcp:reconnect')).toHaveLength(attempt))
      const { delayMs, attempt: told } = JSON.parse(
        heardOf('mcp:reconnect')[attempt - 1]!.slice('mcp:reconnect '.length),
      )
      expect(told).toBe(attempt)
      delays.push(delayMs)
      expect(f?.state).toBe('waiting')
      const starts = (await server.noted('start')).length
      await clock.advance(delayMs - 1)
      expect(await server.noted('start')).toHaveLength(starts)
      await clock.advance(1)
    }
    await eventually(() => expect(f?.state).toBe('disabled'))
    expect(delays).toEqual([500, 1000, 2000, 4000, 8000])
    expect(f?.problem).toContain('it exited with code')
    expect(heardOf('mcp:error').length).toBe(2)
    const started = (await server.noted('start')).length
    // Without an answer to the probe `initialize` follows; whether the server notes it depends on timing.
    expect(started).toBeGreaterThanOrEqual(6)
    expect(started).toBeLessThanOrEqual(mode === 'crash-at-start' ? 12 : 6)

    const starts = (await server.noted('start')).length
    await clock.advance(3_600_000)
    await within(agent.run({ prompt: 'again' }))
    expect(await server.noted('start')).toHaveLength(starts)
  },
)

test('FM-10 calls do not start a disabled server again before a minute has passed', async () => {
  const server = await faultServer([])
  const clock = fakeClock()
  const { results, agent } = agentWith([server.config], { clock })
  await results(...Array.from({ length: 6 }, (): [string, string] => ['mcp_f_echo', 'crash']))
  const [f] = await agent.mcpServers()
  await eventually(() => expect(f?.state).toBe('disabled'))
  const [refused] = await results(['mcp_f_echo', 'a'])
  expect(refused).toContain('cannot be reached, and the call was not made: It was given up')
  expect(refused).toContain('it exited with code 7')
  expect(await server.noted('start')).toHaveLength(6)
  await clock.advance(60_000)
  expect(await results(['mcp_f_echo', 'a'])).toEqual(['echo a'])
})

test('FM-10 a missing program is not retried', async () => {
  const { agent, provider, heardOf } = agentWith([{ name: 'f', transport: 'stdio', command: 'no-such-program-here' }])
  provider.push('done')
  await agent.run({ prompt: 'go' })
  expect((await agent.mcpServers())[0]).toMatchObject({ state: 'disabled' })
  expect(heardOf('mcp:reconnect')).toEqual([])
  expect(heardOf('mcp:error').join()).toContain('could not be started')
})

test('FM-12 there is one process at a time, however often the connection is lost', async () => {
  const server = await faultServer([])
  const { results, agent } = agentWith([server.config])
  const most: number[] = []
  agent.hooks.hook('tool:after', async () => void most.push((await server.alive()).length))
  for (let n = 0; n < 10; n++)
    expect(await results(['mcp_f_echo', 'crash'], ['mcp_f_echo', 'a'])).toEqual([expect.any(String), 'echo a'])
  expect(Math.max(...most)).toBeLessThanOrEqual(1)
  expect(await server.noted('start')).toHaveLength(11)
})

test('FM-12 concurrent calls that lose a server start one process', async () => {
  const server = await faultServer([])
  const { agent, provider } = agentWith([server.config])
  const calls = ['a', 'crash', 'b'].map((text, i) => call(`c${i}`, 'mcp_f_echo', { text }))
  provider.push(calls, [call('d', 'mcp_f_echo', { text: 'c' })], 'done')
  await agent.run({ prompt: 'go' })
  expect(resultsOf(agent).at(-1)).toBe('echo c')
  expect(await server.noted('start')).toHaveLength(2)
  expect((await server.alive()).length).toBe(1)
})

test('FM-12 a server that ignores its end is killed before the next one starts', async () => {
  const server = await faultServer(['ignore-end', 'slow-list'], { bootstrapTimeout: 700 })
  const { agent, provider } = agentWith([server.config])
  provider.push('done')
  await within(agent.run({ prompt: 'go' }))
  const most: number[] = []
  await eventually(async () => {
    most.push((await server.alive()).length)
    expect((await server.noted('start')).length).toBeGreaterThan(1)
  })
  expect(Math.max(...most)).toBe(1)
  await within(agent.destroy())
  expect(await server.alive()).toEqual([])
}, 40_000)

test.each([['hang'], ['silent-probe'], ['slow-list'], ['slow-list', 'ignore-end']])(
  'destroy ends a server that is still connecting (%s)',
  async (...modes) => {
    const server = await faultServer(modes)
    const { agent } = agentWith([server.config], { eager: true })
    await eventually(async () => expect((await server.ledger()).length).toBeGreaterThan(1))
    await within(agent.destroy())
    expect(await server.noted('start')).toHaveLength(1)
    expect(await server.alive()).toEqual([])
  },
  40_000,
)

test('destroy ends a server with a call under way, and one that waits for a retry', async () => {
  const [busy, gone] = [await faultServer([]), await faultServer(['crash-at-start'], { name: 'g' })]
  const { agent, provider } = agentWith([busy.config, gone.config])
  provider.push([call('c', 'mcp_f_echo', { text: 'silent' })])
  const running = agent.run({ prompt: 'go' }).catch(() => 'ended')
  await eventually(async () => expect(await busy.noted('call')).toHaveLength(1))
  await within(agent.destroy())
  expect(await running).toBe('ended')
  expect([...(await busy.alive()), ...(await gone.alive())]).toEqual([])
})

test('TR-19 a server whose signal aborts is closed at once, with its tools', async () => {
  const [bad, good] = [await faultServer([]), await faultServer([], { name: 'g' })]
  const leave = new AbortController()
  const { agent, provider, results } = agentWith([bad.config, good.config], {
    mcpConnector: (configs, host) =>
      connectMcpServers(configs, host, host.hooks, { until: ({ name }) => (name === 'f' ? leave.signal : undefined) }),
  })
  provider.push(
    [call('c1', 'mcp_f_echo', { text: 'a' })],
    async () => {
      leave.abort()
      await eventually(async () => expect(await bad.alive()).toEqual([]))
      return [call('c2', 'mcp_f_echo', { text: 'b' })]
    },
    'done',
  )
  await agent.run({ prompt: 'go' })
  expect(resultsOf(agent)).toEqual(['echo a', expect.stringMatching(/does not offer mcp_f_echo any more|was closed/)])
  expect(provider.requests.at(-1)?.tools.map(({ name }) => name)).toEqual(['mcp_g_echo', 'mcp_g_other'])
  expect(await results(['mcp_g_echo', 'c'])).toEqual(['echo c'])
  expect((await agent.mcpServers())[0]?.state).toBe('closed')
})

test('TR-19 a server whose signal is aborted from the start is not started', async () => {
  const server = await faultServer([])
  const { agent, provider } = agentWith([server.config], {
    mcpConnector: (configs, host) => connectMcpServers(configs, host, host.hooks, { until: () => AbortSignal.abort() }),
  })
  provider.push('done')
  await agent.run({ prompt: 'go' })
  expect(await server.ledger()).toEqual([])
})

test('A200 both bootstrap hooks fire for each server, connect and error by the outcome', async () => {
  const [bad, good] = [await faultServer(['crash-at-start']), await faultServer([], { name: 'g' })]
  const { agent, heard } = agentWith([bad.config, good.config])
  await agent.warmup()
  const about = (name: string): string[] =>
    heard.filter((line) => line.includes(`"name":"${name}"`)).map((line) => line.split(' ')[0]!)
  expect(about('f')).toEqual(['mcp:bootstrap:start', 'mcp:reconnect', 'mcp:bootstrap:end', 'mcp:error'])
  expect(about('g')).toEqual(['mcp:bootstrap:start', 'mcp:connect', 'mcp:bootstrap:end'])
  const end = (name: string): unknown =>
    JSON.parse(heard.find((line) => line.startsWith(`mcp:bootstrap:end {"name":"${name}"`))!.slice(18))
  expect(end('f')).toMatchObject({ ok: false, transport: 'stdio', durationMs: expect.any(Number) })
  expect(end('f')).toHaveProperty('error')
  expect(end('g')).toMatchObject({ ok: true, toolCount: 2, durationMs: expect.any(Number) })
})

test('A202 the next run reuses the connections', async () => {
  const server = await faultServer([])
  const { results, heardOf } = agentWith([server.config], { eager: true })
  expect([...(await results(['mcp_f_echo', 'a'])), ...(await results(['mcp_f_echo', 'b']))]).toEqual([
    'echo a',
    'echo b',
  ])
  expect(heardOf('mcp:connect')).toHaveLength(1)
  expect(await server.noted('start')).toHaveLength(1)
})

test.each([
  ['none', undefined],
  ['rules', { authority: { mode: 'yolo' } }],
  ['extensions', { extensions: [{ name: 'mine' }] }],
  ['skills', { skills: { enabled: true } }],
] as [string, ChildPreset | undefined][])(
  'A202 a child with a preset of its own (%s) uses the connection of its parent',
  async (_, preset) => {
    const server = await faultServer([])
    const next: Step = ({ messages }) => {
      if (messages.length > 1) return 'done'
      const isChild = texts(messages)[0] === 'user: look'
      return [isChild ? call('k1', 'mcp_f_echo', { text: 'from the child' }) : call('c1', 'spawn', { task: 'look' })]
    }
    const agent = createAgent({
      provider: scripted(next, next, next, next, [call('c2', 'mcp_f_echo', { text: 'after' })], 'done'),
      tools: { spawn: createSpawnTool(preset && { preset }) },
      mcpServers: [server.config],
    })
    onTestFinished(() => agent.destroy())
    await agent.run({ prompt: 'go' })
    expect(await server.noted('call')).toEqual(['call echo from the child'])
    await agent.run({ prompt: 'again' })
    expect(await server.noted('call')).toEqual(['call echo from the child', 'call echo after'])
    expect(await server.noted('start')).toHaveLength(1)
  },
)

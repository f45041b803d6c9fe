// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references to variables are what some of this is about
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, onTestFinished, vi } from 'vitest'
import { builtCli } from '../built-cli.ts'
import { browse, oauthWorld } from '../mcp/fixtures/oauth-world.ts'
import { isAlive } from '../processes.ts'
import { gate, type MockService, startMockService } from '../rpc/mock-service.ts'
import { testInTurns } from '../soak.ts'
import { type Desk, openDesk } from './cli-kit.ts'
import { type PseudoTerminal, startInTerminal } from './pseudo-terminal.ts'

// Each of them starts processes.
const test = testInTurns(3)

const main = await builtCli()
const source = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url))

const script = fileURLToPath(new URL('./mcp-server.mjs', import.meta.url))
const timeLimit = { timeout: 90_000 }

async function office(): Promise<{ desk: Desk; service: MockService }> {
  const service = await startMockService()
  onTestFinished(() => service.close())
  return { desk: openDesk(service.url), service }
}

/** On a busy machine a server may need long to start. */
const startLimitMs = 60_000

/** A server as in `.mcp.json`. */
const program = (...args: string[]) => ({ command: process.execPath, args: [script, ...args] })
const flag = (name: string, ...habits: string[]): string[] => [
  '--mcp',
  JSON.stringify({
    ...{ name, transport: 'stdio', ...program(name, ...habits) },
    bootstrapTimeout: habits.includes('hang') ? 3000 : startLimitMs,
  }),
]

const calling = (tool: string, text: string) => [{ call: tool, args: { text } }]
const said = ({ requests }: MockService): string => JSON.stringify(requests.at(-1).messages)
const offered = ({ requests }: MockService, at = 0): string[] =>
  (requests[at].tools as { function: { name: string } }[])
    .map((tool) => tool.function.name)
    .filter((name) => name.startsWith('mcp_'))

/** The starts that servers have recorded so far. */
function startsIn(path: string): { pid: number; what: string }[] {
  const lines = existsSync(path) ? readFileSync(path, 'utf8').trim().split('\n') : []
  return lines.map((line) => ({ pid: Number(line.split(' ')[0]), what: line.split(' ').slice(1).join(' ').trim() }))
}

test('A233 --mcp given twice connects both servers, and a model can call a tool of each', timeLimit, async () => {
  const { desk, service } = await office()
  service.play(calling('mcp_left_ask', 'one'), calling('mcp_right_ask', 'two'), [{ say: 'both answered' }])
  const { code, out, err } = await desk.process([...flag('left'), ...flag('right'), '--yolo', 'Ask both.'])
  expect(code, err).toBe(0)
  expect(out).toBe('both answered\n')
  expect(offered(service)).toEqual(['mcp_left_ask', 'mcp_right_ask'])
  expect(said(service)).toContain('left heard one')
  expect(said(service)).toContain('right heard two')
})

test('A233 a run without a task fails, and so does an invalid --mcp; no model is asked', timeLimit, async () => {
  const { desk, service } = await office()
  expect(await desk.libero(flag('left'))).toMatchObject({ code: 2, err: expect.stringContaining('there is no task') })
  const broken = await desk.libero(['--mcp', '{"name": "a" "b"}', 'Do it.'])
  expect(broken).toMatchObject({ code: 2, err: expect.stringContaining('--mcp is not JSON, line 1, column 14') })
  const field = await desk.libero([...flag('left'), '--mcp', '{"name": "a", "comand": "x"}', 'Do it.'])
  expect(field.err).toContain('the second --mcp.comand does not exist, did you mean "command"?')
  const twice = await desk.libero([...flag('left'), ...flag('left'), 'Do it.'])
  expect(twice).toMatchObject({ code: 2, err: expect.stringContaining('two --mcp are named "left"') })
  expect(service.requests).toEqual([])
})

test('a server that fails and one that hangs are named on stderr, and the run continues', timeLimit, async () => {
  const { desk, service } = await office()
  const servers = [...flag('good'), ...flag('bad', 'crash'), ...flag('mute', 'hang')]
  const { code, out, err } = await desk.libero([...servers, 'Go.'])
  expect(code, err).toBe(0)
  expect(out).toBe('ok\n')
  expect(offered(service)).toEqual(['mcp_good_ask'])
  expect(err).toMatch(/^! MCP server "bad" is not available: .*no licence found.*; continuing without its tools$/m)
  expect(err).toMatch(
    /^! MCP server "mute" is not available: was not ready within 3 s; .*continuing without its tools$/m,
  )
  expect(err).toContain('waiting for MCP server "mute"…')
  const quiet = await desk.libero([...servers, '-q', 'Go.'])
  expect(quiet.err.match(/is not available/g)).toHaveLength(2)
  expect(quiet.err).not.toContain('waiting')
})

test('a server that disconnects during a run is named, and so is its reconnection', timeLimit, async () => {
  const { desk, service } = await office()
  const back = gate()
  service.play(calling('mcp_left_ask', 'die'), [{ wait: back.opened }, { say: 'done' }])
  const run = desk.start([...flag('left'), '--yolo', 'Try it.'])
  run.child.stdin.end()
  await run.until(/MCP server "left" was lost: .*; connecting again/)
  await run.until('MCP server "left" is connected again')
  back.open()
  expect((await run.ended).code).toBe(0)
})

test('the user’s servers are used in every run, with variables of the environment', timeLimit, async () => {
  const { desk, service } = await office()
  const added = await desk.libero([
    'mcp',
    'add',
    'mine',
    '--env',
    'TOKEN=${MY_TOKEN}',
    '--',
    process.execPath,
    script,
    'mine',
    '--yolo',
  ])
  expect(added.code, added.err).toBe(0)
  expect(added.out).toContain(`"${process.execPath}" "${script}" "mine" "--yolo"`)
  service.play(calling('mcp_mine_ask', 'this'))
  const run = await desk.libero(['--yolo', 'Ask it.'], { env: { MY_TOKEN: 'token-4711' } })
  expect(run.code, run.err).toBe(0)
  expect(said(service)).toContain('mine heard this, and token-4711')
  const without = await desk.libero(['Ask it.'])
  expect(without).toMatchObject({ code: 0, out: 'ok\n' })
  expect(without.err).toContain(
    'MCP server "mine" is not available: mcpServers.mine.env.TOKEN needs the environment variable MY_TOKEN',
  )
  for (const args of [['mcp'], ['mcp', '--json'], ['config'], ['config', 'get', 'mcpServers.mine']])
    expect((await desk.libero(args, { env: { MY_TOKEN: 'token-4711' } })).out).not.toContain('token-4711')
})

test('rpc has servers too, and its stdout holds only lines for programs', timeLimit, async () => {
  const { desk, service } = await office()
  service.play(calling('mcp_left_ask', 'one'))
  const stdin = '{"id":"1","type":"prompt","message":"Ask."}\n'
  const { code, out, err } = await desk.libero(['rpc', ...flag('left'), ...flag('bad', 'crash')], { stdin })
  expect(code, err).toBe(0)
  expect(said(service)).toContain('left heard one')
  expect(err).toMatch(/^libero: MCP server "bad" is not available/m)
  for (const line of out.trim().split('\n')) expect(() => JSON.parse(line)).not.toThrow()
  const frames = await desk.libero(['--json', ...flag('bad', 'crash'), 'Go.'])
  expect(frames.err).toMatch(/^MCP server "bad" is not available/m)
  for (const line of frames.out.trim().split('\n')) expect(() => JSON.parse(line)).not.toThrow()
})

describe('servers of a project', () => {
  async function project(): Promise<{ desk: Desk; service: MockService; starts: string; trust(): Promise<void> }> {
    const { desk, service } = await office()
    const starts = join(desk.home, 'starts')
    const trust = async (): Promise<void> => {
      const digest = /digest: (\S+)/.exec((await desk.libero(['trust'])).out)?.[1]
      expect((await desk.libero(['trust', '--digest', digest!])).code).toBe(0)
    }
    return { desk, service, starts, trust }
  }
  const file = (servers: object): string => JSON.stringify({ mcpServers: servers })

  test(
    'TR-02 TR-06 a server is pending and not started until it is trusted, and again after it changed',
    timeLimit,
    async () => {
      const { desk, service, starts, trust } = await project()
      const entry = { ...program('theirs'), env: { STARTS: starts }, bootstrapTimeout: startLimitMs }
      desk.write('.mcp.json', file({ theirs: entry }))
      const before = await desk.libero(['Look.'])
      expect(before.code).toBe(0)
      expect((await desk.libero(['mcp'])).out).toMatch(
        /project +pending[\s\S]*not trusted, so it was not opened; see: libero trust/,
      )
      expect((await desk.libero(['mcp', 'test', 'all'])).code).toBe(2)
      expect(startsIn(starts)).toEqual([])

      await trust()
      expect((await desk.libero(['Look.'])).code).toBe(0)
      expect(startsIn(starts).map(({ what }) => what)).toEqual(['theirs'])
      expect(offered(service, 0)).toEqual([])
      expect(offered(service, 1)).toEqual(['mcp_theirs_ask'])

      desk.write('.mcp.json', file({ theirs: { ...entry, args: [...entry.args, 'more'] } }))
      const changed = await desk.libero(['Look.'])
      expect(changed.code).toBe(0)
      expect(changed.err).toContain('.mcp.json#theirs is left out: it is changed and was not accepted')
      expect((await desk.libero(['mcp'])).out).toContain('it is changed and was not accepted yet; see: libero trust')
      const tested = await desk.libero(['mcp', 'test', 'theirs'])
      expect(tested).toMatchObject({
        code: 1,
        err: expect.stringContaining('it is changed and was not accepted yet'),
      })
      expect(startsIn(starts)).toHaveLength(1)
    },
  )

  test('TR-20 a project’s server gets only harmless variables, however it requests them', timeLimit, async () => {
    const { desk, service, starts, trust } = await project()
    const asking = (value: string) => ({ ...program('theirs'), env: { STARTS: starts, TOKEN: value } })
    desk.write(
      '.mcp.json',
      file({
        plain: asking('${ANTHROPIC_API_KEY}'),
        hidden: asking('${ANTHROPIC_API_KEY:-$}'),
        nested: asking('${HOME:-${ANTHROPIC_API_KEY}}'),
        fine: asking('${HOME}'),
      }),
    )
    await trust()
    service.play(calling('mcp_hidden_ask', 'this'), calling('mcp_fine_ask', 'that'))
    const run = await desk.process(['--yolo', 'Look.'], { env: { ANTHROPIC_API_KEY: 'sk-ant-secret-4711' } })
    expect(run.code, run.err).toBe(0)
    expect(run.err).toContain('it asks for ANTHROPIC_API_KEY, which a project may not read')
    expect(offered(service)).toEqual(expect.arrayContaining(['mcp_fine_ask']))
    expect(offered(service)).not.toEqual(expect.arrayContaining(['mcp_plain_ask']))
    expect(said(service)).toContain(desk.env.HOME)
    expect(JSON.stringify(service.requests)).not.toContain('4711')
  })

  test(
    'a project’s server does not replace the user’s, and an invalid one does not stop the run',
    timeLimit,
    async () => {
      const { desk, service, trust } = await project()
      await desk.libero(['mcp', 'add', 'both', '--', process.execPath, script, 'mine'])
      desk.write('.mcp.json', file({ both: program('theirs'), wrong: { command: 5 }, 'a b': program('x') }))
      await trust()
      service.play(calling('mcp_both_ask', 'who'))
      const { code, err } = await desk.libero(['--yolo', 'Ask.'])
      expect(code, err).toBe(0)
      expect(said(service)).toContain('mine heard who')
      expect(err).toContain('the MCP server "both" is left out: you have a server of that name')
      expect(err).toContain('the MCP server "wrong" is left out: mcpServers.wrong.command must be the name or path')
      expect(err).toContain('the MCP server "a b" is left out')
    },
  )

  test('a project’s settings can neither name servers nor select their tools', timeLimit, async () => {
    const { desk, service, trust } = await project()
    desk.write('.libero/config.json', JSON.stringify({ mcpServers: { x: program('x') }, toolDisclosure: 'lazy' }))
    await trust()
    const { code, err } = await desk.libero(['Look.'])
    expect(code, err).toBe(0)
    expect(err).toContain('mcpServers was left out: a project configures its servers in .mcp.json')
    expect(err).toContain('toolDisclosure was left out')
    expect(offered(service)).toEqual([])
  })

  test('TR-19 its servers stop when trust is revoked in the middle of a run', timeLimit, async () => {
    const { desk, service, starts, trust } = await project()
    const theirs = { ...program('theirs'), env: { STARTS: starts }, bootstrapTimeout: startLimitMs }
    desk.write('.mcp.json', file({ theirs }))
    await trust()
    const revoked = gate()
    service.play([{ call: 'list_files', args: { path: '.' } }, { wait: revoked.opened }])
    const run = desk.start(['--yolo', 'Look.'])
    run.child.stdin.end()
    await vi.waitFor(() => expect(service.requests).toHaveLength(1), 30_000)
    const [server] = startsIn(starts)
    expect(isAlive(server!.pid)).toBe(true)
    await desk.libero(['trust', '--revoke'])
    await run.until('The project is no longer trusted: its MCP servers (theirs) were stopped')
    await vi.waitFor(() => expect(isAlive(server!.pid)).toBe(false), 30_000)
    revoked.open()
    expect((await run.ended).code).toBe(0)
    expect(offered(service, 0)).toEqual(['mcp_theirs_ask'])
    expect(offered(service, 1)).toEqual([])
  })
})

test('mcp test prints what a server offers, or why it failed, and leaves nothing running', timeLimit, async () => {
  const { desk } = await office()
  const starts = join(desk.home, 'starts')
  const everything = fileURLToPath(
    new URL('../../node_modules/@modelcontextprotocol/server-everything/dist/index.js', import.meta.url),
  )
  const servers = {
    everything: { command: process.execPath, args: [everything] },
    left: { ...program('left'), env: { STARTS: starts } },
    bad: program('bad', 'crash'),
    mute: { ...program('mute', 'hang'), env: { STARTS: starts }, bootstrapTimeout: 1500 },
    off: { ...program('off'), env: { STARTS: starts }, disabled: true },
  }
  writeFileSync(join(desk.home, 'config.json'), JSON.stringify({ mcpServers: servers }))
  const good = await desk.libero(['mcp', 'test', 'everything', 'left'])
  expect(good.code, good.err).toBe(0)
  expect(good.out).toMatch(/^everything: works, \d+ tools, protocol 20\d\d-\d\d-\d\d, \d+ ms$/m)
  expect(good.out).toMatch(/^ {4}mcp_everything_echo {2}Echoes back the input string$/m)
  const all = await desk.process(['mcp', 'test', 'all', '--json'])
  expect(all.code).toBe(1)
  const results = JSON.parse(all.out).servers as { name: string; isOk: boolean; problem?: string }[]
  expect(results.map(({ name, isOk }) => [name, isOk])).toEqual([
    ['everything', true],
    ['left', true],
    ['bad', false],
    ['mute', false],
  ])
  expect(results[2]?.problem).toContain('no licence found')
  for (const { pid } of startsIn(starts)) expect(isAlive(pid)).toBe(false)
  expect(await desk.libero(['mcp', 'test', 'lefft'])).toMatchObject({
    code: 2,
    err: expect.stringContaining('did you mean "left"'),
  })
  expect(await desk.libero(['mcp', 'test', 'off'])).toMatchObject({
    code: 1,
    err: expect.stringContaining('is disabled'),
  })
})

test.for([
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const)('mcp test stopped by %s leaves nothing running either', timeLimit, async ([signal, exitCode]) => {
  const { desk } = await office()
  const starts = join(desk.home, 'starts')
  const mute = { name: 'mute', ...program('mute', 'hang'), env: { STARTS: starts }, bootstrapTimeout: 60_000 }
  const run = desk.start(['mcp', 'test', '--mcp', JSON.stringify(mute), 'mute'])
  await vi.waitFor(() => expect(startsIn(starts)).toHaveLength(1), 30_000)
  run.child.kill(signal)
  expect((await run.ended).code).toBe(exitCode)
  expect(isAlive(startsIn(starts)[0]!.pid)).toBe(false)
})

test('a run stopped while it waits for a server does not claim to continue without it', timeLimit, async () => {
  const { desk } = await office()
  const starts = join(desk.home, 'starts')
  const mute = { name: 'mute', ...program('mute', 'hang'), env: { STARTS: starts }, bootstrapTimeout: 60_000 }
  const run = desk.start(['--mcp', JSON.stringify(mute), 'Go.'])
  await run.until('waiting for MCP server "mute"')
  run.child.kill('SIGINT')
  const { code, err } = await run.ended
  expect(code).toBe(130)
  expect(err).not.toContain('continuing without')
  expect(isAlive(startsIn(starts)[0]!.pid)).toBe(false)
})

test('settings exclude tools of servers, or show them on request', timeLimit, async () => {
  const { desk, service } = await office()
  const path = join(desk.home, 'config.json')
  const config = JSON.parse(readFileSync(path, 'utf8'))
  const both = [...flag('left'), ...flag('right')]
  writeFileSync(path, JSON.stringify({ ...config, withoutTools: ['mcp_left_ask'] }))
  expect((await desk.libero([...both, 'Go.'])).code).toBe(0)
  expect(offered(service)).toEqual(['mcp_right_ask'])
  writeFileSync(path, JSON.stringify({ ...config, toolDisclosure: 'lazy' }))
  expect((await desk.libero([...both, 'Go.'])).code).toBe(0)
  expect(offered(service, 1)).toEqual([])
  expect(JSON.stringify(service.requests[1].tools)).toContain('tool_search')
})

test('a login in the browser is stored, used, shown and removed', timeLimit, async () => {
  const { desk } = await office()
  const world = await oauthWorld()
  expect((await desk.libero(['mcp', 'add', 'tracker', world.server.url])).code).toBe(0)
  const before = await desk.libero(['Look.'])
  expect(before.code, before.err).toBe(0)
  expect(before.err).toMatch(/^! MCP server "tracker" needs a login: libero mcp login tracker$/m)
  const login = desk.start(['mcp', 'login', 'tracker', '--no-browser'])
  login.child.stdin.end()
  await login.until(/open http\S+\n/)
  await browse(/open (http\S+)/.exec(login.said.err)![1]!)
  expect(await login.ended).toMatchObject({ code: 0, err: expect.stringContaining('Logged in to "tracker"') })
  expect((await desk.libero(['mcp'])).out).toContain(`logged in at ${world.issuer.url}`)
  expect((await desk.libero(['mcp', 'test', 'tracker'])).out).toContain('tracker: works')
  expect(await desk.libero(['mcp', 'logout', 'tracker'])).toMatchObject({
    code: 0,
    err: expect.stringContaining('Deleted the login'),
  })
  const after = await desk.libero(['mcp', 'test', 'tracker'])
  expect(after).toMatchObject({ code: 1, out: expect.stringContaining('log in with: libero mcp login tracker') })
})

test('a run without servers loads nothing of MCP but its configuration', timeLimit, async () => {
  const desk = openDesk()
  const hook = `import { registerHooks } from 'node:module'
registerHooks({ load(url, ctx, next) { if (url.includes('/src/')) process.stderr.write('loaded ' + url.split('/src/')[1] + '\\n'); return next(url, ctx) } })`
  writeFileSync(join(desk.home, 'hook.mjs'), hook)
  const from = (args: string[]): string => {
    const start = ['--conditions=libero-source', '--import', join(desk.home, 'hook.mjs'), source, ...args]
    const { status, stderr } = spawnSync(process.execPath, start, {
      cwd: desk.cwd,
      env: desk.env,
      encoding: 'utf8',
      timeout: 60_000,
    })
    expect(status, stderr).toBe(0)
    return stderr
  }
  const loaded = (args: string[]): string[] =>
    [...from(args).matchAll(/^loaded ((?:cli\/)?mcp\/.*)$/gm)].map(([, file = '']) => file).sort()
  const run = ['--provider', 'offline', '--no-session', 'list the files']
  const few = ['cli/mcp/servers.ts', 'mcp/config.ts', 'mcp/connections.ts']
  expect(loaded(run).filter((file) => !few.includes(file))).toEqual([])
  expect(loaded([...flag('left'), ...run]).length).toBeGreaterThan(20) // the hook works
})

describe('at a terminal', () => {
  const sit = (desk: Desk, args: readonly string[]): PseudoTerminal =>
    startInTerminal([process.execPath, main, ...args], { cwd: desk.cwd, env: desk.env, columns: 100, rows: 40 })

  test('an awaited server is named in a live line, and Ctrl-C ends the wait', timeLimit, async () => {
    const { desk, service } = await office()
    const starts = join(desk.home, 'starts')
    const mute = { name: 'mute', ...program('mute', 'hang'), env: { STARTS: starts } }
    const terminal = sit(desk, ['--mcp', JSON.stringify({ ...mute, bootstrapTimeout: 3000 }), 'Go.'])
    await terminal.until('waiting for MCP server "mute"…')
    await terminal.until(/! MCP server "mute" is not available/)
    expect(await terminal.ended).toBe(0)
    expect(terminal.text()).not.toContain('waiting for')
    const stopped = sit(desk, ['--mcp', JSON.stringify({ ...mute, bootstrapTimeout: 60_000 }), 'Go.'])
    await stopped.until('waiting for MCP server "mute"…')
    stopped.type('\x03')
    expect(await stopped.ended).toBe(130)
    expect(service.requests).toHaveLength(1)
    for (const { pid } of startsIn(starts)) expect(isAlive(pid)).toBe(false)
  })

  test('MC-16 TR-14 the question about a project’s server shows its whole command, escaped', timeLimit, async () => {
    const { desk, service } = await office()
    const starts = join(desk.home, 'starts')
    const words = Array.from({ length: 700 }, (_, i) => `word-${i}`).join(' ')
    const args = [script, 'theirs', 'two\nlines', '\u202eback', '"; rm -rf /', words, 'the-very-end']
    desk.write(
      '.mcp.json',
      JSON.stringify({ mcpServers: { theirs: { command: process.execPath, args, env: { STARTS: starts } } } }),
    )
    const terminal = sit(desk, ['Go.'])
    await terminal.until(/▸ d {2}decline.*Esc: not now/s)
    terminal.type('t')
    const asked = await terminal.until(/wants to start or call these MCP servers[\s\S]*Esc/)
    const oneLine = asked.replaceAll(/\s*\n[│┆] ?/g, ' ')
    expect(oneLine).toContain(String.raw`"theirs" "two\nlines" "\u202eback" "\"; rm -rf /" "word-0 word-1 `)
    expect(oneLine).toContain(`"${words}" "the-very-end"`)
    expect(oneLine).toContain('environment: "STARTS"')
    expect(startsIn(starts)).toEqual([])
    terminal.type('t')
    expect(await terminal.ended).toBe(0)
    expect(startsIn(starts)).not.toEqual([])
    expect(offered(service)).toEqual(['mcp_theirs_ask'])
  })
})

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { createFileAudit } from '../../src/authority/audit/audit-file.ts'
import type { Grant } from '../../src/authority/grants/grant.ts'
import { createGrantFile } from '../../src/authority/grants/grant-file.ts'
import type { ServeValues } from '../../src/cli/commands/serve.ts'
import type { Config } from '../../src/cli/config/config.ts'
import { openServer } from '../../src/cli/serve/open-server.ts'
import { policyHere } from '../../src/cli/serve/policy-here.ts'
import { serveBeside } from '../../src/cli/serve/serve.ts'
import { createRemoteClient } from '../../src/client/index.ts'
import type { LiberoServer } from '../../src/server/create-server.ts'
import { loopbackFetch } from '../authorization-server.ts'
import { startOAuthAuthorizationServer } from '../mcp/fixtures/oauth-authorization-server.ts'
import { startProtectedMcpServer } from '../mcp/fixtures/oauth-mcp-server.ts'
import { browse } from '../mcp/fixtures/oauth-world.ts'
import { answerProblems, routeOf } from '../server/openapi-kit.ts'
import { until } from '../server/server-kit.ts'
import { type FakeIo, fakeIo } from './fake-io.ts'
import { write } from './prompt-commands.ts'

const token = 'a-token-of-at-least-32-characters-0'

/** `libero serve` in this process, without a port: its client, and everything that it answered and said. */
async function serving(config: Config = {}, prepare: (io: FakeIo) => void = () => {}, flags: ServeValues = {}) {
  const folder = fakeIo()
  const cwd = join(folder.cwd, 'project')
  mkdirSync(cwd)
  const io = fakeIo({ cwd, userHome: folder.cwd, home: join(folder.cwd, '.libero') })
  write(io.home, 'config.json', JSON.stringify({ provider: 'offline', sandbox: 'off', ...config }))
  prepare(io)
  const said: string[] = []
  const taken = new Set<string>()
  const problems: string[] = []
  const opened = await openServer(flags, { io, cwd, token, notify: (text) => said.push(text) })
  onTestFinished(async () => {
    await opened.close()
    expect(problems).toEqual([])
  })
  const client = createRemoteClient({
    url: 'http://127.0.0.1',
    token,
    retryForMs: 0,
    async fetch(address, init) {
      const response = await opened.server.fetch(new Request(address, init))
      const route = routeOf(init.method ?? 'GET', new URL(address).pathname)!
      const body = await response.clone().text()
      said.push(body)
      const type = response.headers.get('content-type') ?? ''
      problems.push(...answerProblems(route, { status: response.status, type, body }))
      if (response.ok) taken.add(`${route.method} ${route.path}`)
      return response
    },
  })
  return { client, io, said, taken }
}

const refusal = (work: Promise<unknown>) =>
  work.then(
    () => undefined,
    ({ status, detail }) => `${status} ${detail}`,
  )

test('WB36 what the rules say about calls of any tool is explained, with where their commands would run', async () => {
  const { client, io } = await serving({
    mode: 'ask',
    deny: ['fs.read:.env', 'mcp:files.*'],
    allow: ['shell:git status'],
  })
  const explain = (tool: string, input: object, mode?: 'yolo') =>
    client.explain({ tool, input: { ...input }, ...(mode && { mode }) })
  // What it reads could be the file that a rule hides, and there is no sandbox that hides it.
  expect(await explain('shell', { command: 'git status' })).toMatchObject({ verdict: 'ask', by: 'sandbox' })
  expect(await explain('shell', { command: 'make' })).toMatchObject({
    ...{ verdict: 'ask', by: 'mode-gate', effects: ['exec', 'unknown'], key: 'make' },
    where: expect.stringContaining('OUTSIDE any sandbox'),
  })
  expect(await explain('shell', { command: 'ls' }, 'yolo')).toMatchObject({ verdict: 'allow' })
  expect(await explain('read_file', { path: '.env' })).toMatchObject({ verdict: 'deny', rule: 'fs.read:.env' })
  expect(await explain('read_file', { path: 'a.txt' })).toMatchObject({ verdict: 'allow', confinement: null })
  expect(await explain('mcp:files.read', {})).toMatchObject({ verdict: 'deny', rule: 'mcp:files.*' })
  expect(await refusal(explain('no_tool', {}))).toContain('422 There is no tool "no_tool"')

  const rules = await client.rules()
  expect(rules).toMatchObject({ mode: 'ask', sandbox: { profiles: [], why: 'it was switched off' } })
  expect(rules.rules).toContainEqual({ list: 'deny', rule: 'fs.read:.env', layer: 'global' })
  expect(JSON.stringify(rules)).not.toContain(io.home)
})

test('WB37 calls are tested against the rules in force, or against others, which must pass their own examples', async () => {
  const { client } = await serving({ mode: 'ask' })
  const line = (command: string, expect?: 'allow' | 'ask' | 'deny') => ({
    ...{ tool: 'shell', input: { command } },
    ...(expect && { expect }),
  })
  const cases = [line('make', 'ask'), line('ls', 'deny'), { tool: 'none', input: {} }]
  expect(await client.testPolicy({ cases })).toMatchObject({
    results: [
      { verdict: 'ask', passed: true },
      { expect: 'deny', passed: false },
      { passed: false, problem: /none/ },
    ].map(({ problem, ...one }) => ({ ...one, ...(problem && { problem: expect.stringMatching(problem) }) })),
    ...{ passed: 1, failed: 2 },
  })
  const rules = { mode: 'yolo', deny: [{ rule: 'shell:make', match: ['make all'] }] } as const
  expect(await client.testPolicy({ rules, cases: [line('make x', 'deny'), line('ls', 'allow')] })).toMatchObject({
    passed: 2,
  })
  const wrong = { deny: [{ rule: 'shell:make', match: ['ls'] }] }
  expect(await refusal(client.testPolicy({ rules: wrong, cases: [] }))).toMatch(/^422 .*should match, and does not/)
  expect(await refusal(client.testPolicy({ rules: { deny: ['shell:'] }, cases: [] }))).toMatch(/^422 .*colon/)
  const long = Array.from({ length: 100 }, () => line('x'.repeat(2000)))
  expect(await refusal(client.testPolicy({ cases: long }))).toContain('400 Rules and cases may have')
})

test('WB37 a test of rules is bounded: in patterns, and by the request that asked for it', async () => {
  const { client } = await serving()
  const hostile = (count: number) => ({ tools: { shell: { allowPatterns: Array(count).fill('(l+)+$') } } })
  const cases = Array(100).fill({ tool: 'shell', input: { command: `${'l'.repeat(60)}!` } })
  expect(await refusal(client.testPolicy({ rules: hostile(51), cases }))).toMatch(/^400 .*tools.shell.*at most 50/)
  const stop = new AbortController()
  const testing = policyHere({}, fakeIo()).testPolicy({ rules: hostile(50), cases }, { user: 'u' }, stop.signal)
  testing.catch(() => {})
  await new Promise((resolve) => setTimeout(resolve, 300))
  stop.abort(new Error('the client is gone'))
  await expect(testing).rejects.toThrow('the client is gone') // it would pass only after all cases
})

test('WB38 grants are listed in words and revoked; the audit is read in pages, by tool, decision and text', async () => {
  const { client, io, said } = await serving()
  const grant: Grant = {
    ...{ tool: 'shell', key: 'npm test', covers: 'npm test', origin: { layer: 'host' }, scope: 'project' },
    ...{ project: '/work', grantedAt: 1, grantedBy: 'ann' },
  }
  await createGrantFile(join(io.home, 'grants.json')).change(() => [grant, { ...grant, key: 'b', covers: 'b' }])
  const [first] = await client.grants()
  expect(first).toMatchObject({ tool: 'shell', covers: expect.any(String), project: '/work', grantedBy: 'ann' })
  expect(first).not.toHaveProperty('key')
  await client.revokeGrant(first!.id)
  expect((await client.grants()).map(({ id }) => id)).not.toContain(first!.id)
  expect(await refusal(client.revokeGrant('none'))).toContain('404 There is no such approval')

  const secret = 'sk-live-0123456789abcdefghijklmnop'
  const audit = await createFileAudit({ path: join(io.home, 'audit') })
  for (const [callId, tool, verdict] of [
    ...([['c1', 'shell', 'allow'] as const, ['c2', 'edit', 'deny'] as const] as const),
    ['c3', 'shell', 'ask'] as const,
  ])
    await audit.write({
      ...{ class: 'Approval', event: 'ApprovalDecided', sessionId: 's', callId, tool, key: `key of ${callId}` },
      decision: { verdict, by: 'rule', why: `because ${secret}` },
    } as never)
  const calls = async (query: Parameters<typeof client.audit>[0]) =>
    (await client.audit(query)).records.map(({ callId }) => callId)
  expect(await calls({})).toEqual(['c3', 'c2', 'c1'])
  expect(await calls({ tool: 'shell' })).toEqual(['c3', 'c1'])
  expect(await calls({ decision: 'deny' })).toEqual(['c2'])
  expect(await calls({ text: 'KEY OF C1' })).toEqual(['c1'])
  expect(await calls({ text: secret })).toEqual([])
  const { records, next } = await client.audit({ limit: 2 })
  expect([records.length, await calls({ limit: 2, cursor: next! })]).toEqual([2, ['c1']])
  expect(said.join()).not.toContain(secret)
})

test('WB39 keys of providers are stored and deleted, and no answer, message or error has one', async () => {
  const { client, io, said } = await serving({}, (io) => Object.assign(io.env, { GROQ_API_KEY: 'gsk-variable' }))
  const key = 'sk-test-this-is-a-key-0123456789'
  const anthropic = async () => (await client.providers()).find(({ name }) => name === 'anthropic')
  expect(await anthropic()).toMatchObject({ isUsable: false, needsKey: true, variable: 'ANTHROPIC_API_KEY' })
  await client.setKey('anthropic', `${key}\n`)
  const path = join(io.home, 'credentials.json')
  expect(JSON.parse(readFileSync(path, 'utf8'))).toMatchObject({ anthropic: { type: 'api_key', key } })
  expect(await anthropic()).toMatchObject({ isUsable: true, key: 'stored' })
  expect((await client.providers()).find(({ name }) => name === 'groq')).toMatchObject({ key: 'variable' })
  for (const [provider, wrong] of [
    ...([
      ['no-such-provider', key],
      ['offline', key],
      ['anthropic', `${key} ${key}`],
    ] as const),
    ['anthropic', `${key}${'x'.repeat(9000)}`] as const,
  ])
    expect(await refusal(client.setKey(provider, wrong))).toMatch(/^4(00|22) /)
  expect(await refusal(client.setKey('anthropic', 'sk-other-key-0123456789', { check: true }))).toContain(
    'could not be reached',
  )
  expect(JSON.parse(readFileSync(path, 'utf8')).anthropic.key).toBe(key)
  await client.deleteKey('anthropic')
  expect(await anthropic()).toMatchObject({ isUsable: false })
  expect(await refusal(client.deleteKey('anthropic'))).toContain('404 Nothing is stored')
  expect(said.join() + io.said.out + io.said.err).not.toMatch(/sk-test|sk-other|gsk-variable/)
})

const demo = fileURLToPath(new URL('mcp-server.mjs', import.meta.url))
const skill = '---\nname: tidy\ndescription: Tidies a drawer.\n---\nTidy it.\n'

test('WB40 tools, skills and MCP servers are listed with what a person wants to know', async () => {
  const { client, io } = await serving(
    {
      mcpServers: {
        demo: { command: process.execPath, args: [demo, 'demo'] },
        cloud: { url: 'http://127.0.0.1:1/mcp', auth: 'oauth' },
      },
    },
    ({ home, cwd }) => {
      write(home, 'skills/tidy/SKILL.md', skill)
      write(home, 'skills/bad/SKILL.md', 'nothing')
      write(cwd, '.libero/skills/waiting/SKILL.md', skill)
    },
  )
  expect((await client.tools()).find(({ name }) => name === 'shell')).toMatchObject({
    ...{ layer: 'program', state: 'active', description: expect.any(String), isKeyed: true, replay: 'opaque' },
    inputSchema: { type: 'object', properties: { command: expect.anything() } },
  })
  expect(await client.skills()).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ name: 'tidy', state: 'used', description: 'Tidies a drawer.', source: 'user' }),
      expect.objectContaining({ name: 'bad', state: 'wrong', problem: expect.any(String) }),
      expect.objectContaining({ name: 'waiting', state: 'pending', problem: expect.stringContaining('not trusted') }),
    ]),
  )
  expect((await client.mcp()).find(({ name }) => name === 'cloud')).toMatchObject({ state: 'used', isLoggedIn: false })
  expect(await client.mcpTest('demo')).toMatchObject({ isOk: true, tools: [{ name: 'mcp_demo_ask' }] })
  expect(await refusal(client.mcpTest('demos'))).toMatch(/^422 there is no MCP server "demos".*did you mean/)
  expect(await refusal(client.mcpLogin('demos'))).toMatch(/^422 there is no MCP server/)
  expect(await refusal(client.mcpLogin('demo'))).toMatch(/^422 /)
  expect(await client.mcpLogout('cloud')).toEqual({ removed: 0, revoked: 0 })
  expect(await refusal(client.mcpLogout('demos'))).toMatch(/^422 /)
  expect(await client.about()).toMatchObject({
    ...{ user: 'user', scopes: ['read', 'send', 'answer', 'admin'], folder: '~/project', host: expect.any(String) },
    offers: expect.arrayContaining(['agents', 'explain', 'mcpLogin', 'models', 'setKey']),
  })
  expect(JSON.stringify(await client.about())).not.toContain(io.home)
})

test('WB44 a login to an MCP server is begun over HTTP, ended in a browser, and deleted; only its caller has the address', async () => {
  const issuer = await startOAuthAuthorizationServer({})
  const server = await startProtectedMcpServer(() => issuer, {})
  onTestFinished(async () => void (await Promise.all([issuer.close(), server.close()])))
  const { client, io, said } = await serving({ mcpServers: { tracker: { url: server.url, auth: 'oauth' } } })
  const tracker = async () => (await client.mcp()).find(({ name }) => name === 'tracker')
  expect(await tracker()).toMatchObject({ isLoggedIn: false })
  const [one, two] = await Promise.all([client.mcpLogin('tracker'), client.mcpLogin('tracker')])
  expect(one).toEqual(two)
  expect((await tracker())?.loginState).toEqual({ state: 'open' })
  const told = said.length
  const state = new URL(one!.url).searchParams.get('state')!
  expect((await browse(one!.url)).status).toBe(200)
  await until(async () => (await tracker())?.isLoggedIn === true)
  expect(await tracker()).not.toHaveProperty('loginState')
  expect(await client.mcpTest('tracker')).toMatchObject({ isOk: true })
  expect(said.slice(told).join()).not.toContain(state)
  const stored = readFileSync(join(io.home, 'mcp', 'credentials.json'), 'utf8')
  const tokens = [...stored.matchAll(/"(?:access|refresh)\w*": *"([^"]+)"/g)].map(([, value]) => value!)
  expect(tokens.length).toBeGreaterThan(0)
  for (const value of tokens) expect(said.join()).not.toContain(value)
  expect(await client.mcpLogout('tracker')).toMatchObject({ removed: 1 })
  expect(await tracker()).toMatchObject({ isLoggedIn: false })
})

test('WB44 a login that a person refuses is told as failed, and another can be begun', async () => {
  const issuer = await startOAuthAuthorizationServer({})
  const server = await startProtectedMcpServer(() => issuer, {})
  onTestFinished(async () => void (await Promise.all([issuer.close(), server.close()])))
  const { client } = await serving({ mcpServers: { tracker: { url: server.url, auth: 'oauth' } } })
  const stateOf = async () => (await client.mcp()).find(({ name }) => name === 'tracker')?.loginState
  const { url } = await client.mcpLogin('tracker')
  const { searchParams } = new URL(url)
  const back = new URL(searchParams.get('redirect_uri')!)
  back.search = String(
    new URLSearchParams({ error: 'access_denied', state: searchParams.get('state')!, iss: issuer.url }),
  )
  await loopbackFetch(back.href)
  await until(async () => (await stateOf())?.state === 'failed')
  expect(await stateOf()).toMatchObject({ state: 'failed', problem: expect.stringContaining('tracker') })
  expect((await client.mcpLogin('tracker')).url).not.toBe(url)
})

test('WB44 a server that only a flag names can be logged out of', async () => {
  const flag = JSON.stringify({ name: 'flagged', url: 'http://127.0.0.1:9/', auth: 'oauth' })
  const { client } = await serving({}, () => {}, { mcp: [flag] })
  expect((await client.mcp()).map(({ name }) => name)).toContain('flagged')
  expect(await client.mcpLogout('flagged')).toMatchObject({ removed: 0 })
  expect(await refusal(client.mcpLogout('unknown'))).toMatch(/^422 /)
})

test('WB39 a credentials file that cannot be used is told when a key is deleted', async () => {
  const { client, io } = await serving()
  writeFileSync(join(io.home, 'credentials.json'), '[]', { mode: 0o600 })
  expect(await refusal(client.deleteKey('groq'))).toMatch(/^422 .*correct it/)
})

test('WB132 a server beside a chat that could not be opened is closed', async () => {
  const io = fakeIo()
  write(io.home, 'config.json', JSON.stringify({ provider: 'offline', sandbox: 'off' }))
  let server: LiberoServer | undefined
  const opening = serveBeside(
    (opened) => {
      server = opened
      throw new Error('no page')
    },
    { values: () => ({}), io, cwd: io.cwd, notify() {} },
  )
  await expect(opening).rejects.toThrow('no page')
  const headers = { authorization: `Bearer ${token}` }
  expect((await server!.fetch(new Request('http://127.0.0.1/v1/sessions', { headers }))).status).toBe(503)
})

test('WB39 settings with the mask of a secret are refused whole, and the secret stays', async () => {
  const system = 'The key is sk-ant-api03-abcdefghijklmnopqrstuvwxyz'
  const { client, io } = await serving({ system })
  const { settings } = (await client.settings()) as { settings: { system: { value: string } } }
  const shown = settings.system.value
  expect(shown).toContain('[REDACTED:')
  expect(await refusal(client.changeSettings({ maxTurns: 7, system: shown }))).toMatch(/^422 .* of system is the mask/)
  expect(await refusal(client.changeSettings({ deny: ['shell:curl [REDACTED:2]'] }))).toMatch(/^422 .* of deny is/)
  expect(JSON.parse(readFileSync(join(io.home, 'config.json'), 'utf8'))).not.toHaveProperty('maxTurns')
  expect(readFileSync(join(io.home, 'config.json'), 'utf8')).toContain(system)
})

test('WB17 the folder of a new session must be there; ~ is the home of the user', async () => {
  const { client, io } = await serving()
  expect(await client.sessions.make({ id: 'home', folder: '~/project' })).toMatchObject({ folder: io.cwd })
  for (const folder of ['project', './project', '~/none', join(io.home, 'config.json'), '~other/project'])
    expect(await refusal(client.sessions.make({ id: 'wrong', folder })), folder).toMatch(
      /^422 The folder of this session/,
    )
  expect(await refusal(client.sessions.get('wrong'))).toMatch(/^404/)
})

test('WB17 a model or profile that is not there is refused before it is stored, and one that is gone is told', async () => {
  const { client, io } = await serving({ providers: { box: { baseURL: 'http://127.0.0.1:1/v1', model: 'm' } } })
  await client.sessions.make({ id: 'a' })
  const choose = (change: object) => refusal(client.sessions.changeSettings('a', change))
  expect(await choose({ model: { provider: 'no-such-provider', model: 'x' } })).toMatch(/^422 .*no-such-provider/)
  expect(await choose({ profile: 'nope' })).toMatch(/^422 There is no profile "nope" here; choose one of build, plan/)
  expect(await client.sessions.settings('a')).toMatchObject({ chosen: {}, now: { model: { provider: 'offline' } } })
  expect(await choose({ model: { provider: 'offline', model: 'offline' }, profile: 'plan' })).toBeUndefined()
  expect(await choose({ model: { provider: 'box', model: 'm' } })).toBeUndefined()
  expect((await client.sessions.settings('a')).now).toMatchObject({ profile: 'plan', model: { provider: 'box' } })
  write(io.home, 'config.json', JSON.stringify({ provider: 'offline', sandbox: 'off' }))
  expect(await choose({ thinking: 'low' })).toMatch(/^422 .*box/)
  expect(await choose({ model: null })).toBeUndefined()
})

test('WB32 what is set for all agents is kept in the settings, and counts for the next server', async () => {
  const { client, io } = await serving()
  await client.agents.changeDefaults({ approval: { 'web-fetch': { mode: 'confirm' } }, retry: { maxAttempts: 2 } })
  expect(JSON.parse(readFileSync(join(io.home, 'config.json'), 'utf8')).agents).toEqual(await client.agents.defaults())
  const config = JSON.parse(readFileSync(join(io.home, 'config.json'), 'utf8')) as Config
  const next = await serving(config)
  expect(await next.client.agents.defaults()).toEqual(await client.agents.defaults())
})

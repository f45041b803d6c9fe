import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, vi } from 'vitest'
import { libero } from '../../src/cli/libero.ts'
import { gate, type MockService, startMockService } from '../rpc/mock-service.ts'
import { testInTurns } from '../soak.ts'
import { openDesk } from './cli-kit.ts'
import { fakeIo } from './fake-io.ts'
import { startServing } from './serve-kit.ts'

const test = testInTurns(3)

let service: MockService
beforeAll(async () => {
  service = await startMockService()
})
afterAll(() => service.close())

const tokenIn = (home: string): string => readFileSync(join(home, 'server-token'), 'utf8').trim()

test('SV30 libero serve prints its address when it answers, and keeps a token that only the user can read', async () => {
  const desk = openDesk(service.url)
  const first = await startServing(desk)
  expect(first.said.out).toMatch(/^listening on http:\/\/127\.0\.0\.1:\d+\n$/)
  const path = join(desk.home, 'server-token')
  const token = tokenIn(desk.home)
  expect([statSync(path).mode & 0o777, token.length]).toEqual([0o600, 43])
  expect(first.said.err).toContain(`clients need the token in ${path}\n`)
  expect(first.said.err).not.toContain(token)
  expect((await first.send('/v1/sessions')).status).toBe(200)
  first.child.kill('SIGINT')
  expect(await first.ended).toMatchObject({ code: 0, err: expect.stringContaining('stopping') })
  const second = await startServing(desk)
  expect(tokenIn(desk.home)).toBe(token)
  second.child.kill('SIGTERM')
  expect((await second.ended).code).toBe(143)
})

test('WB132 WB135 libero web listens on its last port again, and on another one if that is taken', async () => {
  const desk = openDesk(service.url)
  const start = async (flags = ['--no-open'], env = {}) => {
    const running = desk.start(['web', ...flags], { env })
    await running.until(/^open http:\S+\n/)
    return { ...running, port: /:(\d+)\//.exec(running.said.out)![1] }
  }
  const first = await start()
  const beside = await start()
  expect(beside.port).not.toBe(first.port)
  for (const { child, ended } of [first, beside]) {
    child.kill('SIGINT')
    await ended
  }
  // The program that opens the browser gets a code that logs in once, and not the token.
  const opened = join(desk.home, 'opened')
  mkdirSync(join(desk.home, 'bin'))
  const opener = `#!/bin/sh\nprintf %s "$1" > ${opened}.part && mv ${opened}.part ${opened}\n`
  for (const name of ['xdg-open', 'open']) writeFileSync(join(desk.home, 'bin', name), opener, { mode: 0o755 })
  const again = await start([], { PATH: `${join(desk.home, 'bin')}:${process.env.PATH}` })
  expect(again.port).toBe(beside.port)
  if (process.platform === 'linux') {
    const link = await vi.waitFor(() => readFileSync(opened, 'utf8'), { timeout: 10_000 })
    const [, url, code] = /^(\S+)#token=(\S+)$/.exec(link)!
    expect(code).not.toBe(tokenIn(desk.home))
    const login = {
      method: 'POST',
      headers: { authorization: `Bearer ${code}`, 'content-type': 'application/json', 'x-libero': '1' },
    }
    expect((await fetch(`${url}v1/login`, login)).headers.get('set-cookie')).toContain('HttpOnly')
    expect((await fetch(`${url}v1/login`, login)).status).toBe(401)
  }
  again.child.kill('SIGINT')
  await again.ended
})

test('SV30 the token of the environment is used, never shown, and not given to commands', async () => {
  const desk = openDesk(service.url)
  const token = 'a-secret-of-the-environment-0123456789'
  service.play([{ call: 'shell', args: { command: 'env | grep LIBERO_SERVER; echo looked' } }])
  const serving = desk.start(['serve', '--port=0', '--yolo'], { env: { LIBERO_SERVER_TOKEN: token } })
  await serving.until(/^listening on \S+\n/)
  const [, url] = /on (\S+)/.exec(serving.said.out)!
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const body = JSON.stringify({ id: 'one' })
  await fetch(`${url}/v1/sessions`, { method: 'POST', headers, body })
  const message = { method: 'POST', headers: { ...headers, prefer: 'wait=20' }, body: '{"content":"look"}' }
  expect(await (await fetch(`${url}/v1/sessions/one/messages`, message)).json()).toMatchObject({ run: { text: 'ok' } })
  const [, withResult] = service.requests.slice(-2)
  expect(JSON.stringify(withResult.messages)).toContain('looked')
  expect(JSON.stringify(withResult.messages)).not.toContain(token)
  expect(serving.said.out + serving.said.err).not.toContain(token)
  const short = await desk.libero(['serve'], { env: { LIBERO_SERVER_TOKEN: 'short' } })
  expect([short.code, short.err]).toEqual([1, expect.stringContaining('LIBERO_SERVER_TOKEN is too short')])
})

test('SV30 without its packages libero serve says how to install them', async () => {
  const desk = openDesk(service.url)
  const hooks = `import { registerHooks } from 'node:module'
    const missing = (name) => Object.assign(new Error('Cannot find package ' + name), { code: 'ERR_MODULE_NOT_FOUND' })
    registerHooks({ resolve: (name, context, next) => { if (/hono/.test(name)) throw missing(name); return next(name, context) } })`
  desk.write('without-hono.mjs', hooks)
  const env = { NODE_OPTIONS: `--import ${join(desk.cwd, 'without-hono.mjs')}` }
  const { code, out, err } = await desk.process(['serve'], { env })
  expect([code, out, err]).toEqual([1, '', expect.stringContaining('npm install hono @hono/node-server')])
})

test.each([
  [['--host', '0.0.0.0'], 'name the allowed host names with --allowed-host'],
  [['--allowed-host', '*.example.com'], 'without wildcards'],
  [['--allowed-origin', '*'], 'must be an origin'],
  [['--allowed-origin', 'https://a.example/page'], 'without a path'],
  [['--port', '70000'], 'a port from 0 to 65535'],
  [['--yolo', '--mode', 'ask'], 'do not go together'],
  [['--sandbox', 'off', '--context', 'docker'], 'do not go together'],
  [['--max-cost', 'much'], 'an amount in dollars'],
  [['--skill', 'none-such'], 'none-such'],
])('SV30 libero serve %j is refused before it listens', async (flags, says) => {
  const { code, out, err } = await openDesk(service.url).libero(['serve', ...flags])
  expect([code, out, err]).toEqual([2, '', expect.stringContaining(says)])
})

test('SV31 a message is answered by the model, and strangers are not: another host, another site, no token', async () => {
  const desk = openDesk(service.url)
  const { url, send } = await startServing(desk, ['--allowed-host', 'box.test', '--allowed-origin', 'https://app.test'])
  service.play([{ say: 'Noon.' }])
  await send('/v1/sessions', { id: 'clock' })
  const answered = await send(
    '/v1/sessions/clock/messages',
    { content: 'What time is it?' },
    { headers: { prefer: 'wait=20', 'idempotency-key': 'k1' } },
  )
  expect(answered).toMatchObject({
    status: 200,
    body: { clientKey: 'k1', run: { status: 'completed', text: 'Noon.' } },
  })
  expect(service.requests.at(-1).model).toBe('mock-1')
  const authorization = `Bearer ${tokenIn(desk.home)}`
  const askWith = (headers: Record<string, string>): Promise<number | undefined> =>
    new Promise((resolve, reject) => {
      request(`${url}/v1/sessions`, { headers }, ({ statusCode }) => resolve(statusCode))
        .on('error', reject)
        .end()
    })
  expect(await askWith({ authorization, host: 'evil.test' })).toBe(403)
  expect(await askWith({ authorization, host: 'box.test' })).toBe(200)
  expect(await askWith({ authorization, origin: 'https://evil.test' })).toBe(403)
  expect(await askWith({ authorization, origin: 'https://app.test' })).toBe(200)
  expect(await askWith({})).toBe(401)
  expect(await askWith({ authorization: 'Bearer wrong' })).toBe(401)
})

test('SV32 a call that needs an approval, a question and a plan wait, and go on with their answers', async () => {
  const desk = openDesk(service.url)
  const { send, untilOver, entries } = await startServing(desk)
  service.play(
    [{ call: 'write_file', args: { path: 'made', content: 'x' } }],
    [{ call: 'ask_user', args: { question: 'Which colour?' } }],
    [{ call: 'present_plan', args: { plan: 'Paint it.' } }],
    [{ say: 'Painted.' }],
  )
  await send('/v1/sessions', { id: 'paint', message: 'Paint the wall' })
  expect(await untilOver('paint')).toMatchObject({ status: 'waiting', pending: [{ name: 'write_file' }] })
  const [write] = (await send('/v1/pending')).body.pending
  expect(write).toMatchObject({ session: 'paint', isQuestion: false })
  const answer = (callId: string, body: object) => send(`/v1/sessions/paint/answers/${callId}`, body)
  expect((await answer(write.callId, { decision: 'allow', digest: write.digest })).status).toBe(202)
  await expect.poll(async () => (await send('/v1/pending')).body.pending[0]?.name, long).toBe('ask_user')
  const [question] = (await send('/v1/pending')).body.pending
  expect([question.isQuestion, question.input.question]).toEqual([true, 'Which colour?'])
  expect((await answer(question.callId, { content: 'Green' })).status).toBe(202)
  await expect.poll(async () => (await send('/v1/pending')).body.pending[0]?.name, long).toBe('present_plan')
  const [plan] = (await send('/v1/pending')).body.pending
  expect((await answer(plan.callId, { content: 'Go ahead' })).status).toBe(202)
  await expect.poll(async () => (await send('/v1/sessions/paint')).body.status, long).toBe('idle')
  expect(readFileSync(join(desk.cwd, 'made'), 'utf8')).toBe('x')
  expect(JSON.stringify(service.requests.at(-1).messages)).toMatch(
    /The user answered: Green.*The user answered: Go ahead/,
  )
  expect((await entries('paint')).find(({ type }) => type === 'approval_answered')).toMatchObject({ by: 'user' })
  const again = await answer(write.callId, { decision: 'deny' })
  expect([404, 409]).toContain(again.status)
})

/** A run that has written a line, and is streaming its answer. */
async function atWork(flags: readonly string[] = ['--yolo']) {
  const desk = openDesk(service.url)
  const serving = await startServing(desk, flags)
  const streaming = gate()
  service.play(
    [{ call: 'shell', args: { command: 'echo line >> made' } }],
    [{ say: 'half of the ans' }, { hang: streaming }],
    [{ say: 'The whole answer.' }],
  )
  const from = service.requests.length
  await serving.send('/v1/sessions', { id: 'task', message: 'Write a line' }, { headers: { 'idempotency-key': 'k1' } })
  await streaming.reached
  const isComplete = async ({ untilOver, entries }: Pick<typeof serving, 'untilOver' | 'entries'>): Promise<void> => {
    expect(await untilOver('task')).toMatchObject({ status: 'idle', calls: 1 })
    expect(readFileSync(join(desk.cwd, 'made'), 'utf8')).toBe('line\n')
    expect(service.requests.slice(from)).toHaveLength(3)
    const turns = (await entries('task')).filter(({ type }) => type === 'turn').map(({ turn }) => turn)
    expect(turns.map(({ role }) => role)).toEqual(['user', 'assistant', 'assistant'])
    expect(turns[2].content).toEqual([{ type: 'text', text: 'The whole answer.' }])
  }
  return { desk, serving, isComplete }
}

test('SV33 a server that is killed in the middle of a run goes on with it at the next start, and doubles nothing', async () => {
  const { desk, serving, isComplete } = await atWork()
  serving.child.kill('SIGKILL')
  await serving.ended
  const next = await startServing(desk, ['--yolo'])
  await isComplete(next)
  // The client repeats the request whose answer it may not have got.
  const repeated = await next.send(
    '/v1/sessions/task/messages',
    { content: 'Write a line' },
    { headers: { 'idempotency-key': 'k1', prefer: 'wait=20' } },
  )
  expect(repeated).toMatchObject({ status: 200, body: { run: { text: 'The whole answer.' } } })
  await isComplete(next)
})

test('SV34 SIGTERM leaves a run, which the next start continues; streams end', async () => {
  const { desk, serving, isComplete } = await atWork()
  const authorization = `Bearer ${tokenIn(desk.home)}`
  const stream = await fetch(`${serving.url}/v1/sessions/task/events`, { headers: { authorization } })
  serving.child.kill('SIGTERM')
  expect((await serving.ended).code).toBe(143)
  expect(await stream.text().catch(() => 'cut off')).toBeTruthy()
  await isComplete(await startServing(desk, ['--yolo']))
})

test('SV34 a second Ctrl-C ends the server at once', async () => {
  const { home, cwd } = openDesk(service.url)
  const io = fakeIo({ home, cwd, env: { PATH: process.env.PATH } })
  const serving = libero(['serve'], io)
  await expect.poll(() => io.said.out, long).toContain('listening on')
  io.signal('SIGINT')
  expect(io.quits).toEqual([])
  io.signal('SIGINT')
  expect(io.quits).toEqual([130])
  expect(await serving).toBe(0) // the process of this test was not ended
})

test('SV35 a session that libero run began is continued over HTTP in its folder, and the other way round', async () => {
  const desk = openDesk(service.url)
  expect(await desk.libero(['run', 'remember 42'])).toMatchObject({ code: 0 })
  mkdirSync(join(desk.home, '../elsewhere'))
  const { send, untilOver } = await startServing(desk, ['--cwd', join(desk.home, '../elsewhere'), '--yolo'])
  const [{ id, folder }] = (await send('/v1/sessions')).body.sessions
  expect(folder).toBe(desk.cwd)
  service.play([{ call: 'write_file', args: { path: 'number', content: '42' } }], [{ say: 'It was 42.' }])
  const answered = await send(`/v1/sessions/${id}/messages`, { content: 'Which?' }, { headers: { prefer: 'wait=20' } })
  expect(answered.body.run.text).toBe('It was 42.')
  expect(readFileSync(join(desk.cwd, 'number'), 'utf8')).toBe('42')
  await untilOver(id)
  expect(await desk.libero(['run', '--resume', id, 'and now?'])).toMatchObject({ code: 0 })
  const said = JSON.stringify(service.requests.at(-1).messages)
  expect(said).toMatch(/remember 42.*Which\?.*It was 42.*and now\?/)
})

test('SV35 a session whose folder is gone fails with a sentence that clients see, and goes on when it is back', async () => {
  const desk = openDesk(service.url)
  const folder = join(desk.home, '../gone')
  mkdirSync(folder)
  const { send, untilOver, entries } = await startServing(desk)
  await send('/v1/sessions', { id: 'there', folder })
  rmSync(folder, { recursive: true })
  const failed = await send('/v1/sessions/there/messages', { content: 'hello' }, { headers: { prefer: 'wait=60' } })
  expect(failed.body.run).toMatchObject({ status: 'error', error: expect.stringContaining('is gone') })
  expect(await untilOver('there')).toMatchObject({ status: 'failed' })
  expect((await entries('there')).at(-1)).toMatchObject({
    type: 'run_ended',
    error: { message: expect.stringContaining('is gone or may not be entered; make it again') },
  })
  mkdirSync(folder)
  await send('/v1/sessions/there/messages', { content: 'hello again' })
  await expect.poll(async () => (await send('/v1/sessions/there')).body.status, long).toBe('idle')
  expect(JSON.stringify(service.requests.at(-1).messages)).toMatch(/hello.*hello again/)
})

test('SV36 a message over HTTP reaches the terminal that runs the session, whose deltas are followed over HTTP', async () => {
  const desk = openDesk(service.url)
  const { url, send } = await startServing(desk)
  const streaming = gate()
  service.play([{ say: 'first half, ' }, { hang: streaming }, { say: 'second half' }], [{ say: 'You are welcome.' }])
  const terminal = desk.start(['run', 'go'])
  terminal.child.stdin.end()
  await streaming.reached
  const [{ id, status }] = (await send('/v1/sessions')).body.sessions
  expect(status).toBe('working')
  const headers = { authorization: `Bearer ${tokenIn(desk.home)}` }
  const stop = new AbortController()
  const events = await fetch(`${url}/v1/sessions/${id}/events`, { headers, signal: stop.signal })
  let read = ''
  const reading = (async () => {
    for await (const chunk of events.body!.pipeThrough(new TextDecoderStream())) read += chunk
  })().catch(() => {})
  await expect.poll(() => read, long).toContain('first half')
  expect((await send(`/v1/sessions/${id}/messages`, { content: 'thank you' })).status).toBe(202)
  await expect.poll(() => read, long).toContain('"type":"input"') // the terminal has it
  streaming.open()
  expect((await terminal.ended).code).toBe(0)
  await expect.poll(() => read, long).toContain('You are welcome.')
  const log = (await send(`/v1/sessions/${id}/entries`)).body.entries
  const processes = log.filter(({ type }: { type: string }) => type === 'run_started')
  expect(new Set(processes.map(({ processId }: { processId: string }) => processId)).size).toBe(1)
  stop.abort()
  await reading
})

test('SV37 models, tools, servers, skills, rules, the audit and settings are told, and no secret is in any of them', async () => {
  const desk = openDesk(service.url)
  const secrets = ['hunter2hunter2', 'sk-ant-api03-abcdefghijklmnopqrstuvwxyz', 'xoxb-1234567890-abcdef', 'pass-in-url']
  const config = JSON.parse(readFileSync(join(desk.home, 'config.json'), 'utf8'))
  config.mcpServers = {
    notes: {
      command: 'no-such-server',
      args: ['--token', secrets[0], `--key=${secrets[1]}`],
      env: { API_KEY: secrets[0] },
    },
    web: { url: `https://user:${secrets[3]}@mcp.test/?key=${secrets[1]}`, headers: { authorization: secrets[2] } },
  }
  config.system = `The key is ${secrets[1]}`
  writeFileSync(join(desk.home, 'config.json'), JSON.stringify(config))
  writeFileSync(join(desk.home, 'credentials.json'), JSON.stringify({ openai: { type: 'key', key: secrets[0] } }))
  const { send } = await startServing(desk, ['--deny', 'shell:git push'])
  const told = new Map<string, unknown>()
  for (const name of ['models', 'tools', 'mcp', 'skills', 'settings', 'audit', 'usage', 'definitions', 'agents']) {
    const { status, body } = await send(`/v1/${name}`)
    expect(status, name).toBe(200)
    told.set(name, body)
    for (const secret of secrets) expect(JSON.stringify(body), name).not.toContain(secret)
  }
  expect(told.get('tools')).toMatchObject({
    tools: expect.arrayContaining([expect.objectContaining({ name: 'shell' })]),
  })
  expect(told.get('settings')).toMatchObject({
    settings: {
      provider: { value: 'mock', from: join(desk.home, 'config.json') },
      mcpServers: { value: { notes: { command: 'no-such-server', args: ['--token', '…', '…'] } } },
    },
  })
  const patch = (body: object) => send('/v1/settings', body, { method: 'PATCH' })
  expect(await patch({ maxTurns: 7, system: null })).toMatchObject({
    status: 200,
    body: { settings: { maxTurns: { value: 7 }, system: { value: null } } },
  })
  for (const wrong of [
    { maxTurns: -1 },
    { nothing: 1 },
    { maxTurns: 9, provider: 'no-such-provider' },
    { apiKey: 'x' },
  ])
    expect((await patch(wrong)).body, JSON.stringify(wrong)).toMatchObject({ status: 422, code: 'refused' })
  const { body } = await send('/v1/settings')
  expect((await patch({ mcpServers: body.settings.mcpServers.value })).body.code).toBe('masked')
  const kept = JSON.parse(readFileSync(join(desk.home, 'config.json'), 'utf8'))
  expect([kept.maxTurns, kept.system, kept.mcpServers.notes.env]).toEqual([7, undefined, { API_KEY: secrets[0] }])
  const explain = async (command: string) =>
    (await send('/v1/policy/explain', { tool: 'shell', input: { command } })).body
  expect(await explain('rm -rf x')).toMatchObject({ verdict: 'ask', effects: expect.arrayContaining(['fs.write']) })
  expect(await explain('git push')).toMatchObject({ verdict: 'deny', rule: 'shell:git push' })
})

test('SV37 the audit tells the calls of a session, newest first; drafts outlive the server', async () => {
  const desk = openDesk(service.url)
  const first = await startServing(desk, ['--yolo'])
  service.play([{ call: 'write_file', args: { path: 'a', content: 'x' } }])
  await first.send('/v1/sessions', { id: 'audited', message: 'go' })
  await first.untilOver('audited')
  const { records } = (await first.send('/v1/audit?session=audited&limit=2')).body
  expect(records).toMatchObject([
    { event: 'ToolInvocationSucceeded', tool: 'write_file', command: 'serve' },
    { sessionId: 'audited' },
  ])
  await first.send('/v1/sessions/audited/draft', { text: 'And then' }, { method: 'PUT' })
  first.child.kill('SIGTERM')
  await first.ended
  const next = await startServing(desk)
  expect((await next.send('/v1/sessions/audited/draft')).body).toMatchObject({ text: 'And then' })
  await next.send('/v1/sessions/audited', undefined, { method: 'DELETE' })
  await next.send('/v1/sessions', { id: 'audited' })
  expect((await next.send('/v1/sessions/audited/draft')).body).toMatchObject({ text: '' })
})

test('SV38 agents of the command line work over HTTP, and what they wait for is answered as for any session', async () => {
  const desk = openDesk(service.url)
  mkdirSync(join(desk.home, 'agents'))
  const plugins = [{ id: 'clock', toolId: 'alarm-clock' }]
  const approval = { 'alarm-clock': { mode: 'confirm' } }
  writeFileSync(join(desk.home, 'agents/tester.json'), JSON.stringify({ id: 'tester', config: { plugins }, approval }))
  const { send } = await startServing(desk)
  service.play([{ call: 'alarm-clock', args: { wakeAtISO: '2999-01-01T00:00:00Z' } }])
  const made = await send('/v1/agents', { definition: 'tester', message: 'Wake up later' })
  const { id } = made.body
  expect([made.status, id]).toEqual([201, expect.stringMatching(/^agent-/)])
  await expect.poll(async () => (await send('/v1/pending')).body.pending[0]?.session, long).toBe(id)
  const [waiting] = (await send('/v1/pending')).body.pending
  const answer = { decision: 'allow', digest: waiting.digest }
  expect((await send(`/v1/sessions/${id}/answers/${waiting.callId}`, answer)).status).toBe(202)
  await expect.poll(async () => (await send('/v1/schedules')).body.schedules.length, long).toBe(1)
  await expect.poll(async () => (await send(`/v1/agents/${id}`)).body.status.state, long).toBe('completed')
  expect((await desk.libero(['agents', 'list'])).out).toContain(id)
})

test('SV39 interrupted runs of other programs are left alone, and a running libero schedules run keeps the schedules', async () => {
  const desk = openDesk(service.url)
  const streaming = gate()
  service.play([{ say: 'half' }, { hang: streaming }])
  const terminal = desk.start(['run', 'mine'])
  terminal.child.stdin.end()
  await streaming.reached
  terminal.child.kill('SIGKILL')
  await terminal.ended
  const scheduler = desk.start(['schedules', 'run'])
  scheduler.child.stdin.end()
  await scheduler.until('Waking agents')
  const from = service.requests.length
  const { send, untilOver, said } = await startServing(desk)
  const interrupted = async () => (await send('/v1/sessions?attention=true')).body.sessions
  await expect
    .poll(async () => (await interrupted()).map(({ status }: { status: string }) => status), long)
    .toEqual(['interrupted'])
  await expect.poll(() => said.err, long).toContain('another program wakes agents')
  expect(service.requests.length).toBe(from)
  // A client may continue it all the same.
  const [{ id }] = await interrupted()
  expect((await send(`/v1/sessions/${id}/continue`, {})).status).toBe(202)
  await untilOver(id)
  expect(service.requests.length).toBe(from + 1)
  scheduler.child.kill('SIGINT')
  expect((await scheduler.ended).code).toBe(0)
})

const long = { timeout: 20_000, interval: 20 }

import { spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import { openDesk } from '../cli/cli-kit.ts'
import { compileCache } from '../compile-cache.ts'
import { isAlive, isRunning, ownSeconds } from '../processes.ts'
import { liberoArgs } from '../rpc/rpc-kit.ts'
import { sampleOf, testInTurns } from '../soak.ts'
import { temporary } from '../temporary.ts'
import { connectHttp, connectStdio, eras, textsOf, until } from './serve-kit.ts'

// Each of them starts processes.
const test = testInTurns(3)

const child = ['--conditions=libero-source', fileURLToPath(new URL('serve-child.ts', import.meta.url))]
const env = { PATH: process.env.PATH ?? '', NODE_NO_WARNINGS: '1', ...compileCache }

describe.for(sampleOf(eras, 1))('libero mcp-serve over stdio, era %s', (era) => {
  it('offers its tools and itself, and ends with its client', async () => {
    const desk = openDesk()
    desk.write('note.txt', 'forty-two\n')
    const command = { args: [...liberoArgs, 'mcp-serve', '--provider', 'offline'], env: desk.env, cwd: desk.cwd }
    const asked: string[] = []
    const answers = (message: string) => {
      asked.push(message)
      return { action: 'accept' as const, content: { answer: 'once' } }
    }
    const { client, pid } = await connectStdio(command, { era, answers })
    const names = (await client.listTools()).tools.map(({ name }) => name)
    expect(names).toEqual(expect.arrayContaining(['run_agent', 'read_file', 'shell', 'edit']))
    const read = await client.callTool({ name: 'read_file', arguments: { path: 'note.txt' } })
    expect(textsOf(read).join()).toContain('forty-two')
    await client.callTool({ name: 'write_file', arguments: { path: 'made.txt', content: 'made' } })
    expect(readFileSync(join(desk.cwd, 'made.txt'), 'utf8')).toBe('made')
    expect(asked.join()).toContain('Allow write_file?')
    const run = await client.callTool({ name: 'run_agent', arguments: { prompt: 'list the files here' } })
    expect([run.isError, textsOf(run).join()]).toEqual([undefined, expect.stringContaining('note.txt')])
    await client.close()
    await until(() => !isAlive(pid))
  })
})

test('libero mcp-serve approves nothing by itself', async () => {
  const desk = openDesk()
  const command = { args: [...liberoArgs, 'mcp-serve', '--provider', 'offline'], env: desk.env, cwd: desk.cwd }
  const { client } = await connectStdio(command, { era: 'legacy' })
  const written = await client.callTool({ name: 'write_file', arguments: { path: 'made.txt', content: 'made' } })
  expect([written.isError, existsSync(join(desk.cwd, 'made.txt'))]).toEqual([true, false])
  expect(textsOf(written).join()).toContain('needs a permission')
})

test('libero mcp-serve offers what its flags say, and follows their rules', async () => {
  const desk = openDesk()
  const flags = ['--provider', 'offline', '--tools-only', '--allow', 'write_file', '--deny', 'shell']
  const command = { args: [...liberoArgs, 'mcp-serve', ...flags], env: desk.env, cwd: desk.cwd }
  const { client } = await connectStdio(command, { era: 'legacy' })
  expect((await client.listTools()).tools.map(({ name }) => name)).not.toContain('run_agent')
  const written = await client.callTool({ name: 'write_file', arguments: { path: 'made.txt', content: 'made' } })
  expect([written.isError, existsSync(join(desk.cwd, 'made.txt'))]).toEqual([undefined, true])
  const ran = await client.callTool({ name: 'shell', arguments: { command: 'ls' } })
  expect(ran.isError).toBe(true)
  const only = { ...command, args: [...liberoArgs, 'mcp-serve', '--provider', 'offline', '--agent-only'] }
  const other = await connectStdio(only, { era: 'legacy' })
  expect((await other.client.listTools()).tools.map(({ name }) => name)).toEqual(['run_agent'])
})

test('libero mcp-serve --http prints its address and token, and stops at a signal', async () => {
  const desk = openDesk()
  desk.write('note.txt', 'forty-two\n')
  const running = desk.start(['mcp-serve', '--provider', 'offline', '--http'])
  await running.until(/this token: \S+\n/)
  const url = new URL(/http:\/\/127\.0\.0\.1:\d+\/mcp/.exec(running.said.err)![0])
  const token = /this token: (\S+)/.exec(running.said.err)![1]!
  for (const era of eras) {
    const client = await connectHttp({ url, token }, { era })
    const read = await client.callTool({ name: 'read_file', arguments: { path: 'note.txt' } })
    expect(textsOf(read).join()).toContain('forty-two')
  }
  await expect(connectHttp({ url, token: 'x'.repeat(43) }, { era: 'legacy' })).rejects.toThrow()
  running.child.kill('SIGTERM')
  expect(await running.ended).toMatchObject({ code: 143, out: '' })
})

test.for([
  [['--tools-only', '--agent-only'], 'do not go together'],
  [['--http', 'abc'], 'takes a port'],
  [['--host', '0.0.0.0'], 'add --http'],
  [['--http', '--host', '0.0.0.0'], '--allowed-host'],
  [['--http', '--allowed-host', '*.example'], '--allowed-host must be a name'],
  [['--max-cost', 'x'], 'must be an amount in dollars'],
] as const)('SV-14 libero mcp-serve %j is refused', async ([args, says]) => {
  const { code, err } = await openDesk().libero(['mcp-serve', '--provider', 'offline', ...args])
  expect([code, err]).toEqual([2, expect.stringContaining(says)])
})

describe.for(sampleOf(eras, 1))('an own server over stdio, era %s', (era) => {
  test('asks the client’s user, and follows the answer', async () => {
    const cwd = await temporary('mcp-serve-')
    for (const [answer, outcome] of [
      ['once', 'did y'],
      ['no', 'denied by'],
    ] as const) {
      const answers = () => ({ action: 'accept' as const, content: { answer } })
      const { client } = await connectStdio({ args: child, env, cwd }, { era, answers })
      const done = await client.callTool({ name: 'danger', arguments: { what: 'y' } })
      expect(textsOf(done).join()).toContain(outcome)
    }
  })

  test('cancelling stops the tool, and the connection stays open', async () => {
    const { client, stderr } = await connectStdio({ args: child, env, cwd: await temporary('mcp-serve-') }, { era })
    const stopping = new AbortController()
    const waiting = client
      .callTool(
        { name: 'wait', arguments: {} },
        { signal: stopping.signal, onprogress: () => stopping.abort(new Error('enough')) },
      )
      .catch(() => 'cancelled')
    expect(await waiting).toBe('cancelled')
    await until(() => stderr().includes('the tool was stopped'))
    expect((await client.listTools()).tools).toHaveLength(3)
  })
})

test('a killed client leaves no process behind: its calls are aborted', async () => {
  const cwd = await temporary('mcp-serve-')
  // The client is a separate process, killed during a call.
  const script = `
    import { spawn } from 'node:child_process'
    const server = spawn(process.execPath, ${JSON.stringify(child)}, { stdio: ['pipe', 'pipe', 'inherit'] })
    const send = (message) => server.stdin.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n')
    const clientInfo = { name: 'raw', version: '1' }
    send({ id: 1, method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo } })
    send({ method: 'notifications/initialized' })
    send({ id: 2, method: 'tools/call', params: { name: 'wait', arguments: {}, _meta: { progressToken: 'p' } } })
    server.stdout.on('data', (data) => { if (String(data).includes('waiting')) console.log(server.pid) })
  `
  const client = spawn(process.execPath, ['--input-type=module', '-e', script], { cwd, env })
  onTestFinished(() => void client.kill('SIGKILL'))
  let [out, err] = ['', '']
  client.stdout.on('data', (data) => (out += String(data)))
  client.stderr.on('data', (data) => (err += String(data)))
  await until(() => /\d+\n/.test(out))
  const pid = Number(out)
  expect(isAlive(pid)).toBe(true)
  client.kill('SIGKILL')
  await until(() => !isAlive(pid))
  expect(err).toContain('the tool was stopped')
  expect(err).toContain('closed')
})

test('a command that runs when the client disconnects is ended', async () => {
  const desk = openDesk()
  const args = [...liberoArgs, 'mcp-serve', '--provider', 'offline', '--mode', 'yolo']
  const { client, pid } = await connectStdio({ args, env: desk.env, cwd: desk.cwd }, { era: 'legacy' })
  const sleep = `sleep ${ownSeconds()}`
  client.callTool({ name: 'shell', arguments: { command: `${sleep}; echo late` } }).catch(() => {})
  await until(() => isRunning(sleep))
  expect(isAlive(pid)).toBe(true)
  await client.close()
  await until(() => !isAlive(pid) && !isRunning(sleep))
})

test('whatever a client writes, stdout has only messages, and only the end of the input ends the server', async () => {
  const desk = openDesk()
  const running = desk.start(['mcp-serve', '--provider', 'offline'])
  const deep = `${'['.repeat(5000)}${']'.repeat(5000)}`
  for (const line of [
    'no json',
    '{}',
    '[]',
    '"text"',
    '\u2028',
    '{"jsonrpc":"2.0","id":{},"method":5}',
    deep,
    '{"__proto__":{"a":1}}',
  ])
    running.child.stdin.write(`${line}\n`)
  const hello = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'raw', version: '1' } }
  running.child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id: 7, method: 'initialize', params: hello })}\n`)
  await running.until('"serverInfo"')
  running.child.stdin.end()
  const { code, out, err } = await running.ended
  expect(code).toBe(0)
  expect(err).toBe('libero: a client sent something that is no JSON-RPC message; skipped\n')
  for (const line of out.trim().split('\n')) expect(JSON.parse(line)).toMatchObject({ jsonrpc: '2.0' })
})

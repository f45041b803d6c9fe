import { readFile, writeFile } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { JSONRPCMessage } from '@modelcontextprotocol/client'
import { describe, expect, onTestFinished, vi } from 'vitest'
import { testInTurns } from '../../../test/soak.ts'
import { temporary } from '../../../test/temporary.ts'
import { programPath } from '../../platform/program-path.ts'
import type { McpServerConfig } from '../config.ts'
import { createStdioTransport, type StdioTransport, type StdioTransportOptions } from './stdio-transport.ts'

const test = testInTurns(2)

const script = fileURLToPath(new URL('../../../test/mcp/fixtures/stdio-server.mjs', import.meta.url))

test('messages go both ways, and closing ends the process by itself', async () => {
  const { transport, ask, closed } = await open()
  expect(transport.pid).toBeGreaterThan(0)
  expect(await ask('echo', { text: 'ä\n€\u2028😀' })).toEqual({ text: 'ä\n€\u2028😀' })
  await transport.close()
  expect(transport.ending).toBe('it exited with code 0')
  expect(closed).toHaveBeenCalledTimes(1)
  expect(isThere(transport)).toBe(false)
  await transport.close()
  expect(closed).toHaveBeenCalledTimes(1)
  await expect(transport.send({ jsonrpc: '2.0', method: 'x' })).rejects.toThrow(
    'The MCP server "small" is not connected: it exited with code 0; connect to it again',
  )
  await expect(transport.start()).rejects.toThrow('make a new transport for each process')
})

test('a client of the official package connects in place: one process, in either mode', async () => {
  const { Client } = await import('@modelcontextprotocol/client')
  for (const mode of ['legacy', 'auto'] as const) {
    const starts = join(await temporary('mcp-'), 'starts')
    const transport = createStdioTransport(small({ env: { STARTS: starts } }))
    const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } })
    await client.connect(transport)
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['hello'])
    expect(await readFile(starts, 'utf8')).toBe(`${transport.pid}\n`)
    await client.close()
    expect(isThere(transport)).toBe(false)
  }
})

describe('FM-01 the end of a server is described:', () => {
  test.each([
    ['exit', { code: 3 }, 'it exited with code 3'],
    ['kill', {}, 'it was ended by SIGKILL'],
  ])('%s', async (method, params, ending) => {
    const { transport, closed } = await open()
    await transport.send({ jsonrpc: '2.0', method, params })
    await vi.waitFor(() => expect(closed).toHaveBeenCalledTimes(1), 10_000)
    expect(transport.ending).toBe(ending)
    await transport.close()
  })

  test('a server that closes its output', async () => {
    const { transport, closed } = await open({ command: 'sh', args: ['-c', 'exec >&-; sleep 1000'] })
    await vi.waitFor(() => expect(closed).toHaveBeenCalledTimes(1), 10_000)
    expect(transport.ending).toBe('it closed its output')
  })
})

test('the last messages of a server arrive before its end, also at a slow listener', async () => {
  const at = join(await temporary('mcp-'), 'last')
  await writeFile(at, tick.repeat(200))
  const { transport, heard, closed } = await open({ command: 'cat', args: [at] })
  slowDown(transport, 1)
  await vi.waitFor(() => expect(closed).toHaveBeenCalled(), 50_000)
  expect(heard.length).toBe(200)
})

test('FM-04 plain text between messages is skipped and counted', async () => {
  const { transport, ask, errors } = await open()
  await ask('write', { text: 'Listening!\n{"level":30}\n\n\r\n\ufeff\n' })
  expect(await ask('echo', { a: 1 })).toEqual({ a: 1 })
  expect(transport.skippedLines).toBe(2)
  expect(errors).toEqual(
    Array(2).fill(expect.stringMatching(/"small" wrote a line that was skipped: it is no JSON-RPC/)),
  )
})

test('FM-04 after 100 such lines the server is ended with a reason', async () => {
  const { transport, ask, closed } = await open()
  await ask('write', { text: 'text\n', times: 99 })
  expect(await ask('echo', {})).toEqual({})
  await transport.send({ jsonrpc: '2.0', method: 'write', params: { text: 'text\n', times: 50 } })
  await vi.waitFor(() => expect(closed).toHaveBeenCalled(), 10_000)
  expect(transport.ending).toBe('it wrote 100 lines that are no messages')
  expect(isThere(transport)).toBe(false)
})

test('FM-05 MC-01 an endless line is not buffered: the server is ended with a reason', async () => {
  const before = process.memoryUsage().rss
  const { transport, closed, errors } = await open({ command: 'sh', args: ['-c', 'tr "\\0" x < /dev/zero'] })
  await vi.waitFor(() => expect(closed).toHaveBeenCalled(), 15_000)
  expect(transport.ending).toBe('it sent a line longer than 16 MB')
  expect(errors).toContain('The MCP server "small" was ended: it sent a line longer than 16 MB')
  expect(isThere(transport)).toBe(false)
  expect(process.memoryUsage().rss - before).toBeLessThan(150_000_000)
})

test('FM-05 an incomplete last line is dropped', async () => {
  const { heard, closed, transport } = await open({
    command: 'printf',
    args: ['{"jsonrpc":"2.0","method":"a"}\n{"json'],
  })
  await vi.waitFor(() => expect(closed).toHaveBeenCalled(), 10_000)
  expect(heard).toEqual([{ jsonrpc: '2.0', method: 'a' }])
  expect(transport.skippedLines).toBe(0)
})

test('very many small messages do not block other work', async () => {
  const { transport, ask, heard } = await open()
  let turns = 0
  const ticking = setInterval(() => turns++, 1)
  onTestFinished(() => clearInterval(ticking))
  const seen: number[] = []
  slowDown(transport, 0.5, () => seen.push(turns))
  await ask('write', { text: tick.repeat(1000) })
  expect(heard.length).toBe(1001)
  expect((seen.at(-2) ?? 0) - (seen[0] ?? 0)).toBeGreaterThan(15)
})

test('FM-19 of 200 MB of stderr the end is kept, safe for a terminal, in constant memory', {
  timeout: 60_000,
}, async () => {
  const before = process.memoryUsage().rss
  const command = 'head -c 200000000 /dev/zero | tr "\\0" "\\33" >&2; printf "\\033[2Jthe end\\r\\n" >&2; exec cat'
  const { transport } = await open({ command: 'sh', args: ['-c', command] })
  await vi.waitFor(() => expect(transport.stderr).toMatch(/␛\[2Jthe end\r\n$/), { timeout: 50_000, interval: 300 })
  expect(transport.stderr).not.toContain('\x1b')
  expect(transport.stderr.length).toBeLessThanOrEqual(64 * 1024)
  // A busy machine collects garbage late.
  expect(process.memoryUsage().rss - before).toBeLessThan(160_000_000)
})

test('MC-19 a secret of its own that a server writes to stderr is not shown', async () => {
  const { transport, ask } = await open({ env: { MY_API_KEY: 'correct-horse-battery-7' } })
  await ask('complain', { text: 'cannot use correct-horse-battery-7 here\n' })
  await vi.waitFor(() => expect(transport.stderr).toMatch(/^cannot use \[REDACTED:1\] here/))
})

test('S14 a secret is not shown in part either, wherever the end of stderr begins', async () => {
  const own = 'correct-horse-battery-7'
  const shaped = `sk-ant-${'a1B2'.repeat(8)}`
  const limits = { stderrBytes: 50 }
  const { transport, ask } = await open({ env: { MY_API_KEY: own } }, { limits })
  await ask('complain', { text: `${'x'.repeat(100)} ${own} ${shaped} ` })
  for (let n = 0; n < 100; n++) {
    await ask('complain', { text: n % 2 ? '.' : '€' })
    const shown = transport.stderr
    expect(
      parts(own)
        .concat(parts(shaped))
        .filter((part) => shown.includes(part)),
    ).toEqual([])
  }
  await vi.waitFor(() => expect(transport.stderr).toMatch(/^[.€]{20,50}$/))
})

/** The pieces of six characters. */
const parts = (text: string): string[] => Array.from({ length: text.length - 5 }, (_, n) => text.slice(n, n + 6))

test('MC-12 a server gets a minimal environment and its own variables, and no key of ours', async () => {
  const canary = `sk-ant-${'aB3'.repeat(20)}`
  vi.stubEnv('ANTHROPIC_API_KEY', canary)
  vi.stubEnv('LC_MINE', canary)
  vi.stubEnv('NODE_OPTIONS_X', 'loader')
  onTestFinished(() => void vi.unstubAllEnvs())
  const { ask } = await open({ env: { MINE: 'yes' } })
  const env = (await ask('env', {})) as Record<string, string>
  const path = programPath(process.env.PATH ?? '', [process.cwd()]).join(delimiter)
  expect(env).toMatchObject({ MINE: 'yes', PATH: path })
  expect(JSON.stringify(env)).not.toMatch(/sk-ant-|loader|VITEST/)
})

test('MC-16 args arrive unchanged, without a shell', async () => {
  const args = ['-e', 'console.error(JSON.stringify(process.argv.slice(1)))', '--', '"; id #', '$(id)', 'a\nb', '*', '']
  const { transport, closed } = await open({ args })
  await vi.waitFor(() => expect(closed).toHaveBeenCalled(), 10_000)
  expect(JSON.parse(transport.stderr)).toEqual(args.slice(3))
})

test('output to a server that does not read is bounded, and closing does not hang', async () => {
  const { transport, closed } = await open(
    { args: [script, 'never-read'] },
    { limits: { unreadBytes: 4_000_000, ...quick } },
  )
  const text = 'x'.repeat(1_000_000)
  const message: JSONRPCMessage = { jsonrpc: '2.0', method: 'echo', params: { text } }
  const waiting = [1, 2, 3].map(() => transport.send(message).then(String, (error: Error) => error.message))
  await expect(transport.send(message)).rejects.toThrow(
    /"small" cannot be sent a message: it does not read what it is sent, and \d+ bytes are waiting; start it again/,
  )
  await expect(transport.send({ ...message, params: { text: text.repeat(17) } })).rejects.toThrow('at most 16777216')
  await transport.close()
  expect(closed).toHaveBeenCalledTimes(1)
  expect((await Promise.all(waiting)).at(-1)).toMatch(
    /it ended before it read this|it does not read what it is sent any more/,
  )
})

test('a server that closed its input causes an error and no crash', async () => {
  const { transport } = await open(
    { command: 'sh', args: ['-c', 'exec <&-; echo "no" >&2; sleep 1000'] },
    { limits: quick },
  )
  await vi.waitFor(() => expect(transport.stderr).toBe('no\n'), 10_000)
  await expect(transport.send({ jsonrpc: '2.0', method: 'x' })).rejects.toThrow(
    'it does not read what it is sent any more',
  )
})

describe('a server that cannot be started causes an error with a remedy:', () => {
  const wrong: Record<string, [config: Partial<McpServerConfig>, message: string]> = {
    'no such program': [
      { command: 'no-such-program' },
      'there is no program "no-such-program" on PATH; install it, or give its full path as command',
    ],
    'no such folder': [{ cwd: 'none' }, 'none does not exist; create it, or give another cwd'],
    'a folder that is a file': [{ cwd: 'text' }, 'text is not a folder; give another cwd'],
    'no right to run it': [{ command: './text' }, 'text is no program that may be run; make it executable (chmod +x)'],
    'an interpreter that is not there': [{ command: './lost' }, 'lost names a program in its first line (#!)'],
    'args too long': [{ args: ['x'.repeat(4_000_000)] }, 'its args and env are too long for this system'],
  }
  test.each(Object.entries(wrong))('%s', async (_, [config, message]) => {
    const cwd = await temporary('mcp-')
    await writeFile(join(cwd, 'text'), 'text')
    await writeFile(join(cwd, 'lost'), '#!/no/such/thing\n', { mode: 0o755 })
    const transport = createStdioTransport(small(config), { cwd })
    await expect(transport.start()).rejects.toThrow(`The MCP server "small" could not be started: `)
    const again = createStdioTransport(small(config), { cwd })
    await expect(again.start()).rejects.toThrow(message)
    await again.close()
    expect(again.pid).toBeUndefined()
  })
})

test('closing while it starts leaves nothing behind', async () => {
  const transport = createStdioTransport(small({ args: [script, 'ignore-close'] }), { limits: quick })
  const started = transport.start().catch((error: Error) => error.message)
  await transport.close()
  expect(await started).toContain('was closed before it had started')
  expect(transport.pid).toBeGreaterThan(0)
  expect(isThere(transport)).toBe(false)
})

const tick = `${JSON.stringify({ jsonrpc: '2.0', method: 'tick' })}\n`

/** Each message takes some time, as with a real listener. */
function slowDown(transport: StdioTransport, ms: number, also?: () => void): void {
  const listener = transport.onmessage
  transport.onmessage = (message) => {
    for (const until = performance.now() + ms; performance.now() < until; );
    listener?.(message)
    also?.()
  }
}

const quick = { inputGraceMs: 100, termGraceMs: 100 }

function small(config: Partial<McpServerConfig> = {}): McpServerConfig {
  return { name: 'small', transport: 'stdio', command: process.execPath, args: [script], ...config }
}

async function open(config: Partial<McpServerConfig> = {}, options?: StdioTransportOptions) {
  const transport = createStdioTransport(small(config), options)
  onTestFinished(() => transport.close())
  const [heard, errors]: [JSONRPCMessage[], string[]] = [[], []]
  const closed = vi.fn<() => void>()
  const waiting = new Map<unknown, (result: unknown) => void>()
  transport.onclose = closed
  transport.onerror = ({ message }) => errors.push(message)
  transport.onmessage = (message) => {
    heard.push(message)
    if ('result' in message) waiting.get(message.id)?.(message.result)
  }
  await transport.start()
  async function ask(method: string, params: Record<string, unknown>): Promise<unknown> {
    const id = waiting.size
    const { promise, resolve } = Promise.withResolvers<unknown>()
    waiting.set(id, resolve)
    await transport.send({ jsonrpc: '2.0', id, method, params })
    return promise
  }
  return { transport, heard, errors, closed, ask }
}

function isThere({ pid }: StdioTransport): boolean {
  try {
    return process.kill(pid ?? 0, 0)
  } catch {
    return false
  }
}

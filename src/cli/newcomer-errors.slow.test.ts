import { mkdir, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { type FakeIo, fakeIo } from '../../test/cli/fake-io.ts'
import { libero } from './libero.ts'

/** Refuses everything, in the way that the first part of the path says. */
const refusals: Readonly<Record<string, readonly [status: number, message: string, code: string]>> = {
  wrong: [401, 'Incorrect API key provided: sk-abcdefgh12345678', 'invalid_api_key'],
  unknown: [404, 'The model `nope` does not exist', 'model_not_found'],
  poor: [402, 'Insufficient credits', 'insufficient_quota'],
}

let server: Server
let io: FakeIo
beforeAll(async () => {
  server = createServer((request, response) => {
    const [status, message, code] = refusals[request.url?.split('/')[1] ?? ''] ?? [500, 'no', 'no']
    request.resume()
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify({ error: { message, code } }))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
})
afterAll(() => new Promise((resolve) => server.close(resolve)))

beforeEach(async () => {
  io = fakeIo()
  await mkdir(io.home)
  const { port } = server.address() as AddressInfo
  const at = (path: string, where = `127.0.0.1:${port}`): object => ({
    baseURL: `http://${where}/${path}/v1`,
    model: 'nope',
  })
  const providers = {
    ...Object.fromEntries(Object.keys(refusals).map((name) => [name, at(name)])),
    gone: at('', '127.0.0.1:1'),
  }
  await writeFile(join(io.home, 'config.json'), JSON.stringify({ providers }))
})

/** One sentence, no stack, nothing on stdout. */
async function complaint(...args: string[]): Promise<readonly [exitCode: number, said: string]> {
  const exitCode = await libero(args, io)
  expect(io.said.out).toBe('')
  expect(io.said.err).not.toMatch(/\n {4}at /)
  const lines = io.said.err
    .trim()
    .split('\n')
    .filter((line) => line.startsWith('libero: '))
  expect(lines).toHaveLength(1)
  return [exitCode, lines[0]!.slice('libero: '.length)]
}

const quietly = ['--no-session', '-q', 'hello']

test('no key', async () => {
  expect(await complaint('run', '--provider', 'anthropic', ...quietly)).toEqual([
    1,
    'anthropic needs a key: set ANTHROPIC_API_KEY, or run: libero login anthropic (to try without one: --provider offline)',
  ])
})

test('a wrong key, which is not repeated', async () => {
  const [exitCode, said] = await complaint('run', '--provider', 'wrong', ...quietly)
  expect(said).toMatch(
    /^wrong did not accept the key \(HTTP 401: Incorrect API key provided: .*\): run: libero login wrong$/,
  )
  expect(said).not.toContain('abcdefgh12345678')
  expect(exitCode).toBe(1)
})

test('an unknown model', async () => {
  expect(await complaint('run', '--provider', 'unknown', ...quietly)).toEqual([
    1,
    'unknown has no model "nope" (HTTP 404: The model `nope` does not exist): choose one with --model (see: libero models unknown)',
  ])
})

test('an empty account', async () => {
  const [exitCode, said] = await complaint('run', '--provider', 'poor', ...quietly)
  expect([exitCode, said]).toEqual([1, expect.stringContaining('has nothing left to spend')])
})

test('no network', async () => {
  expect(await complaint('run', '--provider', 'gone', ...quietly)).toEqual([
    1,
    'nobody answers for gone at 127.0.0.1:1 (ECONNREFUSED): start it, or check its address (to work without: --provider offline)',
  ])
})

test('a typo in a flag, in a provider, in a command', async () => {
  expect(await complaint('run', '--modle', 'x', 'hello')).toEqual([
    2,
    expect.stringMatching(/^run has no flag "--modle"; did you mean .*--model\b/),
  ])
  io.clear()
  expect(await complaint('run', '--provider', 'antropic', 'hello')).toEqual([
    2,
    expect.stringContaining('did you mean anthropic?'),
  ])
  io.clear()
  expect(await complaint('modles')).toEqual([2, expect.stringContaining('did you mean: libero models?')])
})

test('a config that is no JSON', async () => {
  await writeFile(join(io.home, 'config.json'), '{ "provider": ')
  const [exitCode, said] = await complaint('run', 'hello')
  expect([exitCode, said]).toEqual([2, expect.stringMatching(/config\.json is not JSON/)])
})

test('a credentials file that is no JSON', async () => {
  await writeFile(join(io.home, 'credentials.json'), '{ "openai": ')
  const [exitCode, said] = await complaint('run', 'hello')
  expect([exitCode, said]).toEqual([1, expect.stringMatching(/credentials\.json is not a JSON object.*log in again/)])
})

test('sessions that cannot be opened', async () => {
  await writeFile(join(io.home, 'sessions.db'), 'no database at all, '.repeat(100))
  const [exitCode, said] = await complaint('run', '--provider', 'offline', '-q', 'hello')
  expect([exitCode, said]).toEqual([
    1,
    expect.stringMatching(/^the sessions cannot be (?:read|opened): .*sessions\.db is damaged/i),
  ])
})

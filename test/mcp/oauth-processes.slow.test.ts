import { type ChildProcess, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { createFileMcpCredentialStore } from '../../src/mcp/oauth/file-credential-store.ts'
import { temporary } from '../temporary.ts'
import { oauthWorld } from './fixtures/oauth-world.ts'

const child = fileURLToPath(new URL('fixtures/oauth-renewing-child.ts', import.meta.url))

test('processes that share a store renew a token once, and never log each other out', async () => {
  const folder = await temporary('mcp-processes-')
  const store = createFileMcpCredentialStore(folder)
  // Slow enough that all of them wait for one renewal.
  const world = await oauthWorld({ lifetimeSeconds: 1, delayMs: 300 }, {}, store)
  await world.login()
  const [credential] = await store.list()
  world.issuer.knobs.lifetimeSeconds = 3600
  const outputs = await race(3, [folder, world.server.url, '3'])
  const tokens = new Set(outputs.flatMap((output) => JSON.parse(output) as string[]))
  expect(world.issuer.reuses).toBe(0)
  expect(world.issuer.renewals).toBe(1)
  expect(tokens.size).toBe(1)
  const [token = ''] = tokens
  expect(token).not.toBe(credential?.tokens.access)
  expect(world.issuer.accepts(token, world.server.url)).toMatchObject({ access: token, isAlive: true })
})

test('processes whose token always expires soon take turns, and the login stays valid', async () => {
  const folder = await temporary('mcp-processes-')
  const store = createFileMcpCredentialStore(folder)
  const world = await oauthWorld({ lifetimeSeconds: 1, delayMs: 20 }, {}, store)
  await world.login()
  world.issuer.knobs.lifetimeSeconds = -1
  const outputs = await race(2, [folder, world.server.url, '5'])
  expect(outputs).toHaveLength(2)
  expect(world.issuer.reuses).toBe(0)
  expect(world.issuer.renewals).toBeGreaterThan(2)
  world.issuer.knobs.lifetimeSeconds = 3600
  await (await world.connect(world.provider())).listTools()
})

/** Starts processes, releases them at the same moment, and returns the last line of each. */
async function race(count: number, args: string[]): Promise<string[]> {
  const flags = ['--conditions=libero-source', '--no-warnings']
  const children = Array.from({ length: count }, () =>
    spawn(process.execPath, [...flags, child, ...args], { stdio: ['pipe', 'pipe', 'inherit'] }),
  )
  const outputs = children.map(outputOf)
  await Promise.all(outputs.map(({ ready }) => ready))
  for (const { stdin } of children) stdin.end('go\n')
  return Promise.all(outputs.map(({ done }) => done))
}

function outputOf(process: ChildProcess): { ready: Promise<void>; done: Promise<string> } {
  const ready = Promise.withResolvers<void>()
  const done = Promise.withResolvers<string>()
  let text = ''
  process.stdout?.on('data', (chunk) => {
    text += chunk
    if (text.includes('ready')) ready.resolve()
  })
  process.on('close', (code) => {
    ready.resolve()
    if (code === 0) done.resolve(text.trim().split('\n').at(-1) ?? '')
    else done.reject(new Error(`The process ended with ${code}`))
  })
  return { ready: ready.promise, done: done.promise }
}

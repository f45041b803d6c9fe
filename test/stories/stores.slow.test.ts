import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect } from 'vitest'
import {
  createAgent,
  createFileMapStore,
  createJsonlStore,
  createMemoryStore,
  createRemoteStore,
  createSession,
  createSqliteStore,
  loadSession,
} from '../../src/index.ts'
import { anthropic } from '../../src/providers/index.ts'
import { createStoreHandler } from '../../src/sessions/index.ts'
import { call, scripted, storeContract, texts, tool } from '../../src/testing/index.ts'
import type { Clock, SessionStore } from '../../src/types.ts'
import { sampleOf, testInTurns } from '../soak.ts'
import { socketFetch, storeServer } from '../store-server.ts'

const test = testInTurns(2)

const folder = mkdtempSync(join(tmpdir(), 'libero-stores-'))
afterAll(() => rmSync(folder, { recursive: true }))
let n = 0
const place = (): string => join(folder, `place-${++n}`)

/** As the root gives them: each is loaded when it is first used. */
const stores: Record<string, (clock?: Clock) => SessionStore | Promise<SessionStore>> = {
  memory: (clock) => createMemoryStore({ ...(clock && { clock }) }),
  sqlite: (clock) => createSqliteStore({ path: place(), ...(clock && { clock }) }),
  jsonl: (clock) => createJsonlStore({ dir: place(), ...(clock && { clock }) }),
  'file-map': (clock) => createFileMapStore(textMap(), { ...(clock && { clock }) }),
  remote: async (clock) => {
    const store = createMemoryStore({ ...(clock && { clock }) })
    const { url } = await storeServer(
      createStoreHandler({ store, token: 'a-token-for-tests', ...(clock && { clock }) }),
    )
    return createRemoteStore({ url, token: 'a-token-for-tests', fetch: socketFetch, ...(clock && { clock }) })
  },
}

function textMap() {
  const texts = new Map<string, string>()
  return {
    get: async (path: string) => texts.get(path),
    save: async (path: string, text: string) => void texts.set(path, text),
    delete: async (path: string) => void texts.delete(path),
  }
}

describe.each(Object.entries(stores))('the %s store of the root', (_, make) => {
  test('A195 passes the suite that every store passes', { timeout: 60_000 }, async () => {
    const failed: string[] = []
    const cases = storeContract(make)
    // Each store's own test runs them all.
    for (const { name, run } of sampleOf(cases, 12))
      await run().catch((error) => failed.push(`${name}: ${error.message}`))
    expect(failed).toEqual([])
    expect(cases.length).toBeGreaterThan(30)
  })

  test('A198 gives a session back with its turns and its runs', async () => {
    const store = await make()
    const session = await createSession({ store, id: 's' })
    const look = tool('look', () => 'seen')
    const agent = createAgent({ provider: scripted([call('1', 'look')], 'One.', 'Two.'), session, tools: { look } })
    await agent.run({ prompt: 'a' })
    await agent.run({ prompt: 'b', behavior: { maxTurns: 1 } })
    const loaded = await loadSession(store, 's')
    expect(loaded.turns).toEqual(session.turns)
    expect(loaded.runs).toEqual(session.runs)
    expect(loaded.runs).toMatchObject([{ status: 'completed' }, { status: 'completed', turnCountAtEnd: 6 }])
    await store.close?.()
  })
})

test('A197 what was finished survives a process that is killed in the middle of a run', async () => {
  const path = place()
  const child = fileURLToPath(new URL('stores-child.ts', import.meta.url))
  const { signal } = spawnSync(process.execPath, ['--conditions=libero-source', child, path])
  expect(signal).toBe('SIGKILL')
  const store = createSqliteStore({ path })
  const session = await loadSession(store, 's')
  expect(texts(session.turns)).toEqual([
    'user: Look twice.',
    'assistant: →look({})',
    'user: ←seen 1',
    'assistant: →look({})',
    'user: ←seen 2',
  ])
  const { text } = await createAgent({ provider: scripted('Seen.'), session }).run()
  expect(text).toBe('Seen.')
  await store.close?.()
})

test('E05 messages that were acknowledged survive a kill before they are delivered, in every store on a disk', async () => {
  const [sqlite, jsonl] = [place(), place()]
  const child = fileURLToPath(new URL('acknowledging-child.ts', import.meta.url))
  const { signal, stdout } = spawnSync(process.execPath, ['--conditions=libero-source', child, sqlite, jsonl])
  expect([signal, String(stdout)]).toEqual(['SIGKILL', 'acknowledged\n'])
  for (const store of [createSqliteStore({ path: sqlite }), createJsonlStore({ dir: jsonl })]) {
    const session = await loadSession(store, 's')
    const agent = createAgent({ provider: scripted('one', 'two'), session })
    await agent.steer('from here', { clientKey: 'here' })
    await agent.run({ prompt: 'next' })
    const said = texts(session.turns).join()
    expect(['from here', 'from elsewhere'].map((message) => said.split(message).length - 1)).toEqual([1, 1])
    await store.close?.()
  }
})

describe.each(['sqlite', 'jsonl'])('what the %s store puts on the disk', (name) => {
  const filesIn = (path: string): string[] =>
    statSync(path).isDirectory() ? readdirSync(path).flatMap((file) => filesIn(join(path, file))) : [path]

  test('FS-19 is for its owner alone', async () => {
    const before = readdirSync(folder)
    const store = await stores[name]!()
    const session = await createSession({ store, id: 's' })
    const big = tool('big', () => 'x'.repeat(300_000))
    await createAgent({ provider: scripted([call('1', 'big')], 'fin'), session, tools: { big } }).run({ prompt: 'go' })
    await store.send('s', { clientKey: 'k', mode: 'steer', content: [] })
    const made = readdirSync(folder).filter((file) => !before.includes(file))
    const files = made.flatMap((file) => filesIn(join(folder, file)))
    expect(files.length).toBeGreaterThan(name === 'sqlite' ? 1 : 3)
    expect(files.filter((file) => (statSync(file).mode & 0o077) !== 0)).toEqual([])
    await store.close?.()
  })

  test('SE-04 never holds the key of a provider, not even when the service says it', async () => {
    const key = 'sk-ant-a-key-that-must-not-be-stored'
    const store = await stores[name]!()
    const body = JSON.stringify({ type: 'error', error: { type: 'authentication_error', message: `bad key ${key}` } })
    const fetch = async () => new Response(body, { status: 401 })
    const session = await createSession({ store, id: 'secret' })
    const agent = createAgent({ provider: anthropic({ apiKey: key, fetch }), session })
    await expect(agent.run({ prompt: 'hello' })).rejects.toThrow('anthropic')
    const bytes = readdirSync(folder)
      .flatMap((file) => filesIn(join(folder, file)))
      .map((file) => readFileSync(file))
    expect(Buffer.concat(bytes).includes('hello')).toBe(true)
    expect(Buffer.concat(bytes).includes(key)).toBe(false)
    await store.close?.()
  })
})

import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { SessionBusyError, StoreError } from '../../src/core/errors.ts'
import { createAgent, createSession, loadSession } from '../../src/index.ts'
import { createMemoryStore } from '../../src/sessions/memory-store.ts'
import { createRemoteStore } from '../../src/sessions/remote-store.ts'
import { createStoreHandler } from '../../src/sessions/store-handler.ts'
import { call, scripted, texts, tool } from '../../src/testing/index.ts'
import { nowhere, socketFetch, storeServer } from '../store-server.ts'
import { failureOf, remoteWorld, token } from './store-remote-kit.ts'

/** By the real clock: a run has timers of its own. */
async function world() {
  const inner = createMemoryStore()
  const server = await storeServer(createStoreHandler({ store: inner, token }))
  const open = (more: object = {}) => createRemoteStore({ url: server.url, token, fetch: socketFetch, ...more })
  return { inner, server, open }
}

describe('a run over a remote store', () => {
  test('is kept there, keeps a second writer out by name, and goes on elsewhere', async () => {
    const { inner, open } = await world()
    const session = await createSession({ store: open(), id: 'team/1', owner: 'ann at the desk' })
    const meet = tool('meet', async () => {
      const other = await loadSession(open(), 'team/1', { owner: 'bob' })
      const busy = await failureOf(
        createAgent({ provider: scripted('Me too.'), session: other }).run({ prompt: 'Go.' }),
      )
      expect(busy).toBeInstanceOf(SessionBusyError)
      expect(busy.owner).toContain('ann at the desk')
      expect(busy.message).toContain('ann at the desk')
      expect(busy.since).toEqual(expect.any(Number))
      await other.send({ clientKey: 'k', mode: 'steer', content: [{ type: 'text', text: 'From elsewhere.' }] })
      return 'met'
    })
    const agent = createAgent({ provider: scripted([call('1', 'meet')], 'Hello.', 'Bye.'), session, tools: { meet } })
    const { status } = await agent.run({ prompt: 'Meet.' })
    expect(status).toBe('completed')
    expect((await inner.read('team/1')).map(({ seq }) => seq)).toEqual(session.log.head ? range(session.log.head) : [])

    const later = await loadSession(open(), 'team/1', { owner: 'bob' })
    expect(texts(later.turns)).toEqual(texts(session.turns))
    expect(texts(later.turns)).toContain('user: From elsewhere.')
    await createAgent({ provider: scripted('Still here.'), session: later }).run({ prompt: 'And now?' })
    expect(texts((await loadSession(open(), 'team/1')).turns).at(-1)).toBe('assistant: Still here.')
  })

  test('FD-27 whose every second answer is lost ends as if none were, with every entry stored once', async () => {
    const { inner, server, open } = await world()
    let n = 0
    server.tap = async (incoming, _, serve) => {
      if (incoming.url?.includes('/watch') || n++ % 2 === 1) return serve()
      await serve(nowhere)
      incoming.socket.destroy()
    }
    const session = await createSession({ store: open(), id: 's' })
    const look = tool('look', () => 'seen')
    const agent = createAgent({ provider: scripted([call('1', 'look')], 'Done.'), session, tools: { look } })
    expect((await agent.run({ prompt: 'Look.' })).status).toBe('completed')
    const stored = await inner.read('s')
    expect(stored.map(({ seq }) => seq)).toEqual(range(session.log.head))
    expect(new Set(stored.map(({ id }) => id)).size).toBe(stored.length)
  })

  test('FD-29 whose server goes away fails with a typed error, and nothing that it was told is missing afterwards', async () => {
    const { inner, server, open } = await world()
    const session = await createSession({ store: open({ retries: 1 }), id: 's' })
    let confirmed = 0
    const unplug = tool('unplug', async () => {
      confirmed = session.log.head
      await server.stop()
      return 'dark'
    })
    const agent = createAgent({ provider: scripted([call('1', 'unplug')], 'Done.'), session, tools: { unplug } })
    const error = await failureOf(agent.run({ prompt: 'Unplug it.' }))
    expect(error).toBeInstanceOf(StoreError)
    expect(error).toMatchObject({ code: 'unavailable', message: expect.stringContaining(server.url) })

    await server.start()
    const stored = await inner.read('s')
    expect(confirmed).toBeGreaterThan(0)
    expect(stored.length).toBeGreaterThanOrEqual(confirmed)
    const again = await loadSession(open(), 's', { takeOver: true })
    expect(await createAgent({ provider: scripted('Light.'), session: again }).run({ prompt: 'Now?' })).toMatchObject({
      status: 'completed',
      text: 'Light.',
    })
  })
})

test('what is too big for the server is refused with its reason, over a real connection', async () => {
  const { open, inner, server } = await remoteWorld({ maxBytes: 100_000 })
  const store = open()
  const bytes = new Uint8Array(8_000_000)
  const error = await failureOf(store.blobs('s').put(bytes))
  expect(error).toMatchObject({ name: 'StoreError', code: 'full', message: expect.stringContaining('100000 bytes') })
  expect(server.asked).toHaveLength(1)
  expect(await inner.list()).toEqual({ sessions: [] })
  expect(await store.list()).toEqual({ sessions: [] })
})

test('the fetch of the runtime does as well, and nothing keeps the process', async () => {
  const inner = createMemoryStore()
  const server = await storeServer(createStoreHandler({ store: inner, token, maxBytes: 100_000 }))
  const script = fileURLToPath(new URL('store-remote-child.ts', import.meta.url))
  const child = spawn(process.execPath, ['--conditions=libero-source', script, server.url, token])
  let said = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => (said += data))
  const code = await new Promise((resolve) => child.on('close', resolve))
  expect({ code, said }).toEqual({ code: 0, said: expect.stringContaining('"watched":["first","second"]') })
  expect(JSON.parse(said)).toEqual({
    read: [1],
    blob: [0, 255, 10],
    watched: ['first', 'second'],
    busy: 'SessionBusyError of child',
    tooBig: 'full',
    denied: 'denied',
    redirect: 'unavailable',
  })
})

const range = (length: number): number[] => Array.from({ length }, (_, i) => i + 1)

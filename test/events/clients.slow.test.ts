import { createServer, get } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { expect, onTestFinished, test } from 'vitest'
import type { SessionStore } from '../../src/core/store.ts'
import { eventsResponse } from '../../src/events/events-response.ts'
import { createAgent, createMemoryStore, createSession } from '../../src/index.ts'
import { call, scripted, tool } from '../../src/testing/index.ts'
import { emptyView, foldEntries, foldEvent, type SessionView } from '../../src/view/session-view.ts'
import { withoutLive } from '../view/random-log.ts'

/** A real server for one session. */
async function serve(store: SessionStore): Promise<string> {
  const server = createServer(async (incoming, outgoing) => {
    const gone = new AbortController()
    outgoing.on('close', () => gone.abort())
    const headers = new Headers(incoming.headers as Record<string, string>)
    const request = new Request(`http://127.0.0.1${incoming.url}`, { headers, signal: gone.signal })
    const response = await eventsResponse(store, 's', request)
    outgoing.writeHead(response.status, Object.fromEntries(response.headers))
    await pipeline(Readable.fromWeb(response.body as never), outgoing).catch(() => {})
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/events`
}

/** A browser's way: the number of the last event is sent when it connects again. Reads at most `frames`, then hangs up. */
async function connect(url: string, view: SessionView, { frames, pauseMs }: { frames: number; pauseMs: number }) {
  let now = view
  let rest = ''
  let count = 0
  const response = await new Promise<Readable>((resolve, reject) =>
    get(url, { headers: view.head > 0 ? { 'last-event-id': `${view.head}` } : {}, agent: false }, resolve).on(
      'error',
      reject,
    ),
  )
  for await (const chunk of response.setEncoding('utf8')) {
    const parts = (rest + chunk).split('\n\n')
    rest = parts.pop()!
    for (const part of parts.filter((one) => one.includes('data: '))) {
      const event = JSON.parse(part.slice(part.indexOf('data: ') + 6))
      if (!part.startsWith('event: beat')) now = foldEvent(now, event)
      if (++count === frames || event.entry?.type === 'run_ended') {
        response.destroy()
        return { view: now, isOver: event.entry?.type === 'run_ended' }
      }
    }
    if (pauseMs > 0) await new Promise((resolve) => setTimeout(resolve, pauseMs))
  }
  return { view: now, isOver: false }
}

test('VE07 clients that lose their connection again and again, read slowly and join late all end with the same view', async () => {
  const store = createMemoryStore()
  const session = await createSession({ store, id: 's' })
  await session.save()
  const url = await serve(store)
  const steps = Array.from({ length: 5 }, (_, i) => ({ text: `Step ${i}. `.repeat(20), calls: [call(`${i}`, 'look')] }))
  const agent = createAgent({
    provider: scripted(...steps, 'It is a lake. '.repeat(50), { options: { chunk: 6 } }),
    tools: { look: tool('look', () => 'water '.repeat(1000)) },
    session,
    hooks: { 'stream:text': () => new Promise((resolve) => setTimeout(resolve, 1)) },
  })
  const follow = async (options: { frames: () => number; pauseMs: number; lateMs: number }) => {
    await new Promise((resolve) => setTimeout(resolve, options.lateMs))
    let state = { view: emptyView, isOver: false }
    let connections = 0
    for (; !state.isOver; connections++)
      state = await connect(url, state.view, { frames: options.frames(), pauseMs: options.pauseMs })
    return { view: state.view, connections }
  }
  const running = agent.run({ prompt: 'Go.' })
  const clients = await Promise.all([
    follow({ frames: () => 1 + Math.floor(Math.random() * 60), pauseMs: 0, lateMs: 0 }),
    follow({ frames: () => Number.POSITIVE_INFINITY, pauseMs: 15, lateMs: 0 }),
    follow({ frames: () => 1 + Math.floor(Math.random() * 200), pauseMs: 0, lateMs: 150 }),
  ])
  await running
  await agent.destroy()
  const fresh = withoutLive(foldEntries(emptyView, await store.read('s')))
  for (const { view } of clients) expect(withoutLive(view)).toEqual(fresh)
  expect(clients[0]!.connections).toBeGreaterThan(2)
})

import { Validator } from '@cfworker/json-schema'
import { expect, test } from 'vitest'
import type { SessionStore } from '../core/store.ts'
import { createAgent, createMemoryStore, createSession } from '../index.ts'
import { scripted } from '../testing/index.ts'
import { eventsResponse } from './events-response.ts'
import { eventSchema } from './schema.ts'

const address = 'http://127.0.0.1/s'

async function twoRuns(): Promise<SessionStore> {
  const store = createMemoryStore()
  const session = await createSession({ store, id: 's' })
  const agent = createAgent({ provider: scripted('One.', 'Two.'), session })
  await agent.run({ prompt: 'First' })
  await agent.run({ prompt: 'Second' })
  await agent.destroy()
  return store
}

/** Reads frames until one of them satisfies `isLast`, then hangs up. */
async function frames(response: Response, isLast: (frame: string) => boolean): Promise<string[]> {
  const all: string[] = []
  let rest = ''
  for await (const bytes of response.body!.pipeThrough(new TextDecoderStream())) {
    const parts = (rest + bytes).split('\n\n')
    rest = parts.pop()!
    all.push(...parts.filter((frame) => frame.includes('data: ')))
    if (all.some(isLast)) break
  }
  return all
}

test('E10 the events of a session are server-sent events, whose ids are the numbers of log entries', async () => {
  const store = await twoRuns()
  const { head } = (await store.find('s'))!
  const response = await eventsResponse(store, 's', new Request(address))
  expect(response.headers.get('content-type')).toBe('text/event-stream')
  const all = await frames(response, (frame) => frame.startsWith(`id: ${head}\n`))
  expect(all.map((frame) => frame.split('\n')[0])).toEqual(Array.from({ length: head }, (_, i) => `id: ${i + 1}`))
  const entries = all.map((frame) => JSON.parse(frame.slice(frame.indexOf('data: ') + 6)).entry)
  expect(entries).toEqual(await store.read('s'))
})

test.each([
  ['Last-Event-ID', new Request(address, { headers: { 'Last-Event-ID': '5' } })],
  ['?after=', new Request(`${address}?after=5`)],
])('E10 a client that connects again with %s gets the events that it missed', async (_, request) => {
  const store = await twoRuns()
  const { head } = (await store.find('s'))!
  const all = await frames(await eventsResponse(store, 's', request), (frame) => frame.startsWith(`id: ${head}\n`))
  expect(all[0]).toMatch(/^id: 6\n/)
})

test('E10 a beat tells the number of the last entry, so that a client notices a dead connection', async () => {
  const store = await twoRuns()
  const { head } = (await store.find('s'))!
  const response = await eventsResponse(store, 's', new Request(`${address}?after=${head}`), { beatMs: 1 })
  const [beat] = await frames(response, () => true)
  expect(beat).toBe(`event: beat\ndata: {"head":${head}}`)
})

test('VE07 the beat tells the head of the store, also where the stream has not come so far', async () => {
  const store = await twoRuns()
  const { head } = (await store.find('s'))!
  const stuck: SessionStore = { ...store, read: () => new Promise(() => {}) }
  const response = await eventsResponse(stuck, 's', new Request(address), { beatMs: 1 })
  expect(await frames(response, () => true)).toContain(`event: beat\ndata: {"head":${head}}`)
})

test.each([
  [404, new Request(address), 'none', /There is no session "none"/],
  [400, new Request(`${address}?after=x`), 's', /must be the number of a log entry, got "x"/],
  [400, new Request(address, { headers: { 'Last-Event-ID': '-1' } }), 's', /got "-1"/],
  [400, new Request(`${address}?after=${'9'.repeat(400)}`), 's', /got "9{40}"$/],
  [409, new Request(`${address}?after=1000`), 's', /no event can follow entry 1000.*from the beginning/],
  [405, new Request(address, { method: 'POST' }), 's', /read with GET, not POST/],
])('VE07 bad input is answered with %s and what is wrong: %#', async (status, request, id, words) => {
  const response = await eventsResponse(await twoRuns(), id, request)
  expect([response.status, await response.json()]).toEqual([status, { error: expect.stringMatching(words) }])
})

test('VE07 a stream that fails says why before it ends', async () => {
  const store = await twoRuns()
  const { head } = (await store.find('s'))!
  const response = await eventsResponse(store, 's', new Request(`${address}?after=${head}`))
  setTimeout(() => store.delete('s'), 5)
  const all = await frames(response, () => false)
  expect(all).toEqual([expect.stringMatching(/^event: failed\ndata: \{"error":"There is no session/)])
})

test('VE07 a client that hangs up, or whose request is aborted, leaves no timer and no watcher', async () => {
  const store = await twoRuns()
  const timers = (): number => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length
  const before = timers()
  const stop = new AbortController()
  const hangsUp = await eventsResponse(store, 's', new Request(address), { beatMs: 60_000 })
  const aborted = await eventsResponse(store, 's', new Request(address, { signal: stop.signal }), { beatMs: 60_000 })
  expect(timers()).toBe(before + 2)
  await frames(hangsUp, () => true)
  stop.abort()
  await frames(aborted, () => false)
  expect(timers()).toBe(before)
})

test('VE07 a log entry, what is streamed, and what was lost are told apart by id and event', async () => {
  const store = createMemoryStore()
  const session = await createSession({ store, id: 's' })
  await session.save()
  const agent = createAgent({ provider: scripted('word '.repeat(1500), { options: { chunk: 5 } }), session })
  const response = await eventsResponse(store, 's', new Request(address))
  await agent.run({ prompt: 'Go.' }) // nothing is read meanwhile
  await agent.destroy()
  const all = await frames(response, (frame) => frame.includes('"run_ended"'))
  const kinds = new Set(all.map((frame) => frame.split('\n')[0]!.replace(/\d+/, 'n')))
  expect(kinds).toEqual(new Set(['id: n', 'event: delta', 'event: gap']))
  for (const frame of all) expect(frame).toMatch(/^(?:id: \d+\n)?event: \w+\ndata: \{.*\}$/)
  const validator = new Validator(eventSchema as object, '2020-12')
  const wrong = all.filter((frame) => !validator.validate(JSON.parse(frame.slice(frame.indexOf('data: ') + 6))).valid)
  expect(wrong).toEqual([])
})

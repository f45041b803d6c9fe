import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { joinWorkers } from '../../src/durable/join-workers.ts'
import { workerDirectory } from '../../src/durable/worker-directory.ts'
import type { StreamedEvent } from '../../src/events/event-queue.ts'
import { createMemoryStore } from '../../src/sessions/stores.ts'
import { eventually } from '../postgres-kit.ts'

/** A worker that streams a run as `answer` says, and a reader of that run. */
async function joinedTo(answer: (response: ServerResponse, requests: number) => void) {
  const store = createMemoryStore()
  let requests = 0
  const http = createServer((_, response) => answer(response, ++requests))
  await new Promise<void>((resolve) => void http.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    http.closeAllConnections()
    http.close()
  })
  const address = `http://:key@127.0.0.1:${(http.address() as AddressInfo).port}`
  await workerDirectory(store).announce({
    ...{ id: 'w', processId: 'p', version: '', address, kinds: [], slots: 1, running: 1 },
    ...{ takeovers: 0, state: 'working', startedAt: 0 },
  })
  const events: StreamedEvent[] = []
  const feed = joinWorkers({ store })({ runId: 'r', processId: 'p' }, (event) => void events.push(event))
  onTestFinished(() => feed.leave())
  return { feed, events }
}

const gapOf = (lost: number): string => `${JSON.stringify({ durable: false, type: 'gap', after: 0, lost })}\n`

test('FL85 a reader that asks for a snapshot, or whose connection breaks, joins the run again', async () => {
  const { feed, events } = await joinedTo((response, requests) => {
    response.writeHead(200).write(gapOf(requests))
    if (requests === 2) setTimeout(() => response.destroy(), 5)
  })
  await eventually(async () => events.length === 1)
  feed.snapshot()
  await eventually(async () => events.length === 3)
  expect(events.map((event) => event.type === 'gap' && event.lost)).toEqual([1, 2, 3])
})

test('FL85 a reader goes on trying to join a run whose worker cannot be reached for seconds', async () => {
  const { events } = await joinedTo((response, requests) => {
    if (requests < 8) response.writeHead(503).end()
    else response.writeHead(200).write(gapOf(requests))
  })
  await eventually(async () => events.length === 1)
})

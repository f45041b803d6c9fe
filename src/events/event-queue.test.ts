import { expect, test } from 'vitest'
import type { LogEntry } from '../core/log.ts'
import { EventQueue, type SessionEvent, type StreamedEvent } from './event-queue.ts'

const label = (seq: number): LogEntry => ({ type: 'label', text: `${seq}`, seq, id: `e${seq}`, at: seq })

const reply = (seq: number): LogEntry => ({
  ...{ type: 'turn', seq, id: `e${seq}`, at: seq },
  turn: { id: 't', runId: 'r', role: 'assistant', createdAt: seq, content: [] },
})

/** A queue whose feed the test plays. */
function queueWithFeed() {
  const calls = { snapshots: 0, left: 0, behind: 0 }
  let n = 0
  let emit: (event: StreamedEvent) => void = () => {}
  const queue = new EventQueue(0, () => calls.behind++)
  queue.join((give) => {
    emit = give
    return { snapshot: () => calls.snapshots++, leave: () => calls.left++ }
  })
  const say = (delta: string, after = queue.last): void =>
    emit({ durable: false, type: 'text', turnId: 't', attempt: 1, delta, after, n: ++n })
  return { queue, calls, say, emit: (event: StreamedEvent) => emit(event) }
}

async function taken(queue: EventQueue, count: number): Promise<string[]> {
  const shown: string[] = []
  for (let i = 0; i < count; i++) shown.push(shape((await queue.next())!))
  return shown
}

function shape(event: SessionEvent): string {
  if (event.durable) return `${event.seq}`
  if (event.type === 'gap') return `${event.lost} lost`
  return event.type === 'text' ? event.delta.slice(0, 10) : event.type
}

test('VE06 a reader that was behind gets a snapshot also where an entry came in the middle of the answer', async () => {
  const { queue, calls, say } = queueWithFeed()
  for (let i = 0; i < 1003; i++) say('a')
  queue.add([label(1)])
  say('b') // the reader has not read a word yet
  expect((await taken(queue, 1000)).every((word) => word === 'a')).toBe(true)
  expect(await taken(queue, 2)).toEqual(['3 lost', '1'])
  expect(calls.snapshots).toBe(1)
  expect(await taken(queue, 1)).toEqual(['1 lost'])
  say('c')
  expect(await taken(queue, 1)).toEqual(['c'])
})

test('VE06 of large pieces fewer wait, so that the memory for a reader is bounded', async () => {
  const { queue, say } = queueWithFeed()
  for (let i = 0; i < 100; i++) say('x'.repeat(2 ** 16))
  expect(await taken(queue, 16)).toEqual(Array.from({ length: 16 }, () => 'x'.repeat(10)))
  expect(await taken(queue, 1)).toEqual(['84 lost'])
  say('more')
  expect(await taken(queue, 1)).toEqual(['more'])
})

test('VE06 what was lost on the way is told, before what came later, also if entries came meanwhile', async () => {
  const { queue, say, emit } = queueWithFeed()
  say('a')
  emit({ durable: false, type: 'gap', after: 0, lost: 7 })
  say('b')
  emit({ durable: false, type: 'gap', after: 1, lost: 5 }) // entry 1 has not come yet
  queue.add([label(1), label(2)])
  expect(await taken(queue, 6)).toEqual(['a', '7 lost', 'b', '1', '5 lost', '2'])
})

test('VE01 what was streamed after an entry that has not come waits for it, and what a reply replaced is dropped', async () => {
  const { queue, calls, say } = queueWithFeed()
  say('early', 1)
  say('earlier', 0)
  expect(calls.behind).toBe(1)
  queue.add([label(1), reply(2)])
  say('late', 1)
  say('next', 2)
  expect(await taken(queue, 5)).toEqual(['earlier', '1', 'early', '2', 'next'])
  queue.end()
  expect(await queue.next()).toBeUndefined()
  expect(calls.left).toBe(1)
})

test('VE01 a reply goes on after an entry that comes in the middle of it, also for what was streamed before that entry was read', async () => {
  const { queue, say } = queueWithFeed()
  say('b', 1)
  say('c', 1)
  queue.add([label(1), label(2)])
  say('d', 1) // from a process whose entry 2 came another way
  say('e', 3)
  queue.add([label(3), label(4)])
  expect(await taken(queue, 8)).toEqual(['1', 'b', 'c', '2', 'd', '3', 'e', '4'])
})

test('VE08 a queue that fails gives what waits before it throws', async () => {
  const { queue, say } = queueWithFeed()
  say('a')
  queue.add([label(1)])
  queue.fail(new Error('no more'))
  expect(await taken(queue, 2)).toEqual(['a', '1'])
  await expect(queue.next()).rejects.toThrow('no more')
})

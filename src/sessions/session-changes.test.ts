import { expect, test } from 'vitest'
import { fakeClock } from '../testing/fake-clock.ts'
import { createMemoryStore } from './memory-store.ts'
import { SessionChanges } from './session-changes.ts'

const now = 1_000_000

/** A store, and what a listener hears of its sessions. */
function listened() {
  const clock = fakeClock(now)
  const store = createMemoryStore({ clock })
  const told: unknown[] = []
  /** Appends an entry with the time of the clock that its machine has. */
  async function write(id: string, at: number, head = 0): Promise<void> {
    const { epoch } = await store.lease(id, { owner: 'test', ttlMs: 1000, create: true })
    const entry = { type: 'label', text: 'x', seq: head + 1, id: `${id}-${head}`, at } as const
    await store.append(id, [entry], { epoch, head })
    await store.lease(id, { owner: 'test', ttlMs: 0, epoch })
  }
  const follow = () => new SessionChanges(store, clock).follow(({ id }, before) => void told.push([id, before]))
  return { clock, store, told, write, follow }
}

test('a session that is stored after a later one was seen is told of, and so is its next change', async () => {
  const { clock, told, write, follow } = listened()
  await write('old', now - 3_600_000)
  const unfollow = await follow()
  await write('x', now)
  await clock.advance(1000)
  await write('y', now - 10)
  await clock.advance(1000)
  await write('y', now - 5, 1)
  await clock.advance(1000)
  expect(told).toEqual([
    ['x', undefined],
    ['y', undefined],
    ['y', 1],
  ])
  unfollow()
})

test('sessions that were there before are not told of, however many were written in the last minute', async () => {
  const { clock, store, told, write, follow } = listened()
  for (let i = 0; i < 450; i++) await write(`s${i}`, now - i * 100)
  const unfollow = await follow()
  await store.delete('s0')
  await clock.advance(1000)
  expect(told).toEqual([])
  await write('new', now)
  await clock.advance(1000)
  expect(told).toEqual([['new', undefined]])
  unfollow()
})

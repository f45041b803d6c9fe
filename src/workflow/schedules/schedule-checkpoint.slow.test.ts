import { expect, test } from 'vitest'
import { agents, alert, begin, minute, mortal, run } from '../../../test/workflow/scheduler-kit.ts'
import { createMemoryStore } from '../../sessions/memory-store.ts'
import { fakeClock } from '../../testing/fake-clock.ts'
import { createScheduleBook } from './schedule-book.ts'
import { readCheckpoint, ScheduleLedger, schedulesLogId } from './schedule-ledger.ts'
import { createScheduler } from './scheduler.ts'

const every = { agentId: 'a', message: 'Do it.', when: { type: 'interval' as const, everySeconds: 60 } }

test('an owner writes checkpoints, and the next owner fires each time once', async () => {
  const clock = fakeClock(begin)
  const store = createMemoryStore({ clock })
  const agent = agents(clock)
  const book = createScheduleBook({ store, clock })
  for (let i = 0; i < 20; i++) await book.add({ ...every, id: `s${i}` })
  let current: ReturnType<typeof mortal>
  let calls = 0
  // Dies now and then between a wake-up and its entry.
  const wake = (call: Parameters<typeof agent.wake>[0]): void => {
    agent.wake(call)
    if (++calls % 701 === 0) current.kill()
  }
  for (let i = 0; i < 5; i++) {
    current = mortal({ clock, store })
    await createScheduler({ ...current, wake, ...alert, onError: () => {} }).start()
    await clock.advance(35 * minute)
    await book.update(`s${i}`, { message: `Now ${i}.` })
    await clock.advance(minute)
    current.kill()
    await clock.advance(minute)
  }
  await run({ clock, store }, { wake: agent.wake, ...alert }).start()
  await clock.advance(minute)
  const log = await store.read(schedulesLogId)
  expect(log.map(readCheckpoint).filter((one) => one !== undefined).length).toBeGreaterThan(1)
  expect(log.length).toBeGreaterThan(2600)
  const ledger = new ScheduleLedger()
  for (const entry of log) ledger.apply(entry)
  const { schedules: kept } = ledger
  const states = await createScheduleBook({ store, clock }).list()
  expect(states.map(({ id, runs, message }) => ({ id, runs, message }))).toEqual(
    [...kept.values()].map(({ schedule: { id, message }, runs }) => ({ id, runs, message })),
  )
  expect(new Set(agent.heard.map(({ key }) => key)).size).toBe(agent.heard.length)
  expect(states.find(({ id }) => id === 's4')?.message).toBe('Now 4.')
})

test('a key that is sent again much later changes nothing, although the log is no longer read so far back', async () => {
  const clock = fakeClock(begin)
  const store = createMemoryStore({ clock })
  const book = createScheduleBook({ store, clock })
  const one = { ...every, id: 'k' }
  await book.add(one, { key: 'call-1' })
  const scheduler = run({ clock, store }, { wake: () => {} })
  await scheduler.start()
  await book.remove('k')
  await book.add({ ...one, id: 'x' })
  await clock.advance(3000 * minute)
  await scheduler.stop()
  const later = createScheduleBook({ store, clock })
  await later.add(one, { key: 'call-1' })
  await run({ clock, store }, { wake: () => {} }).start()
  await clock.advance(minute)
  expect((await createScheduleBook({ store, clock }).list()).map(({ id }) => id)).toEqual(['x'])
})

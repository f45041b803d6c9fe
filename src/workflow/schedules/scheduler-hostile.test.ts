import { describe, expect, test } from 'vitest'
import { agents, begin, hour, iso, minute, mortal, run } from '../../../test/workflow/scheduler-kit.ts'
import { createMemoryStore } from '../../sessions/memory-store.ts'
import { fakeClock } from '../../testing/fake-clock.ts'
import { createScheduleBook } from './schedule-book.ts'
import type { WakeCall } from './schedule-owner.ts'
import { createScheduler } from './scheduler.ts'

const day = 24 * hour
/** So that hours pass in few steps. */
const easy = { pollMs: 5 * minute, leaseMs: 20 * minute }
const every = (seconds: number) => ({ type: 'interval' as const, everySeconds: seconds })

/** A clock that can be set to another time while timers go on. */
function settableClock() {
  const clock = fakeClock(begin)
  let skew = 0
  return {
    ...clock,
    now: () => clock.now() + skew,
    set: (to: number): void => {
      skew = to - clock.now()
    },
  }
}

/** Dies in the moment in which an agent has been told, before that is written down. */
async function dieWhenTold(world: Parameters<typeof mortal>[0], wake: (call: WakeCall) => unknown, after: number) {
  const victim = mortal(world)
  const dying = (call: WakeCall): void => {
    wake(call)
    victim.kill()
  }
  await createScheduler({ ...victim, wake: dying, ...easy, onError: () => {} }).start()
  await world.clock.advance(after)
}

describe('a crash after a wake-up, and before its run was logged', () => {
  test.each([
    ['maxRuns', { maxRuns: 2 }, 2],
    ['deleteAfterRun', { deleteAfterRun: true }, 1],
  ])('is no further run for %s, however long the scheduler is down', async (_, bound, told) => {
    const clock = fakeClock(begin)
    const world = { clock, store: createMemoryStore({ clock }) }
    const agent = agents(clock)
    const book = createScheduleBook(world)
    await book.add({ id: 'x', agentId: 'a', message: 'X', when: every(3600), ...bound })
    await dieWhenTold(world, agent.wake, 1.5 * hour)
    expect(agent.heard).toHaveLength(1)
    await clock.advance(3 * hour)
    await run(world, { wake: agent.wake, ...easy }).start()
    await clock.advance(5 * hour)
    expect(agent.heard).toHaveLength(told)
    expect((await book.list()).map(({ runs, nextRunAt }) => ({ runs, nextRunAt }))).toEqual(
      'maxRuns' in bound ? [{ runs: 2, nextRunAt: undefined }] : [],
    )
  })

  test('a run that was begun does not block a schedule that gets other times or is switched off', async () => {
    const clock = fakeClock(begin)
    const world = { clock, store: createMemoryStore({ clock }) }
    const agent = agents(clock)
    const book = createScheduleBook(world)
    await book.add({ id: 'x', agentId: 'a', message: 'X', when: every(3600), maxRuns: 5 })
    await dieWhenTold(world, agent.wake, 1.5 * hour)
    await book.update('x', { enabled: false })
    await run(world, { wake: agent.wake, ...easy }).start()
    await clock.advance(3 * hour)
    expect(agent.calls).toHaveLength(1)
    await book.update('x', { enabled: true, message: 'Y' })
    await clock.advance(hour)
    expect(agent.calls.map(({ message }) => message)).toEqual(['X', 'Y'])
  })

  test('a single time is not sent again under another key when its hours begin again', async () => {
    const clock = fakeClock(begin)
    const world = { clock, store: createMemoryStore({ clock }) }
    const agent = agents(clock)
    const book = createScheduleBook(world)
    const activeHours = { from: '09:00', to: '17:00', timeZone: 'UTC' }
    await book.add({ agentId: 'a', message: 'X', when: { type: 'at', at: iso(begin + hour) }, activeHours })
    await dieWhenTold(world, agent.wake, 1.5 * hour)
    expect(agent.heard).toHaveLength(1)
    await clock.advance(7 * hour)
    await run(world, { wake: agent.wake, ...easy }).start()
    await clock.advance(day)
    expect(agent.heard).toHaveLength(1)
    expect(await book.list()).toMatchObject([{ runs: 1, lastRunAt: begin + hour }])
  })
})

describe('a clock that is set', () => {
  test('back by an hour sends nothing twice, and continues', async () => {
    const clock = settableClock()
    const world = { clock, store: createMemoryStore({ clock }) }
    const agent = agents(clock)
    await createScheduleBook(world).add({ agentId: 'a', message: 'X', when: every(600) })
    await run(world, { wake: agent.wake, ...easy }).start()
    await clock.advance(hour)
    expect(agent.calls).toHaveLength(6)
    clock.set(begin)
    await clock.advance(hour)
    expect(agent.calls).toHaveLength(6)
    await clock.advance(hour)
    expect(agent.calls).toHaveLength(12)
    expect(agent.heard).toHaveLength(12)
  })

  test('right after it was years ahead: a repeating schedule does not wait for those years', async () => {
    const clock = settableClock()
    const world = { clock, store: createMemoryStore({ clock }) }
    const agent = agents(clock)
    const book = createScheduleBook(world)
    await book.add({ agentId: 'a', message: 'X', when: every(600) })
    const scheduler = run(world, { wake: agent.wake, ...easy })
    await scheduler.start()
    clock.set(begin + 4000 * day)
    await clock.advance(hour)
    const ahead = agent.heard.length
    expect(ahead).toBeGreaterThan(0)
    clock.set(begin + hour + 2 * minute)
    await clock.advance(hour)
    expect(agent.heard.length - ahead).toBe(6)
    expect(agent.heard).toHaveLength(agent.calls.length)
  })

  test('back while a wake-up waits for its retry does not delay it', async () => {
    const clock = settableClock()
    const world = { clock, store: createMemoryStore({ clock }) }
    let tries = 0
    const wake = (): void => {
      if (++tries === 1) throw new Error('not yet')
    }
    await createScheduleBook(world).add({ agentId: 'a', message: 'X', when: every(3600) })
    await run(world, { wake, ...easy, onError: () => {} }).start()
    await clock.advance(hour)
    expect(tries).toBe(1)
    clock.set(begin - 10 * hour)
    await clock.advance(6 * minute)
    expect(tries).toBe(2)
  })
})

test('a time further away than a timer can wait comes when it is due, and not at once', async () => {
  const clock = fakeClock(begin)
  const world = { clock, store: createMemoryStore({ clock }) }
  const agent = agents(clock)
  const longest = 2 ** 31 - 1
  const timers: number[] = []
  const short = {
    ...clock,
    // As in Node: beyond that a timer fires at once.
    timer: (ms: number, fn: () => void) => {
      timers.push(ms)
      return clock.timer(ms > longest ? 1 : ms, fn)
    },
  }
  await createScheduleBook(world).add({
    agentId: 'a',
    message: 'X',
    when: { type: 'at', at: iso(begin + 100 * day) },
  })
  await run({ ...world, clock: short }, { wake: agent.wake, pollMs: 365 * day, leaseMs: day }).start()
  await clock.advance(100 * day - 1)
  expect(agent.calls).toEqual([])
  await clock.advance(1)
  expect(agent.times()).toEqual([iso(begin + 100 * day)])
  expect(Math.max(...timers)).toBeLessThanOrEqual(longest)
})

test('a schedule that is changed during its wake-up fires once, and then by its new times', async () => {
  const clock = fakeClock(begin)
  const world = { clock, store: createMemoryStore({ clock }) }
  const book = createScheduleBook(world)
  await book.add({ id: 'x', agentId: 'a', message: 'X', when: every(3600), maxRuns: 3 })
  const told: string[] = []
  const wake = async ({ clientKey, message }: WakeCall): Promise<void> => {
    told.push(`${message} ${(Number(clientKey.split(':')[2]) - begin) / minute}`)
    if (told.length === 1) await book.update('x', { when: every(1800), message: 'Y' })
  }
  await run(world, { wake, ...easy }).start()
  await clock.advance(10 * hour)
  expect(told).toEqual(['X 60', 'Y 90', 'Y 120'])
  expect(await book.list()).toMatchObject([{ runs: 3 }])
})

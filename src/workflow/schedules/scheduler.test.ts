import { describe, expect, test } from 'vitest'
import { agents, alert, begin, hour, iso, minute, run, type World } from '../../../test/workflow/scheduler-kit.ts'
import type { SessionStore } from '../../core/store.ts'
import { alarmIdOf } from '../../plugins/schedule.ts'
import { createMemoryStore } from '../../sessions/memory-store.ts'
import { createSession } from '../../sessions/session.ts'
import { type FakeClock, fakeClock } from '../../testing/fake-clock.ts'
import { createScheduleBook } from './schedule-book.ts'
import { schedulesLogId } from './schedule-ledger.ts'
import type { Wake } from './schedule-owner.ts'
import { createScheduler } from './scheduler.ts'

function memoryWorld(): World {
  const clock = fakeClock(begin)
  return { clock, store: createMemoryStore({ clock }) }
}

const alarm = (agentId: string, at: number, more = {}) => ({
  id: alarmIdOf(agentId),
  agentId,
  kind: 'alarm' as const,
  message: '[Alarm Clock] Water the plants',
  deleteAfterRun: true,
  when: { type: 'at' as const, at: iso(at) },
  ...more,
})

describe('an alarm', () => {
  test('D031 wakes its agent once with its message, and is gone', async () => {
    const world = memoryWorld()
    const agent = agents(world.clock)
    const book = createScheduleBook(world)
    await run(world, { wake: agent.wake }).start()
    await book.add(alarm('a', begin + hour))
    await world.clock.advance(hour - 1)
    expect(agent.heard).toEqual([])
    await world.clock.advance(1)
    expect(agent.heard).toMatchObject([{ agentId: 'a', message: '[Alarm Clock] Water the plants', at: begin + hour }])
    await world.clock.advance(24 * hour)
    expect(agent.calls).toHaveLength(1)
    expect(await book.list()).toEqual([])
  })

  test('D031 repeats, also over a restart of the scheduler', async () => {
    const world = memoryWorld()
    const agent = agents(world.clock)
    const when = { type: 'at' as const, at: iso(begin + hour), repeatEveryMinutes: 20 }
    await createScheduleBook(world).add(alarm('a', begin + hour, { deleteAfterRun: false, when }))
    const one = run(world, { wake: agent.wake })
    await one.start()
    await world.clock.advance(1.5 * hour)
    await one.stop()
    await run(world, { wake: agent.wake }).start()
    await world.clock.advance(0.5 * hour)
    expect(agent.times()).toEqual([60, 80, 100, 120].map((minutes) => iso(begin + minutes * minute)))
  })

  test('D031 survives a restart, and one that was missed fires at the start, once', async () => {
    const world = memoryWorld()
    const agent = agents(world.clock)
    const one = run(world, { wake: agent.wake })
    await one.start()
    await createScheduleBook(world).add(alarm('a', begin + hour))
    await createScheduleBook(world).add(alarm('b', begin + 100 * hour))
    await one.stop()
    await world.clock.advance(50 * hour)
    expect(agent.heard).toEqual([])
    await run(world, { wake: agent.wake }).start()
    await world.clock.advance(0)
    expect(agent.heard).toMatchObject([
      { agentId: 'a', at: begin + 50 * hour, key: `schedule:alarm:a:${begin + hour}` },
    ])
    await world.clock.advance(60 * hour)
    expect(agent.heard).toHaveLength(2)
    expect(agent.heard[1]).toMatchObject({ agentId: 'b', at: begin + 100 * hour })
  })

  test('D031 is one per agent: another replaces it', async () => {
    const world = memoryWorld()
    const agent = agents(world.clock)
    const book = createScheduleBook(world)
    await run(world, { wake: agent.wake }).start()
    await book.add(alarm('a', begin + hour))
    await book.add(alarm('a', begin + 2 * hour))
    expect(await book.list('a')).toHaveLength(1)
    await world.clock.advance(5 * hour)
    expect(agent.times()).toEqual([iso(begin + 2 * hour)])
  })
})

describe('what changes while it runs', () => {
  test('counts at once: an earlier time, a pause, a removal', async () => {
    const world = memoryWorld()
    const { clock } = world
    const agent = agents(clock)
    const book = createScheduleBook(world)
    await run(world, { wake: agent.wake }).start()
    await book.add({ id: 'x', agentId: 'a', message: 'X', when: { type: 'at', at: iso(begin + 9 * hour) } })
    await clock.advance(hour)
    await book.update('x', { when: { type: 'at', at: iso(begin + 2 * hour), repeatEveryMinutes: 60 } })
    await clock.advance(hour)
    expect(agent.times()).toEqual([iso(begin + 2 * hour)])
    await book.update('x', { enabled: false })
    await clock.advance(2.5 * hour)
    await book.update('x', { enabled: true })
    await clock.advance(hour)
    expect(agent.times().slice(1)).toEqual([iso(begin + 5 * hour)])
    expect(await book.remove('x')).toBe(true)
    await clock.advance(5 * hour)
    expect(agent.heard).toHaveLength(2)
  })

  test('maxRuns ends a schedule without removing it', async () => {
    const world = memoryWorld()
    const agent = agents(world.clock)
    const book = createScheduleBook(world)
    await run(world, { wake: agent.wake }).start()
    await book.add({ agentId: 'a', message: 'X', when: { type: 'interval', everySeconds: 60 }, maxRuns: 3 })
    await world.clock.advance(hour)
    expect(agent.heard).toHaveLength(3)
    const [left] = await book.list()
    expect(left).toMatchObject({ runs: 3 })
    expect(left).not.toHaveProperty('nextRunAt')
  })

  test('a schedule that is replaced during its wake-up starts again', async () => {
    const world = memoryWorld()
    const book = createScheduleBook(world)
    const every = (everySeconds: number) => ({
      id: 'x',
      agentId: 'a',
      message: 'X',
      when: { type: 'interval' as const, everySeconds },
    })
    await book.add(every(60))
    await run(world, { wake: async () => void (await book.add(every(7200))) }).start()
    await world.clock.advance(minute)
    expect(await book.list()).toMatchObject([{ runs: 0, nextRunAt: begin + minute + 2 * hour }])
  })

  test('the schedule of a closed agent is removed', async () => {
    const world = memoryWorld()
    const book = createScheduleBook(world)
    let calls = 0
    const wake: Wake = () => {
      calls++
      return 'closed'
    }
    await run(world, { wake }).start()
    await book.add({ agentId: 'gone', message: 'X', when: { type: 'interval', everySeconds: 60 } })
    await world.clock.advance(hour)
    expect(calls).toBe(1)
    expect(await book.list()).toEqual([])
  })

  test('a time beyond the longest timer is waited for all the same', async () => {
    const world = memoryWorld()
    const agent = agents(world.clock)
    const far = begin + 60 * 24 * hour
    const waits: number[] = []
    const clock: FakeClock = {
      ...world.clock,
      timer(ms, fn) {
        waits.push(ms)
        return world.clock.timer(ms, fn)
      },
    }
    await createScheduleBook(world).add(alarm('a', far))
    await run({ ...world, clock }, { wake: agent.wake, pollMs: 1e12, leaseMs: 86_400_000 }).start()
    await world.clock.advance(60 * 24 * hour)
    expect(agent.times()).toEqual([iso(far)])
    expect(Math.max(...waits)).toBe(2 ** 31 - 1)
  })
})

/** A watch that shows nothing. */
async function* silence(_: string, { signal }: { readonly signal: AbortSignal }): AsyncGenerator<never> {
  await new Promise((done) => signal.addEventListener('abort', done))
}

describe('what goes wrong', () => {
  test('a schedule whose times change during retries is not retried for the old time', async () => {
    const world = memoryWorld()
    const { clock } = world
    const book = createScheduleBook(world)
    const tried: number[] = []
    const failing: (() => void)[] = []
    const wake: Wake = ({ dueAt }) => {
      tried.push((dueAt - begin) / hour)
      return new Promise((_, reject) => failing.push(() => reject(new Error('not now'))))
    }
    const fail = async (): Promise<void> => {
      for (const one of failing.splice(0)) one()
      await clock.advance(0)
    }
    await book.add({ id: 'x', agentId: 'a', message: 'X', when: { type: 'interval', everySeconds: 3600 } })
    await run(world, { wake, onError: () => {} }).start()
    await clock.advance(hour)
    await fail()
    await book.update('x', { when: { type: 'interval', everySeconds: 7200 } }) // between two tries
    await clock.advance(hour)
    expect(tried).toEqual([1, 2])
    await book.update('x', { when: { type: 'interval', everySeconds: 6 * 3600 } }) // while one is under way
    await clock.advance(0)
    await fail()
    await clock.advance(hour)
    expect(tried).toEqual([1, 2])
  })

  test('a wake-up that is under way at the stop is still logged', async () => {
    const world = memoryWorld()
    const book = createScheduleBook(world)
    let finish: (() => void) | undefined
    const wake: Wake = () =>
      new Promise((done) => {
        finish = done
      })
    await book.add({ agentId: 'a', message: 'X', when: { type: 'interval', everySeconds: 60 } })
    const scheduler = run(world, { wake })
    await scheduler.start()
    await world.clock.advance(minute)
    const stopping = scheduler.stop()
    await world.clock.advance(1000)
    finish!()
    await stopping
    expect(await book.list()).toMatchObject([{ runs: 1, lastRunAt: begin + minute }])
    expect(world.clock.pending).toBe(0)
  })

  test('a wake-up that fails is retried, later and later, and does not delay others', async () => {
    const world = memoryWorld()
    const { clock } = world
    const agent = agents(clock)
    const tries: number[] = []
    const reported: unknown[] = []
    const book = createScheduleBook(world)
    await book.add({ id: 'bad', agentId: 'a', message: 'bad', when: { type: 'interval', everySeconds: 3600 } })
    await book.add({ id: 'good', agentId: 'b', message: 'good', when: { type: 'interval', everySeconds: 3600 } })
    const wake: Wake = async (call) => {
      if (call.scheduleId === 'bad') {
        tries.push(clock.now() - call.dueAt)
        if (tries.length < 5) throw new Error('no room on the disk')
      }
      await agent.wake(call)
    }
    await run(world, { wake, onError: (error, { scheduleId }) => reported.push([scheduleId, String(error)]) }).start()
    await clock.advance(1.5 * hour)
    expect(tries).toEqual([0, 1000, 3000, 7000, 15_000])
    expect(reported).toEqual(Array(4).fill(['bad', 'Error: no room on the disk']))
    expect(agent.heard).toMatchObject([
      { message: 'good', at: begin + hour },
      { message: 'bad', at: begin + hour + 15_000, key: `schedule:bad:${begin + hour}` },
    ])
    expect(await book.list()).toMatchObject([{ runs: 1 }, { runs: 1 }])
  })

  test('a wake-up that never ends does not delay others', async () => {
    const world = memoryWorld()
    const agent = agents(world.clock)
    const book = createScheduleBook(world)
    for (const id of ['stuck', 'free'])
      await book.add({ id, agentId: id, message: id, when: { type: 'interval', everySeconds: 60 } })
    const wake: Wake = (call) => (call.agentId === 'stuck' ? new Promise(() => {}) : agent.wake(call))
    const scheduler = run(world, { wake })
    await scheduler.start()
    await world.clock.advance(3 * minute)
    expect(agent.heard).toHaveLength(3)
    const stopping = scheduler.stop()
    await world.clock.advance(5000)
    await stopping
  })

  test('a scheduler that loses the lease fires nothing any more', async () => {
    const world = memoryWorld()
    const { clock, store } = world
    const agent = agents(clock)
    await createScheduleBook(world).add({ agentId: 'a', message: 'X', when: { type: 'interval', everySeconds: 60 } })
    const scheduler = run(world, { wake: agent.wake, ...alert })
    await scheduler.start()
    await clock.advance(minute)
    const thief = { owner: 'thief', ttlMs: 10 * minute, takeOver: true }
    const { epoch } = await store.lease(schedulesLogId, thief)
    await clock.advance(20_000)
    expect(scheduler.isOwner).toBe(false)
    await clock.advance(3 * minute)
    expect(agent.heard).toHaveLength(1)
    await store.lease(schedulesLogId, { owner: 'thief', ttlMs: 0, epoch })
    await clock.advance(minute)
    expect(scheduler.isOwner).toBe(true)
    expect(agent.calls.map(({ dueAt }) => (dueAt - begin) / minute)).toEqual([1, 4, 5])
  })

  test('a scheduler that slept past the end of its lease notices before it fires', async () => {
    const world = memoryWorld()
    const { clock, store } = world
    const agent = agents(clock)
    const asleep: (() => void)[] = []
    let isAsleep = false
    const sleepy: FakeClock = {
      ...clock,
      timer: (ms, fn) => clock.timer(ms, () => (isAsleep ? asleep.push(fn) : fn())),
    }
    const book = createScheduleBook(world)
    await book.add({ id: 'x', agentId: 'a', message: 'X', when: { type: 'at', at: iso(begin + 5 * minute) } })
    // What others send does not reach it either.
    const deaf = new Proxy(store, {
      get: (target, name) => (name === 'watch' ? silence : target[name as keyof SessionStore]),
    })
    const one = run({ clock: sleepy, store: deaf }, { wake: agent.wake, ...alert })
    await one.start()
    isAsleep = true
    const two = run(world, { wake: agent.wake, ...alert })
    await two.start()
    await clock.advance(minute)
    expect(two.isOwner).toBe(true)
    await book.remove('x')
    await clock.advance(6 * minute)
    isAsleep = false
    for (const fn of asleep.splice(0).reverse()) fn()
    await clock.advance(minute)
    expect(agent.calls).toEqual([])
    expect(one.isOwner).toBe(false)
  })

  test('a store that fails for a while only delays wake-ups', async () => {
    const world = memoryWorld()
    const agent = agents(world.clock)
    let isDown = false
    const store = new Proxy(world.store, {
      get(target, name) {
        const method = target[name as keyof SessionStore] as unknown
        if (typeof method !== 'function' || name !== 'append') return method
        return (...args: unknown[]) =>
          isDown ? Promise.reject(new Error('the disk is full')) : method.apply(target, args)
      },
    })
    const reported: string[] = []
    await createScheduleBook(world).add({ agentId: 'a', message: 'X', when: { type: 'interval', everySeconds: 60 } })
    await run(
      { ...world, store },
      { wake: agent.wake, ...alert, onError: (error) => reported.push(String(error)) },
    ).start()
    await world.clock.advance(minute)
    isDown = true
    await world.clock.advance(minute)
    expect(reported).toContain('Error: the disk is full')
    await world.clock.advance(40_000)
    isDown = false
    await world.clock.advance(2 * minute)
    expect(agent.heard.map(({ key }) => key.split(':').at(-1))).toEqual(
      [1, 2, 3, 4].map((k) => String(begin + k * minute)),
    )
    expect(await createScheduleBook(world).list()).toMatchObject([{ runs: 4 }])
  })

  test('log entries that are no schedules are ignored', async () => {
    const world = memoryWorld()
    const agent = agents(world.clock)
    const reported: unknown[] = []
    await (await createSession({ store: world.store, id: schedulesLogId })).save()
    for (const [i, text] of [
      'nonsense',
      '{"op":"add"}',
      '{"op":"add","schedule":{"id":"x","when":{}}}',
      '[]',
    ].entries())
      await world.store.send(schedulesLogId, {
        clientKey: `bad${i}`,
        mode: 'prompt',
        content: [{ type: 'text', text }],
      })
    const odd = { id: 'odd', agentId: 'a', message: 'm', createdAt: begin, when: { type: 'never' } }
    await world.store.send(schedulesLogId, {
      clientKey: 'odd',
      mode: 'answer',
      content: [{ type: 'text', text: JSON.stringify({ op: 'add', schedule: odd }) }],
    })
    await createScheduleBook(world).add(alarm('a', begin + hour))
    await run(world, { wake: agent.wake, onError: (error) => reported.push(error) }).start()
    await world.clock.advance(2 * hour)
    expect(agent.heard).toHaveLength(1)
  })

  test('it can be started and stopped twice, and leaves no timer behind', async () => {
    const world = memoryWorld()
    const agent = agents(world.clock)
    const scheduler = run(world, { wake: agent.wake })
    await createScheduleBook(world).add(alarm('a', begin + hour))
    await Promise.all([scheduler.start(), scheduler.start()])
    await scheduler.stop()
    await scheduler.stop()
    expect(world.clock.pending).toBe(0)
    await scheduler.start()
    expect(scheduler.isOwner).toBe(true)
    await world.clock.advance(hour)
    expect(agent.heard).toHaveLength(1)
    await scheduler.stop()
    expect(scheduler.isOwner).toBe(false)
    expect(world.clock.pending).toBe(0)
  })

  test('invalid options are refused with the correct form', () => {
    const { store } = memoryWorld()
    const wake: Wake = () => {}
    expect(() => createScheduler({ store: undefined as never, wake })).toThrow('needs a store')
    expect(() => createScheduler({ store, wake: 1 as never })).toThrow('a function "wake"')
    expect(() => createScheduler({ store, wake, pollMs: 0 })).toThrow('"pollMs"')
    expect(() => createScheduler({ store, wake, leaseMs: Number.NaN })).toThrow('"leaseMs"')
    expect(() => createScheduler({ store, wake, graceMs: -1 })).toThrow('"graceMs"')
  })
})

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import {
  agents,
  alert,
  begin,
  hour,
  iso,
  minute,
  mortal,
  run,
  type World,
} from '../../../test/workflow/scheduler-kit.ts'
import type { SessionStore } from '../../core/store.ts'
import { createMemoryStore } from '../../sessions/memory-store.ts'
import { createSqliteStore } from '../../sessions/sqlite-store.ts'
import { fakeClock } from '../../testing/fake-clock.ts'
import { createScheduleBook } from './schedule-book.ts'
import type { Wake } from './schedule-owner.ts'
import { createScheduler, type Scheduler, type SchedulerOptions } from './scheduler.ts'

/** Without those that died, which cannot be stopped. */
function process(world: World) {
  const { kill, ...seen } = mortal(world)
  return {
    run: (options: Partial<SchedulerOptions> & { readonly wake: Wake }): Scheduler =>
      createScheduler({ ...seen, ...alert, ...options }),
    kill,
  }
}

function sqliteFile(): string {
  const folder = mkdtempSync(join(tmpdir(), 'libero-schedules-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  return join(folder, 'sessions.db')
}

/** Each gives a world, and another process' look at the same store. */
const worlds: Record<string, (pollMs: number) => World & { readonly again: () => SessionStore }> = {
  memory() {
    const clock = fakeClock(begin)
    const store = createMemoryStore({ clock })
    return { clock, store, again: () => store }
  },
  SQLite(pollMs) {
    const clock = fakeClock(begin)
    const path = sqliteFile()
    const again = (): SessionStore => {
      const store = createSqliteStore({ path, clock, pollMs })
      onTestFinished(() => store.close())
      return store
    }
    return { clock, store: again(), again }
  },
}

describe.each(Object.entries(worlds))('over a store of %s', (_, makeWorld) => {
  test('D045 an interval, a time and cron fire when they are due, at their own times', async () => {
    const world = makeWorld(24 * hour)
    const { clock } = world
    const { wake, heard } = agents(clock)
    const book = createScheduleBook(world)
    await book.add({ id: 'i', agentId: 'a', message: 'interval', when: { type: 'interval', everySeconds: 5400 } })
    const hours = { from: '23:00', to: '01:00', timeZone: 'UTC' }
    await book.add({
      id: 'n',
      agentId: 'b',
      message: 'night',
      when: { type: 'interval', everySeconds: 3600 },
      activeHours: hours,
    })
    const scheduler = run(world, { wake })
    await scheduler.start()
    await book.add({ id: 'o', agentId: 'a', message: 'once', when: { type: 'at', at: '2026-01-05T16:00:00+01:00' } })
    await book.add({
      id: 'c',
      agentId: 'b',
      message: 'cron',
      when: { type: 'cron', expression: '30 6 * * *', timeZone: 'America/New_York' },
    })
    await clock.advance(5 * hour)
    await clock.advance(19 * hour)
    const of = (message: string) => heard.filter((one) => one.message === message).map(({ at }) => iso(at))
    expect(of('interval')).toEqual(Array.from({ length: 16 }, (_, k) => iso(begin + (k + 1) * 1.5 * hour)))
    expect(of('once')).toEqual(['2026-01-05T15:00:00.000Z'])
    expect(of('cron')).toEqual(['2026-01-06T11:30:00.000Z'])
    expect(of('night')).toEqual(['2026-01-05T23:00:00.000Z', '2026-01-06T00:00:00.000Z'])
    expect((await book.list('a')).find(({ id }) => id === 'i')).toMatchObject({
      runs: 16,
      lastRunAt: begin + 24 * hour,
      nextRunAt: begin + 25.5 * hour,
    })
  })

  test('of two schedulers one fires, and the other takes over when it ends', async () => {
    const world = makeWorld(10_000)
    const { clock } = world
    const first = agents(clock)
    const second = agents(clock)
    const book = createScheduleBook({ clock, store: world.again() })
    await book.add({ agentId: 'a', message: 'Go on', when: { type: 'interval', everySeconds: 60 } })
    const one = run(world, { wake: first.wake, ...alert })
    const two = run({ clock, store: world.again() }, { wake: second.wake, ...alert })
    await Promise.all([one.start(), two.start()])
    expect([one.isOwner, two.isOwner].filter(Boolean)).toHaveLength(1)
    await clock.advance(5.5 * minute)
    expect(first.heard.length + second.heard.length).toBe(5)
    const [owner, other] = one.isOwner ? [one, two] : [two, one]
    await owner.stop()
    await clock.advance(5 * minute)
    expect(other.isOwner).toBe(true)
    expect([...first.times(), ...second.times()].sort()).toEqual(
      Array.from({ length: 10 }, (_, k) => iso(begin + (k + 1) * minute)),
    )
  })

  test('another scheduler follows an owner that dies when the lease expires, and nothing is fired twice or lost', async () => {
    const world = makeWorld(10_000)
    const { clock } = world
    const agent = agents(clock)
    const book = createScheduleBook(world)
    await book.add({ agentId: 'a', message: 'Go on', when: { type: 'interval', everySeconds: 60 } })
    const doomed = process(world)
    const one = doomed.run({ wake: agent.wake })
    const two = run({ clock, store: world.again() }, { wake: agent.wake, ...alert })
    await one.start()
    await two.start()
    await clock.advance(2 * minute + 55_000)
    doomed.kill()
    await clock.advance(2 * minute + 5000)
    expect(two.isOwner).toBe(true)
    expect(agent.calls.map(({ dueAt }) => iso(dueAt))).toEqual([1, 2, 3, 4, 5].map((k) => iso(begin + k * minute)))
    expect(agent.heard[2]!.at).toBeGreaterThan(begin + 3 * minute) // late, but not lost
  })

  test('a crash after a wake-up, and before its run was logged, sends it again under the same key', async () => {
    const world = makeWorld(10_000)
    const { clock } = world
    const agent = agents(clock)
    const doomed = process(world)
    const book = createScheduleBook(world)
    await book.add({ id: 'o', agentId: 'a', message: 'Once', when: { type: 'at', at: iso(begin + 2 * minute) } })
    const one = doomed.run({
      wake: async (call) => {
        await agent.wake(call)
        doomed.kill()
      },
    })
    await one.start()
    await clock.advance(3 * minute)
    expect(agent.calls).toHaveLength(1)
    expect((await book.list())[0]).toMatchObject({ runs: 0 })
    const two = run({ clock, store: world.again() }, { wake: agent.wake, ...alert })
    await two.start()
    await clock.advance(minute)
    expect(agent.calls.map(({ clientKey }) => clientKey)).toEqual(Array(2).fill(`schedule:o:${begin + 2 * minute}`))
    expect(agent.heard).toHaveLength(1)
    expect((await book.list())[0]).toMatchObject({ runs: 1, lastRunAt: begin + 2 * minute })
    await clock.advance(5 * minute)
    expect(agent.calls).toHaveLength(2)
  })
})

import { expect, test } from 'vitest'
import { rounds } from '../../../test/soak.ts'
import { mortal } from '../../../test/workflow/scheduler-kit.ts'
import type { SessionStore } from '../../core/store.ts'
import type { ActiveHours, NewSchedule, Schedule } from '../../plugins/schedule.ts'
import { createMemoryStore } from '../../sessions/memory-store.ts'
import { type FakeClock, fakeClock } from '../../testing/fake-clock.ts'
import { createScheduleBook } from './schedule-book.ts'
import { schedulesLogId } from './schedule-ledger.ts'
import type { Wake } from './schedule-owner.ts'
import { createScheduler } from './scheduler.ts'

const minute = 60_000
const hour = 60 * minute
const day = 24 * hour
/** Clocks in Berlin are put back in the night to the 25th. */
const days = rounds(2, 7)
const begin = Date.parse(days < 7 ? '2026-10-24T00:00:00Z' : '2026-10-22T00:00:00Z')
const end = begin + days * day

test(`D045 a hundred agents in ${days} days with a restart in every hour: nothing is missing, nothing comes twice, nothing drifts`, async () => {
  const clock = fakeClock(begin)
  const store = createMemoryStore({ clock })
  const book = createScheduleBook({ store, clock })
  const made: Schedule[] = []
  for (let i = 0; i < 100; i++) {
    made.push(await book.add(mixed(i)))
    await clock.advance(137)
  }
  /** Each key, and when it was told first. */
  const heard = new Map<string, number>()
  const again: string[] = []
  const crashes = new Set<number>()
  const late: number[] = []
  let beforeNoted: (() => void) | undefined
  const wake: Wake = ({ clientKey, dueAt }) => {
    if (heard.has(clientKey)) again.push(clientKey)
    else {
      heard.set(clientKey, clock.now())
      late.push(clock.now() - dueAt)
    }
    if (!beforeNoted) return
    crashes.add(clock.now())
    beforeNoted()
    beforeNoted = undefined
  }
  let process = startProcess(store, clock, wake)

  await process.scheduler.start()
  for (let k = 0; clock.now() < end; k++) {
    const nextHour = begin + (k + 1) * hour
    const until = (at: number): Promise<void> => clock.advance(at - clock.now())
    if (k % 4 === 0) {
      await until(nextHour)
      await process.scheduler.stop()
    } else if (k % 4 === 1) {
      await until(nextHour - 1)
      await process.kill()
      await until(nextHour)
    } else if (k % 4 === 2) {
      await until(nextHour - 15_000)
      await process.kill()
      await until(nextHour + 15_000) // a process has to notice first
    } else {
      await until(nextHour - 10 * minute)
      const doomed = process
      let isDead = false
      beforeNoted = () => {
        isDead = true
        doomed.die()
      }
      while (!isDead && clock.now() < nextHour) await clock.advance(Math.min(20_000, nextHour - clock.now()))
      beforeNoted = undefined
      await process.kill()
    }
    process = startProcess(store, clock, wake)
    await process.scheduler.start()
  }
  await clock.advance(0)
  await process.scheduler.stop()

  const expected = made.flatMap((one) => timesOf(one, clock.now()).map((at) => `schedule:${one.id}:${at}`))
  expect(expected.length).toBeGreaterThan(1000 * days)
  expect([...heard.keys()].filter((key) => !expected.includes(key))).toEqual([])
  const missing = new Set(expected)
  for (const key of heard.keys()) missing.delete(key)
  expect([...missing]).toEqual([])
  expect(crashes.size).toBeGreaterThan(3 * days)
  // Only what was told in the moment of a crash, and not noted any more, is told again under its key.
  expect(again.filter((key) => !crashes.has(heard.get(key)!))).toEqual([])
  expect(Math.max(...late)).toBeLessThanOrEqual(30_000)
  for (const { id, runs, lastRunAt } of await book.list()) {
    const own = expected.filter((key) => key.startsWith(`schedule:${id}:`))
    expect([id, runs, lastRunAt]).toEqual([
      id,
      own.length,
      own.length > 0 ? Number(own.at(-1)!.split(':').at(-1)) : undefined,
    ])
  }
}, 120_000)

/** A scheduler that can die at any moment, as a process does: it says nothing more, and its lease is free. */
function startProcess(store: SessionStore, clock: FakeClock, wake: Wake) {
  const { kill: die, ...seen } = mortal({ store, clock })
  return {
    scheduler: createScheduler({ ...seen, wake, pollMs: day, leaseMs: day }),
    die,
    async kill() {
      die()
      const owner = 'undertaker'
      const { epoch } = await store.lease(schedulesLogId, { owner, ttlMs: 1, takeOver: true, create: true })
      await store.lease(schedulesLogId, { owner, ttlMs: 0, epoch })
    },
  }
}

/** What the schedule of one agent is like; all kinds, with all that may be said about them. */
function mixed(i: number): NewSchedule {
  const common = { id: `s${i}`, agentId: `agent-${i}`, message: `Message ${i}` }
  const iso = (at: number): string => new Date(at).toISOString()
  const night: ActiveHours = { from: '22:30', to: '04:15', timeZone: 'Europe/Berlin' }
  const office: ActiveHours = { from: '09:00', to: '17:30', timeZone: 'America/New_York' }
  const everySeconds = (20 + ((i * 37) % 220)) * 60 + i
  const repeatEveryMinutes = 30 + i * 3
  switch (i % 10) {
    case 0:
      return { ...common, when: { type: 'interval', everySeconds } }
    case 1:
      return { ...common, when: { type: 'interval', everySeconds }, activeHours: night }
    case 2:
      return { ...common, when: { type: 'interval', everySeconds }, maxRuns: 1 + (i % 7) }
    case 3:
      return { ...common, when: { type: 'at', at: iso(begin + (i + 1) * 1.6 * hour) } }
    case 4:
      return { ...common, when: { type: 'at', at: iso(begin + i * hour), repeatEveryMinutes }, activeHours: office }
    case 5:
      return { ...common, when: { type: 'cron', expression: '*/30 * * * *', timeZone: 'Europe/Berlin' } }
    case 6:
      return { ...common, when: { type: 'cron', expression: `${i % 60} 5,9,18 * * 1-5`, timeZone: 'Europe/Berlin' } }
    case 7:
      return {
        ...common,
        when: { type: 'cron', expression: '0 * * * *', timeZone: 'Asia/Kolkata' },
        activeHours: night,
      }
    case 8:
      return { ...common, when: { type: 'interval', everySeconds: 3600 } }
    default:
      return { ...common, when: { type: 'at', at: iso(begin + i * hour) }, deleteAfterRun: true }
  }
}

/** The same said in another way: every second, or every minute, is asked whether it is one. */
function timesOf(
  { when, createdAt, activeHours, maxRuns = Number.POSITIVE_INFINITY }: Schedule,
  until: number,
): number[] {
  const found: number[] = []
  if (when.type === 'interval')
    for (let at = createdAt + when.everySeconds * 1000; at <= until; at += when.everySeconds * 1000) found.push(at)
  else if (when.type === 'at') {
    const step = when.repeatEveryMinutes === undefined ? Number.POSITIVE_INFINITY : when.repeatEveryMinutes * minute
    for (let at = Date.parse(when.at); at <= until; at += step) found.push(at)
  } else
    for (let at = begin + minute; at <= until; at += minute)
      if (matches(when.expression, at, when.timeZone!)) found.push(at)
  return found.filter((at) => !activeHours || isWithin(at, activeHours)).slice(0, maxRuns)
}

function matches(expression: string, at: number, timeZone: string): boolean {
  const [minutes, hours, , , weekdays] = expression.split(' ') as [string, string, string, string, string]
  const wall = wallOf(at, timeZone)
  const isMinute = minutes === '*/30' ? wall.minute % 30 === 0 : Number(minutes) === wall.minute
  const isHour = hours === '*' || hours.split(',').map(Number).includes(wall.hour)
  return isMinute && isHour && (weekdays === '*' || !['Sat', 'Sun'].includes(wall.weekday))
}

function isWithin(at: number, { from, to, timeZone }: ActiveHours): boolean {
  const { hour, minute } = wallOf(at, timeZone!)
  const time = `${String(hour).padStart(2, '0')}:${String(minute).padStart(2, '0')}`
  return from < to ? from <= time && time < to : from <= time || time < to
}

const formats = new Map<string, Intl.DateTimeFormat>()

function wallOf(at: number, timeZone: string): { hour: number; minute: number; weekday: string } {
  let format = formats.get(timeZone)
  if (!format) {
    format = new Intl.DateTimeFormat('en-GB', { timeZone, weekday: 'short', hour: '2-digit', minute: '2-digit' })
    formats.set(timeZone, format)
  }
  const parts = Object.fromEntries(format.formatToParts(at).map(({ type, value }) => [type, value]))
  return { hour: Number(parts.hour), minute: Number(parts.minute), weekday: parts.weekday! }
}

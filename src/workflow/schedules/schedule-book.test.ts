import { describe, expect, test } from 'vitest'
import type { NewSchedule, ScheduleBook, ScheduleChange } from '../../plugins/schedule.ts'
import { createMemoryStore } from '../../sessions/memory-store.ts'
import { fakeClock } from '../../testing/fake-clock.ts'
import { createScheduleBook, removeSchedulesOf } from './schedule-book.ts'
import { schedulesLogId } from './schedule-ledger.ts'
import { createScheduler } from './scheduler.ts'

const begin = Date.parse('2026-01-05T12:00:00Z')
const hour = 3_600_000

function world() {
  const clock = fakeClock(begin)
  const store = createMemoryStore({ clock })
  const again = (): ScheduleBook => createScheduleBook({ store, clock })
  return { clock, store, book: again(), again }
}

const hourly = { agentId: 'a', message: 'Go on', when: { type: 'interval', everySeconds: 3600 } } as const

describe('a book', () => {
  test('is empty at first, and does not wait for anything to be in it', async () => {
    const { book } = world()
    expect(await book.list()).toEqual([])
    expect(await book.list()).toEqual([])
  })

  test('sees the changes of another book, before and after a scheduler ran', async () => {
    const { book, again, clock, store } = world()
    const other = again()
    expect(await other.list()).toEqual([])
    const added = await book.add({ ...hourly, name: 'Hourly' })
    expect(added).toEqual({
      ...hourly,
      name: 'Hourly',
      id: added.id,
      createdAt: begin,
      runs: 0,
      nextRunAt: begin + hour,
    })
    expect(await other.list()).toEqual([added])
    const scheduler = createScheduler({ store, clock, wake: () => {}, pollMs: 24 * hour, leaseMs: 24 * hour })
    await scheduler.start()
    await book.add({ ...hourly, agentId: 'b' })
    await clock.advance(hour)
    expect(await other.list('a')).toEqual([{ ...added, runs: 1, lastRunAt: begin + hour, nextRunAt: begin + 2 * hour }])
    await scheduler.stop()
    await other.remove(added.id)
    expect((await book.list()).map(({ agentId }) => agentId)).toEqual(['b'])
    expect(await again().list()).toEqual(await book.list())
  })

  test('the inbox of the log does not grow with changes', async () => {
    const { book, clock, store } = world()
    const scheduler = createScheduler({ store, clock, wake: () => {}, pollMs: 24 * hour, leaseMs: 24 * hour })
    for (let i = 0; i < 5; i++) await book.add({ ...hourly, id: 'x' })
    await scheduler.start()
    const { loadSession } = await import('../../sessions/session.ts')
    const session = await loadSession(store, schedulesLogId)
    expect(session.log.transcript.inbox).toEqual([])
    expect(session.log.head).toBe(6)
    await scheduler.stop()
  })

  test('the same id replaces a schedule, which starts again', async () => {
    const { book, clock } = world()
    await book.add({ ...hourly, id: 'x', maxRuns: 3 })
    await clock.advance(1000)
    const replaced = await book.add({ ...hourly, id: 'x', message: 'Other' })
    expect(await book.list()).toEqual([replaced])
    expect(replaced).toEqual({
      ...hourly,
      id: 'x',
      message: 'Other',
      createdAt: begin + 1000,
      runs: 0,
      nextRunAt: begin + 1000 + hour,
    })
  })

  test('the same key changes nothing, however late it comes', async () => {
    const { book, again, clock } = world()
    const once: NewSchedule = { ...hourly, when: { type: 'at', at: '2026-01-05T12:30:00Z' } }
    const first = await book.add(once, { key: 'k' })
    expect(await again().add(once, { key: 'k' })).toEqual(first)
    await clock.advance(hour) // by now that time has passed
    expect(await again().add(once, { key: 'k' })).toMatchObject({ id: first.id })
    await book.update(first.id, { name: 'One' }, { key: 'k' })
    await book.update(first.id, { name: 'Two' }, { key: 'k2' })
    await again().update(first.id, { name: 'One' }, { key: 'k' })
    expect(await book.list()).toMatchObject([{ id: first.id, name: 'Two' }])
    expect(await book.remove(first.id, { key: 'k' })).toBe(true)
    expect(await again().remove(first.id, { key: 'k' })).toBe(true)
    expect(await book.remove(first.id)).toBe(false)
    expect(await again().add(once, { key: 'k' })).toMatchObject({ id: first.id, runs: 0 })
    expect(await book.list()).toEqual([])
  })

  test('a change sets fields, and null removes them', async () => {
    const { book } = world()
    const { id } = await book.add({ ...hourly, name: 'N', maxRuns: 3, activeHours: { from: '09:00', to: '10:00' } })
    const changed = await book.update(id, { name: null, activeHours: null, maxRuns: 5, enabled: false })
    expect(changed).toEqual({ ...hourly, id, createdAt: begin, maxRuns: 5, enabled: false, runs: 0 })
    expect(await book.list()).toEqual([changed])
    await expect(book.update(id, {})).rejects.toThrow('nothing is said')
    await expect(book.update(id, { agentId: 'b' } as ScheduleChange)).rejects.toThrow('no field "agentId"')
    await expect(book.update('other', { name: 'x' })).rejects.toThrow('There is no schedule "other"')
  })

  test('a single time that is over can be renamed, but neither switched on nor limited', async () => {
    const { book, clock } = world()
    const { id } = await book.add({ ...hourly, enabled: false, when: { type: 'at', at: '2026-01-05T12:30:00Z' } })
    await clock.advance(hour)
    expect(await book.update(id, { name: 'x' })).toMatchObject({ name: 'x' })
    await expect(book.update(id, { enabled: true })).rejects.toThrow(
      'lies in the past; it is now 2026-01-05T13:00:00.000Z',
    )
    const later = { type: 'at', at: '2026-01-05T14:00:00Z' } as const
    expect(await book.update(id, { enabled: true, when: later })).toMatchObject({ nextRunAt: begin + 2 * hour })
  })

  test('after the log was deleted, the book is empty', async () => {
    const { book, store, clock } = world()
    const scheduler = createScheduler({ store, clock, wake: () => {}, pollMs: 24 * hour, leaseMs: 24 * hour })
    await book.add(hourly)
    await book.add(hourly)
    await scheduler.start()
    await scheduler.stop()
    expect(await book.list()).toHaveLength(2)
    await store.delete(schedulesLogId)
    expect(await book.list()).toEqual([])
    const added = await book.add(hourly)
    expect(await book.list()).toEqual([added])
  })

  test('a change that moves from the inbox into the log during a read is found', async () => {
    const { book, store, clock } = world()
    const scheduler = createScheduler({ store, clock, wake: () => {}, pollMs: 24 * hour, leaseMs: 24 * hour })
    await book.add(hourly)
    // A store that looks at its log first and then at its inbox, between which a scheduler starts.
    const slow = new Proxy(store, {
      get(target, name) {
        if (name !== 'watch') return target[name as keyof typeof target]
        return async function* () {
          await scheduler.start()
          yield { entries: [], inbox: [] }
        }
      },
    })
    expect(await createScheduleBook({ store: slow, clock }).list()).toHaveLength(1)
    await scheduler.stop()
  })

  test('all schedules of an agent are removed with it', async () => {
    const { book } = world()
    for (const agentId of ['a', 'a', 'b']) await book.add({ ...hourly, agentId })
    expect(await removeSchedulesOf(book, 'a')).toBe(2)
    expect((await book.list()).map(({ agentId }) => agentId)).toEqual(['b'])
  })
})

describe('invalid schedules are refused, with the correct form', () => {
  const at = (at: unknown, more = {}) => ({ when: { type: 'at', at, ...more } })
  const cron = (expression: unknown, timeZone?: unknown) => ({ when: { type: 'cron', expression, timeZone } })
  const hours = (from: unknown, to: unknown, timeZone?: unknown) => ({ activeHours: { from, to, timeZone } })
  const cases: [what: string, fields: object, words: string | RegExp][] = [
    ['an empty message', { message: ' ' }, 'message must be a text'],
    ['an endless message', { message: 'x'.repeat(20_001) }, 'has 20001 characters; at most 20000'],
    ['no agent', { agentId: undefined }, 'agentId must be a text'],
    ['a name that is none', { name: 7 }, 'name must be a text, got 7'],
    ['no time', { when: undefined }, 'when must be an object'],
    ['a strange kind of time', { when: { type: 'soon' } }, 'interval, at or cron, got "soon"'],
    [
      'an interval under a minute',
      { when: { type: 'interval', everySeconds: 59 } },
      'from 60 (a minute) to ten years, got 59',
    ],
    ['an interval that is no number', { when: { type: 'interval', everySeconds: '60' } }, 'got "60"'],
    ['an endless interval', { when: { type: 'interval', everySeconds: Number.POSITIVE_INFINITY } }, 'got Infinity'],
    ['words for a time', at('tomorrow'), 'is not an ISO time; write it as in 2026-01-05T13:00:00.000Z'],
    ['a number for a time', at(5), 'is not an ISO time'],
    ['a day without a time', at('2026-02-01'), 'is not an ISO time'],
    [
      'a time without an offset',
      at('2026-02-01T09:00:00'),
      'add Z for UTC or an offset such as +01:00; it is now 2026-01-05T12:00',
    ],
    ['a day that does not exist', at('2026-02-30T09:00:00Z'), 'a time that does not exist'],
    ['an hour that does not exist', at('2026-02-01T24:30:00Z'), 'a time that does not exist'],
    ['a time in the past', at('2026-01-05T11:59:59Z'), 'lies in the past; it is now 2026-01-05T12:00:00.000Z'],
    ['a time in the past by its offset', at('2026-01-05T12:30:00+01:00'), 'lies in the past'],
    [
      'a repetition of nothing',
      at('2026-02-01T09:00:00Z', { repeatEveryMinutes: 0 }),
      'repeatEveryMinutes must be a whole number from 1',
    ],
    ['cron without fields', cron(''), 'must have five fields'],
    ['cron with words', cron('every day'), 'must have five fields'],
    ['cron with an ISO time', cron('2026-02-01T09:00:00'), 'must have five fields'],
    ['a minute that does not exist', cron('61 * * * *'), /cannot be read: .*minute: 61/],
    ['an endless expression', cron('1,'.repeat(400)), 'must have five fields'],
    ['cron that never matches', cron('0 0 30 2 *'), 'never matches'],
    ['cron every second', cron('* * * * * *'), 'would run 1 seconds after it ran'],
    ['cron every half minute', cron('*/30 0 1 1 * *'), 'would run 30 seconds after it ran'],
    [
      'a zone that is none',
      cron('0 9 * * *', 'Mars/Olympus'),
      'no time zone "Mars/Olympus"; name one as in "Europe/Berlin"',
    ],
    ['a limit of none', { maxRuns: 0 }, 'maxRuns must be a whole number of at least 1, got 0'],
    ['half a run', { maxRuns: 1.5 }, 'got 1.5'],
    ['a switch that is none', { enabled: 'yes' }, 'enabled must be true or false'],
    ['hours that are none', hours('9', '17:00'), 'activeHours.from must be a time as in "09:00" or "22:30", got "9"'],
    ['hours beyond the day', hours('09:00', '25:00'), 'activeHours.to must be'],
    ['hours without length', hours('09:00', '09:00'), 'either none or all'],
    ['hours round the clock', hours('00:00', '24:00'), 'either none or all'],
    ['hours in no zone', hours('09:00', '10:00', 'X'), 'no time zone "X"'],
    [
      'hours that it never meets',
      { when: { type: 'interval', everySeconds: 86_400 }, ...hours('09:00', '10:00', 'UTC') },
      'would never run',
    ],
    ['a field that is not there', { evrySeconds: 60 }, 'no field "evrySeconds"'],
    ['a strange kind', { kind: 'alarms' }, 'kind must be one of task, alarm, heartbeat'],
  ]

  test.each(cases)('%s', async (_, fields, words) => {
    const { book } = world()
    await expect(book.add({ ...hourly, ...fields } as NewSchedule)).rejects.toThrow(words)
    expect(await book.list()).toEqual([])
  })

  test('no object at all', async () => {
    await expect(world().book.add(null as never)).rejects.toThrow('a schedule is an object')
  })
})

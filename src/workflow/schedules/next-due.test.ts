import { describe, expect, test } from 'vitest'
import type { Schedule } from '../../plugins/schedule.ts'
import { loadCron } from './cron.ts'
import { nextDue, type Progress } from './next-due.ts'

const cron = await loadCron()
const at = (text: string): number => Date.parse(text)
const made = at('2026-01-01T00:00:07.000Z')
const hour = 3_600_000

function schedule(when: Schedule['when'], more: Partial<Schedule> = {}): Schedule {
  return { id: 's', agentId: 'a', message: 'Go on', createdAt: made, when, ...more }
}

/** The next times, as a scheduler that is never late would fire them. */
function times(one: Schedule, from: string, count: number): string[] {
  const found: string[] = []
  let progress: Progress = { runs: 0 }
  let now = at(from)
  for (let i = 0; i < count; i++) {
    const due = nextDue(one, progress, now, { cron })
    if (due === undefined) break
    found.push(new Date(due).toISOString())
    now = Math.max(now, due)
    progress = { runs: progress.runs + 1, lastRunAt: due }
  }
  return found
}

describe('intervals', () => {
  test('D045 an interval counts from its creation, however late its runs were', () => {
    const hourly = schedule({ type: 'interval', everySeconds: 3600 })
    expect(nextDue(hourly, { runs: 0 }, made)).toBe(made + hour)
    expect(nextDue(hourly, { runs: 1, lastRunAt: made + hour }, made + hour + 17_000)).toBe(made + 2 * hour)
    expect(nextDue(hourly, { runs: 9, lastRunAt: made + 9 * hour }, made + 9 * hour)).toBe(made + 10 * hour)
  })

  test('D045 missed times of an interval do not accumulate: it continues with its next regular time', () => {
    const hourly = schedule({ type: 'interval', everySeconds: 3600 })
    expect(nextDue(hourly, { runs: 1, lastRunAt: made + hour }, made + 7.5 * hour)).toBe(made + 8 * hour)
  })

  test('the latest time still counts for a minute, so that none is lost between two owners', () => {
    const hourly = schedule({ type: 'interval', everySeconds: 3600 })
    expect(nextDue(hourly, { runs: 0 }, made + hour + 60_000)).toBe(made + hour)
    expect(nextDue(hourly, { runs: 0 }, made + hour + 60_001)).toBe(made + 2 * hour)
    expect(nextDue(hourly, { runs: 0 }, made + hour + 5000, { graceMs: 4999 })).toBe(made + 2 * hour)
  })

  test('times before the last change of a schedule do not count', () => {
    const hourly = schedule({ type: 'interval', everySeconds: 3600 })
    expect(nextDue(hourly, { runs: 0, since: made + hour + 1 }, made + hour + 2)).toBe(made + 2 * hour)
  })
})

describe('a time', () => {
  const once = schedule({ type: 'at', at: '2026-01-02T09:00:00+01:00' })
  const planned = at('2026-01-02T08:00:00Z')

  test('D045 comes once, with its offset', () => {
    expect(times(once, '2026-01-01T00:00:10Z', 3)).toEqual(['2026-01-02T08:00:00.000Z'])
  })

  test('D045 that was missed runs once, however late', () => {
    const now = planned + 30 * 24 * hour
    expect(nextDue(once, { runs: 0 }, now)).toBe(planned)
    expect(nextDue(once, { runs: 1, lastRunAt: planned }, now)).toBeUndefined()
  })

  test('may repeat, from that time on', () => {
    const repeating = schedule({ type: 'at', at: '2026-01-02T08:00:00Z', repeatEveryMinutes: 90 })
    expect(times(repeating, '2026-01-01T00:00:10Z', 3)).toEqual([
      '2026-01-02T08:00:00.000Z',
      '2026-01-02T09:30:00.000Z',
      '2026-01-02T11:00:00.000Z',
    ])
    expect(nextDue(repeating, { runs: 0 }, planned + 100 * hour)).toBe(planned + 100.5 * hour)
  })
})

describe('cron', () => {
  test('D045 uses the local time of its zone when the clock is put forward', () => {
    const nine = schedule({ type: 'cron', expression: '0 9 * * *', timeZone: 'Europe/Berlin' })
    expect(times(nine, '2026-03-27T12:00:00Z', 3)).toEqual([
      '2026-03-28T08:00:00.000Z',
      '2026-03-29T07:00:00.000Z',
      '2026-03-30T07:00:00.000Z',
    ])
  })

  test('D045 runs once in a night with two half past twos, and in one without any when the missing hour is over', () => {
    const night = schedule({ type: 'cron', expression: '30 2 * * *', timeZone: 'Europe/Berlin' })
    expect(times(night, '2026-10-24T12:00:00Z', 2)).toEqual(['2026-10-25T00:30:00.000Z', '2026-10-26T01:30:00.000Z'])
    expect(times(night, '2026-03-28T12:00:00Z', 2)).toEqual(['2026-03-29T01:00:00.000Z', '2026-03-30T00:30:00.000Z'])
  })

  test('takes six fields, with seconds first', () => {
    const odd = schedule({ type: 'cron', expression: '17 */20 * * * *', timeZone: 'UTC' })
    expect(times(odd, '2026-01-05T10:00:00Z', 2)).toEqual(['2026-01-05T10:00:17.000Z', '2026-01-05T10:20:17.000Z'])
  })

  test('continues with its next regular time', () => {
    const nine = schedule({ type: 'cron', expression: '0 9 * * *', timeZone: 'UTC' })
    expect(nextDue(nine, { runs: 0 }, at('2026-01-09T09:30:00Z'), { cron })).toBe(at('2026-01-10T09:00:00Z'))
    expect(nextDue(nine, { runs: 0 }, at('2026-01-09T09:00:30Z'), { cron })).toBe(at('2026-01-09T09:00:00Z'))
  })

  test('names the package to install if it is missing', () => {
    expect(() => nextDue(schedule({ type: 'cron', expression: '0 9 * * *' }), { runs: 0 }, made)).toThrow(
      'npm install croner',
    )
  })
})

describe('active hours', () => {
  const night = { from: '22:00', to: '02:00', timeZone: 'Europe/Berlin' }

  test('D045 hours over midnight let the times of the evening and of the early morning through', () => {
    const hourly = schedule(
      { type: 'interval', everySeconds: 3600 },
      { activeHours: night, createdAt: at('2026-01-05T12:00:00Z') },
    )
    expect(times(hourly, '2026-01-05T12:00:00Z', 6)).toEqual([
      '2026-01-05T21:00:00.000Z',
      '2026-01-05T22:00:00.000Z',
      '2026-01-05T23:00:00.000Z',
      '2026-01-06T00:00:00.000Z',
      '2026-01-06T21:00:00.000Z',
      '2026-01-06T22:00:00.000Z',
    ])
  })

  test('D045 cron skips what lies outside of them', () => {
    const often = schedule(
      { type: 'cron', expression: '0 */3 * * *', timeZone: 'UTC' },
      { activeHours: { from: '09:00', to: '17:00', timeZone: 'UTC' } },
    )
    expect(times(often, '2026-01-05T13:00:00Z', 4)).toEqual([
      '2026-01-05T15:00:00.000Z',
      '2026-01-06T09:00:00.000Z',
      '2026-01-06T12:00:00.000Z',
      '2026-01-06T15:00:00.000Z',
    ])
  })

  test('D045 a single time waits for them to begin, also if it was missed', () => {
    const hours = { from: '09:00', to: '17:00', timeZone: 'UTC' }
    const once = schedule({ type: 'at', at: '2026-01-05T06:00:00Z' }, { activeHours: hours })
    const planned = at('2026-01-05T09:00:00Z')
    expect(nextDue(once, { runs: 0 }, made)).toBe(planned)
    expect(nextDue(once, { runs: 0 }, at('2026-01-05T12:00:00Z'))).toBe(planned)
    expect(nextDue(once, { runs: 0 }, at('2026-01-05T20:00:00Z'))).toBe(at('2026-01-06T09:00:00Z'))
    expect(nextDue(once, { runs: 0 }, at('2026-01-06T09:00:00Z'))).toBe(planned)
    expect(nextDue(once, { runs: 1, lastRunAt: planned }, at('2026-01-06T09:00:00Z'))).toBeUndefined()
  })

  test('they begin by local time, also on the day the clock is changed', () => {
    const early = { from: '05:00', to: '06:00', timeZone: 'Europe/Berlin' }
    const once = schedule({ type: 'at', at: '2026-03-29T00:30:00Z' }, { activeHours: early })
    expect(nextDue(once, { runs: 0 }, made)).toBe(at('2026-03-29T03:00:00Z'))
    const missing = { from: '02:15', to: '04:00', timeZone: 'Europe/Berlin' }
    expect(nextDue({ ...once, activeHours: missing }, { runs: 0 }, made)).toBe(at('2026-03-29T01:00:00Z'))
    const second = { from: '02:30', to: '02:40', timeZone: 'Europe/Berlin' }
    const autumn = schedule({ type: 'at', at: '2026-10-25T00:45:00Z' }, { activeHours: second })
    expect(nextDue(autumn, { runs: 0 }, made)).toBe(at('2026-10-25T01:30:00Z'))
  })

  test('the end of the hours is not part of them', () => {
    const hours = { from: '09:00', to: '10:00', timeZone: 'UTC' }
    const one = schedule({ type: 'cron', expression: '0 9,10 * * *', timeZone: 'UTC' }, { activeHours: hours })
    expect(times(one, '2026-01-05T08:00:00Z', 2)).toEqual(['2026-01-05T09:00:00.000Z', '2026-01-06T09:00:00.000Z'])
  })

  test('a schedule whose times never fall into them is never due', () => {
    const hours = { from: '09:00', to: '10:00', timeZone: 'UTC' }
    const daily = schedule({ type: 'interval', everySeconds: 86_400 }, { activeHours: hours })
    expect(nextDue(daily, { runs: 0 }, made)).toBeUndefined()
  })
})

test('a schedule that is switched off, or has run often enough, is not due', () => {
  const hourly = schedule({ type: 'interval', everySeconds: 3600 })
  expect(nextDue({ ...hourly, enabled: false }, { runs: 0 }, made)).toBeUndefined()
  expect(times({ ...hourly, maxRuns: 2 }, '2026-01-01T00:00:10Z', 5)).toHaveLength(2)
})

import { expect, test } from 'vitest'
import type { RemoteScheduleTime } from '../libero.ts'
import { clockTime, hoursIn, localTime, ownTimeZone, timeIn } from './schedule-fields.ts'

const fields = (texts: Readonly<Record<string, string>>) => (name: string) => texts[name] ?? ''

test('WB101 a form in which nothing about the time was changed gives the time of the schedule, also what it does not show', () => {
  const at: RemoteScheduleTime = { type: 'at', at: '2999-01-01T08:30:17.250Z', repeatEveryMinutes: 30 }
  const cron: RemoteScheduleTime = { type: 'cron', expression: '0 9 * * *', timeZone: 'Pacific/Auckland' }
  const cronOfServer: RemoteScheduleTime = { type: 'cron', expression: '0 9 * * *' }
  expect(timeIn('at', fields({ at: localTime(at.at) }), at)).toEqual(at)
  expect(timeIn('cron', fields({ cron: '0 9 * * *' }), cron)).toEqual(cron)
  expect(timeIn('cron', fields({ cron: '0 9 * * *' }), cronOfServer)).toEqual(cronOfServer)
  for (const to of ['18:00', '24:00']) {
    const hours = { from: '08:00', to, timeZone: 'Pacific/Auckland' }
    expect(hoursIn(fields({ from: '08:00', to: clockTime(to) }), hours)).toEqual(hours)
  }
})

test('WB101 another time keeps the repetition and the time zone; another kind of time has those of the browser', () => {
  const at: RemoteScheduleTime = { type: 'at', at: '2999-01-01T08:30:17Z', repeatEveryMinutes: 30 }
  const next = '2999-01-02T10:00:00.000Z'
  expect(timeIn('at', fields({ at: localTime(next) }), at)).toEqual({ ...at, at: next })
  const cron: RemoteScheduleTime = { type: 'cron', expression: '0 9 * * *', timeZone: 'Pacific/Auckland' }
  expect(timeIn('cron', fields({ cron: '0 8 * * *' }), cron)).toEqual({ ...cron, expression: '0 8 * * *' })
  expect(timeIn('cron', fields({ cron: '0 8 * * *' }), at)).toEqual({
    ...{ type: 'cron', expression: '0 8 * * *', timeZone: ownTimeZone },
  })
  expect(timeIn('interval', fields({ minutes: '1.5' }), cron)).toEqual({ type: 'interval', everySeconds: 90 })
  expect(hoursIn(fields({ from: '08:00', to: '18:00' }))).toEqual({ from: '08:00', to: '18:00', timeZone: ownTimeZone })
  expect(hoursIn(fields({ from: '08:00' }))).toBeUndefined()
})

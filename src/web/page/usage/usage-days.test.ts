import { expect, test } from 'vitest'
import { usageDays } from './usage-days.ts'

const row = (day: string, model: string, cost: number) => ({ day, model, cost, tokens: cost * 1000 })

test('every day has a column, also without use, and models beyond the five largest are together', () => {
  const rows = [
    row('2026-11-01', 'a', 5),
    row('2026-11-03', 'a', 1),
    ...['b', 'c', 'd', 'e', 'f', 'g'].map((model, i) => row('2026-11-03', model, 4 - i / 2)),
  ]
  const { days, series } = usageDays({ since: '2026-11-01', rows }, { metric: 'cost', until: '2026-11-04' })
  expect(days).toEqual(['2026-11-01', '2026-11-02', '2026-11-03', '2026-11-04'])
  expect(series.map(({ name }) => name)).toEqual(['a', 'b', 'c', 'd', 'e', 'others'])
  expect(series[0]!.values).toEqual([5, 0, 1, 0])
  expect(series[5]!.values).toEqual([0, 0, 2 + 1.5, 0])
})

test('without use there is one empty series', () => {
  expect(usageDays({ since: '2026-11-01', rows: [] }, { metric: 'tokens', until: '2026-11-02' })).toEqual({
    days: ['2026-11-01', '2026-11-02'],
    series: [],
  })
})

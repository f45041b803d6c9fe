import { expect, test } from 'vitest'
import { emptyView } from '../view/session-view.ts'
import { forecastCall } from './forecast.ts'

const usage = { ...emptyView.usage, calls: 2, input: 3000, output: 600 }

test('UI30 the next call reads the conversation and the draft; at most nothing of it is cached', () => {
  const last = { input: 100, output: 300, cacheRead: 1500 }
  const draft = 'word '.repeat(80) // a hundred tokens
  expect(forecastCall({ ...usage, last }, { draft, maxOutput: 4000 })).toEqual({
    likely: { input: 500, output: 300, cacheRead: 1500 },
    most: { input: 2000, output: 4000 },
  })
})

test('a service that writes to its cache is paid for that', () => {
  const last = { input: 0, output: 300, cacheRead: 1000, cacheCreation: 500 }
  expect(forecastCall({ ...usage, last }, { maxOutput: 4000 })).toEqual({
    likely: { input: 0, output: 300, cacheRead: 1500, cacheCreation: 300 },
    most: { input: 0, output: 4000, cacheCreation: 1800 },
  })
})

test('before the first call nothing is known', () => {
  expect(forecastCall(emptyView.usage)).toBeUndefined()
})

import { expect, test } from 'vitest'
import { dateOf } from './relative-time.tsx'

test('a time that is no date is told as the nearest one', () => {
  expect(dateOf(1e12).getTime()).toBe(1e12)
  expect(dateOf(-1e300).toISOString()).toMatch(/^-271821-04-20/)
})

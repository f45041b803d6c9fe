import { expect, test } from 'vitest'
import { createMatchBudget, searchCost } from './wildcard.ts'

test('once it is spent nothing more is to be had', () => {
  const effort = createMatchBudget(10)
  expect([effort.spend(6), effort.spend(4), effort.spend(1), effort.spend(0)]).toEqual([true, true, false, false])
})

test('a long text costs more to search', () => {
  expect(searchCost('a'.repeat(8000))).toBeGreaterThan(searchCost('a'))
})

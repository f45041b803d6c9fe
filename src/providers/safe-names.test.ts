import { describe, expect, test } from 'vitest'
import { CallIds } from './safe-names.ts'

const usual = { pattern: /^[a-zA-Z0-9_-]+$/, maxLength: 64 }
const mistral = { pattern: /^[A-Za-z0-9]{9}$/, maxLength: 9 }

describe('ids of calls', () => {
  test('that a service takes stay as they are', () => {
    const ids = new CallIds(usual)
    expect(['call_1', 'toolu-2', 'x'.repeat(64)].map((id) => ids.take(id))).toEqual([
      'call_1',
      'toolu-2',
      'x'.repeat(64),
    ])
  })

  test.each(['', 'a.b', 'ä', 'x y', 'x'.repeat(400), undefined, null, 7])('%j becomes one that it takes', (given) => {
    for (const rule of [usual, mistral]) {
      const id = new CallIds(rule).take(given)
      expect(id).toMatch(rule.pattern)
      expect(id.length).toBeLessThanOrEqual(rule.maxLength)
    }
  })

  test('FP-21 are given out only once, and the same in every process', () => {
    const given = ['a', 'a', '', '', 'a b', 'a b', 'ab', 'a']
    const take = (rule: typeof usual): string[] => {
      const ids = new CallIds(rule)
      return given.map((id) => ids.take(id))
    }
    for (const rule of [usual, mistral]) {
      expect(new Set(take(rule)).size).toBe(given.length)
      expect(take(rule)).toEqual(take(rule))
    }
    expect(take(usual)[0]).toBe('a')
  })
})

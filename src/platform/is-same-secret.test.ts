import fc from 'fast-check'
import { expect, test } from 'vitest'
import { isSameSecret } from './is-same-secret.ts'

test('a secret is the same as itself, and as no other text', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), (given, secret) => {
      expect(isSameSecret(given, secret)).toBe(given.toWellFormed() === secret.toWellFormed())
      expect(isSameSecret(secret, secret)).toBe(true)
    }),
  )
  const pairs = [
    ['', 'x'],
    ['x', ''],
    ['abab', 'ab'],
    ['ab', 'abab'],
    ['ä', 'a'],
  ] as const
  for (const [given, secret] of pairs) expect(isSameSecret(given, secret)).toBe(false)
})

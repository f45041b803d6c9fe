import { expect, test } from 'vitest'
import { tokenIn } from './token-in.ts'

test('WB120 a login link may carry any token, also one with + / = and %', () => {
  for (const token of ['a-b_c9', 'a+b/c==', '100% sure#', '%zz'])
    expect(tokenIn(`#token=${encodeURIComponent(token)}`)).toBe(token)
  expect(tokenIn('#token=a+b/c==')).toBe('a+b/c==')
  expect(tokenIn('#token=50%')).toBe('50%')
  expect(tokenIn('#token=')).toBeUndefined()
  expect(tokenIn('#120')).toBeUndefined()
})

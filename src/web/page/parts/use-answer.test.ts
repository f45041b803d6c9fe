import { expect, test } from 'vitest'
import { afterFailure } from './use-answer.ts'

test('WB100 a failure keeps what was read before of the same thing, and nothing of another one', () => {
  const before = { value: 'read', of: 'a' }
  expect(afterFailure(before, 'a', 'failed')).toEqual({ value: 'read', of: 'a', error: 'failed' })
  expect(afterFailure(before, 'b', 'failed')).toEqual({ error: 'failed' })
})

import { expect, test } from 'vitest'
import { groupCalls } from './group-calls.ts'

const nextTurn = (): Promise<unknown> => new Promise((resolve) => setImmediate(resolve))

/** Numbers are doubled, those below 0 refused, and 0 never answers. */
function doubling() {
  const made: (number | readonly number[])[] = []
  const double = async (n: number): Promise<number> => {
    await nextTurn()
    if (n === 0) await new Promise(() => {})
    if (n < 0) throw new RangeError(`${n} is refused`)
    return 2 * n
  }
  const call = groupCalls<number, number>({
    together: (calls) => {
      made.push(calls)
      return Promise.all(calls.map(double))
    },
    alone: (n) => {
      made.push(n)
      return double(n)
    },
    isFailureOfAll: (error) => error instanceof RangeError && error.message.startsWith('-99'),
    maxSize: 4,
  })
  return { made, call }
}

test('ST12 calls that come while others are under way are made together, as many as a group may have', async () => {
  const { made, call } = doubling()
  const first = call(1)
  await nextTurn()
  const others = [2, 3, 4, 5, 6, 7].map((n) => call(n))
  expect(await Promise.all([first, ...others])).toEqual([2, 4, 6, 8, 10, 12, 14])
  expect(made).toEqual([1, [2, 3, 4, 5], [6, 7]])
})

test('ST12 of a group that is refused each call is made alone, unless the failure is one of all', async () => {
  const { made, call } = doubling()
  const outcomes = await Promise.allSettled([1, -2, 3].map((n) => call(n)))
  expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
  expect(made).toEqual([[1, -2, 3], 1, -2, 3])
  const gone = await Promise.allSettled([-99, 4].map((n) => call(n)))
  expect(gone.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  expect(made).toHaveLength(5)
})

test('ST12 a call that is held up does not hold up those that come after it', async () => {
  const { call } = doubling()
  void call(0)
  await nextTurn()
  expect(await call(1)).toBe(2)
})

test('ST12 a call that was left out of its group is made alone', async () => {
  const alone: number[] = []
  const call = groupCalls<number, number>({
    together: async (calls) => calls.map((n) => (n === 2 ? null : n)),
    alone: async (n) => {
      alone.push(n)
      return n
    },
    isFailureOfAll: () => false,
    maxSize: 9,
  })
  expect(await Promise.all([1, 2, 3].map((n) => call(n)))).toEqual([1, 2, 3])
  expect(alone).toEqual([2])
})

import { expect, test } from 'vitest'
import { assistant, calling, result, user } from '../../../test/workflow/token-kit.ts'
import { fitHistory } from './trim-messages.ts'

test('D028 the newest messages that fit 70 % of the window are kept', () => {
  const messages = [user(100), assistant(200), user(300), assistant(200), user(200)]
  expect(fitHistory(messages, 1000)).toEqual(messages.slice(2))
  expect(fitHistory(messages, 998)).toEqual(messages.slice(3))
  expect(fitHistory(messages, 500)).toEqual(messages.slice(4))
})

test('D028 a conversation that fits exactly is given back as it is', () => {
  const messages = [user(300), assistant(200), user(200)]
  expect(fitHistory(messages, 1000)).toBe(messages)
})

test.each([10, 30, 90, 110, 1230, 120_000])('D028 70 %% is meant exactly: of %i', (size) => {
  const fits = Math.round((size * 7) / 10)
  const messages = [user(1), user(fits - 1)]
  expect(fitHistory(messages, size)).toBe(messages)
  expect(fitHistory([user(2), messages[1]!], size)).toEqual([messages[1]])
})

test('D028 the kept ones are the messages themselves, in their order', () => {
  const messages = [user(900), assistant(10), user(10)]
  const kept = fitHistory(messages, 1000)
  expect(kept.length).toBe(2)
  expect(kept[0]).toBe(messages[1])
  expect(kept[1]).toBe(messages[2])
})

test('D028 a call is never split from its results', () => {
  const messages = [user(10), calling('1'), result('1', 10), assistant(10), user(10)]
  expect(fitHistory(messages, 58)).toEqual(messages.slice(1))
  // The result would fit, its call would not.
  expect(fitHistory(messages, 50)).toEqual(messages.slice(3))
})

test('D028 the last message is kept, however long, and with the call that it answers', () => {
  const long = [user(10), user(5000)]
  expect(fitHistory(long, 100)).toEqual(long.slice(1))
  const answered = [user(10), calling('1'), result('1', 5000)]
  expect(fitHistory(answered, 100)).toEqual(answered.slice(1))
})

test('D028 without a window everything is kept', () => {
  const messages = [user(5000)]
  expect(fitHistory(messages, undefined)).toBe(messages)
  expect(fitHistory(messages, 0)).toBe(messages)
  expect(fitHistory([], 10)).toEqual([])
})

test.each([-5, Number.NaN])('D028 an invalid window is refused: %s', (size) => {
  expect(() => fitHistory([user(1)], size)).toThrow(`contextWindowSize must be a number of tokens above 0`)
})

test('D028 messages that no longer fit are not read', () => {
  const messages = Array.from({ length: 1000 }, () => user(10))
  const looked = new Set<string>()
  const watched = new Proxy(messages, {
    get(target, key, receiver) {
      if (typeof key === 'string' && /^\d+$/.test(key)) looked.add(key)
      return Reflect.get(target, key, receiver)
    },
  })
  const kept = fitHistory(watched, 100)
  expect(kept.length).toBe(7)
  expect(looked.size).toBeLessThan(12)
})

import { expect, test } from 'vitest'
import { assistant, calling, result, user } from '../../../test/workflow/token-kit.ts'
import type { Message } from '../../core/turn.ts'
import { trimMessages } from './trim-messages.ts'

test('the oldest messages are removed until the target is met, and no more', () => {
  const messages = [user(10), assistant(10), user(10), assistant(10)]
  expect(trimMessages(messages, 39)).toEqual(messages.slice(1))
  expect(trimMessages(messages, 30)).toEqual(messages.slice(1))
  expect(trimMessages(messages, 29)).toEqual(messages.slice(2))
  expect(trimMessages(messages, 10)).toEqual(messages.slice(3))
})

test('a list that is within the target is given back as it is', () => {
  const messages = [user(10), assistant(10)]
  expect(trimMessages(messages, 20)).toBe(messages)
  expect(trimMessages(messages, Number.POSITIVE_INFINITY)).toBe(messages)
  const none: Message[] = []
  expect(trimMessages(none, 0)).toBe(none)
})

test('a result goes with its call', () => {
  const messages = [user(10), calling('1'), result('1', 10), assistant(10)]
  expect(trimMessages(messages, 30)).toEqual(messages.slice(1))
  // The result alone would still be within it.
  expect(trimMessages(messages, 29)).toEqual(messages.slice(3))
  expect(trimMessages(messages, 20)).toEqual(messages.slice(3))
})

test('results that came one by one go with their call too', () => {
  const messages = [user(1), calling('1'), result('1', 10), result('2', 10)]
  expect(trimMessages(messages, 30)).toEqual(messages.slice(1))
  expect(trimMessages(messages, 29)).toEqual([])
})

test('everything is removed if even the last message is too long', () => {
  expect(trimMessages([user(5), user(50)], 10)).toEqual([])
})

test('what is kept are the messages themselves', () => {
  const messages = [user(10), assistant(10)]
  expect(trimMessages(messages, 10)[0]).toBe(messages[1])
})

test.each([-1, Number.NaN])('an invalid target is refused: %s', (target) => {
  expect(() => trimMessages([], target)).toThrow(`a target of 0 tokens or more, got ${target}`)
})

test('no target orphans a result, whatever the conversation', () => {
  const messages = Array.from({ length: 60 }, (_, i) => {
    if (i % 5 === 1 || i % 5 === 3) return calling(`${i}`)
    if (i % 5 === 2 || i % 5 === 4) return result(`${i - 1}`, i % 7)
    return user(i % 3)
  })
  for (let target = 0; target < 800; target += 3) {
    const [first] = trimMessages(messages, target)
    expect(first?.content[0]?.type).not.toBe('tool_result')
  }
})

import { expect, test } from 'vitest'
import { handKeyboard } from '../../../test/cli/person-kit.ts'
import { type HoldOptions, holdKeyboard } from './terminal-user.ts'

function setUp(more: Partial<HoldOptions> = {}) {
  const told: string[] = []
  const keyboard = handKeyboard()
  const held = holdKeyboard({
    keyboard,
    screen: { pause: () => void told.push('pause'), resume: () => void told.push('resume') },
    onInterrupt: () => void told.push('interrupt'),
    ...more,
  })
  return { told, keyboard, held }
}

test('isTyping is true for two seconds after a key', () => {
  let now = 0
  const { keyboard, held } = setUp({ now: () => now })
  const seen = [held.isTyping()]
  keyboard.press('a')
  for (now of [1900, 2100]) seen.push(held.isTyping())
  expect(seen).toEqual([false, true, false])
})

test('Ctrl-C interrupts', () => {
  const { told, keyboard } = setUp()
  keyboard.press('ctrl-c', 'ctrl-c')
  expect(told).toEqual(['interrupt', 'interrupt'])
})

test('the keyboard is released while the screen is paused and after close', () => {
  const { told, keyboard, held } = setUp()
  held.screen.pause()
  expect(keyboard.isRead).toBe(false)
  held.screen.resume()
  expect([keyboard.isRead, told]).toEqual([true, ['pause', 'resume']])
  held.screen.pause()
  held.close()
  held.screen.resume()
  expect(keyboard.isRead).toBe(false)
})

test('Ctrl-Z pauses the screen until the process continues, also if a dialog opens meanwhile', async () => {
  const { promise, resolve } = Promise.withResolvers<void>()
  const { told, keyboard, held } = setUp({ suspend: () => promise })
  keyboard.press('ctrl-z')
  expect([keyboard.isRead, told]).toEqual([false, ['pause']])
  held.screen.pause()
  resolve()
  await promise
  await Promise.resolve()
  expect([keyboard.isRead, told]).toEqual([false, ['pause', 'pause']])
  held.screen.resume()
  expect([keyboard.isRead, told]).toEqual([true, ['pause', 'pause', 'resume']])
})

test('in the background the keyboard is not read', () => {
  let isForeground = false
  const { keyboard, held } = setUp({ isForeground: () => isForeground })
  expect(keyboard.isRead).toBe(false)
  isForeground = true
  held.screen.pause()
  held.screen.resume()
  expect(keyboard.isRead).toBe(true)
})

import { expect, test } from 'vitest'
import { createPaint } from '../terminal/paint.ts'
import { createComposer } from './composer.ts'

const history = { recent: () => [], search: () => [] }
const paint = createPaint({ colours: false })

test('a completion of a text that was changed meanwhile is never accepted', async () => {
  const complete = async (before: string) =>
    before === '/se' ? { items: [{ text: '/sessions ' }], length: 3 } : undefined
  const composer = createComposer({ paint, history, complete, onChange() {} })
  composer.press({ type: 'text', text: '/se' })
  await new Promise((resolve) => setImmediate(resolve))
  expect(composer.isOpen).toBe(true)
  composer.press({ type: 'ctrl', key: 'u' })
  composer.press({ type: 'text', text: 'Work' })
  expect(composer.acceptBeforeSending()).toBe(false)
  expect(composer.take().text).toBe('Work')
})

test('a search in earlier messages stays on one line, whatever is pasted, with the caret behind it', () => {
  const composer = createComposer({ paint, history, onChange() {} })
  composer.search()
  composer.press({ type: 'text', text: 'two\nlines \x1b[31m 漢', isPaste: true })
  const { lines, caret } = composer.draw(80, 10)
  expect(lines).toEqual([' ? earlier messages: two lines ␛[31m 漢'])
  expect(caret).toEqual({ row: 0, column: 39 })
})

test('found messages end with their last character: blanks behind them would take a row each in a narrower window', () => {
  const found = { recent: () => [], search: () => ['a longer message', 'short'] }
  const composer = createComposer({ paint, history: found, onChange() {} })
  composer.search()
  expect(composer.draw(80, 10).lines.slice(1)).toEqual([' ▸ a longer message', '   short'])
})

import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Key } from './key-decoder.ts'
import { LineEditor } from './line-editor.ts'
import { textWidth } from './text-width.ts'

const key = (type: 'left' | 'right' | 'home' | 'end' | 'backspace' | 'delete'): Key => ({ type })
const ctrl = (letter: string): Key => ({ type: 'ctrl', key: letter })
const typed = (text: string): Key => ({ type: 'text', text })

function edited(...keys: Key[]): string {
  const line = new LineEditor()
  for (const one of keys) line.press(one)
  const { before, under, after } = line.view(40)
  return `${before}[${under}]${after}`
}

test('text is inserted at the cursor', () => {
  expect(edited(typed('ac'), key('left'), typed('b'))).toBe('ab[c]')
  expect(edited(typed('bc'), key('home'), typed('a'), key('end'), typed('d'))).toBe('abcd[ ]')
  expect(edited(key('left'), key('right'), typed('a'), key('right'))).toBe('a[ ]')
})

test('characters, words and the rest of the line can be deleted', () => {
  expect(edited(typed('abc'), key('backspace'))).toBe('ab[ ]')
  expect(edited(typed('abc'), key('home'), key('delete'), key('backspace'))).toBe('[b]c')
  expect(edited(typed('one two  '), ctrl('w'))).toBe('one [ ]')
  expect(edited(typed('one two'), key('left'), ctrl('u'))).toBe('[o]')
  expect(edited(typed('one two'), key('home'), ctrl('k'))).toBe('[ ]')
  expect(edited(typed('ab'), ctrl('a'), ctrl('d'), ctrl('e'), ctrl('b'))).toBe('[b]')
})

test('a grapheme cluster is one character, also if it arrives in two keys', () => {
  expect(edited(typed('日本'), key('backspace'))).toBe('日[ ]')
  expect(edited(typed('👩‍👩‍👧'), typed('e'), typed('\u0301'), key('backspace'), key('backspace'))).toBe('[ ]')
})

test('newlines of a paste are kept and shown on one line', () => {
  const line = new LineEditor()
  line.press({ type: 'text', text: 'a\n\tb\u202e', isPaste: true })
  expect(line.view(40).before).toBe('a⏎⇥b\\u202e')
  expect(line.text).toBe('a\n\tb\u202e')
})

test('press returns false for a key that does not edit', () => {
  expect(new LineEditor().press({ type: 'tab' })).toBe(false)
  expect(new LineEditor().press(ctrl('c'))).toBe(false)
  expect(new LineEditor().press(ctrl('toString'))).toBe(false)
})

test('for any text and cursor position the view shows the cursor and fits the columns', () => {
  const some = fc.oneof(
    fc.string({ unit: 'grapheme' }).map((text) => typed(text.replace(/\p{Cc}/gu, ''))),
    fc.constantFrom(key('left'), key('right'), key('home'), key('end'), key('backspace'), ctrl('w'), typed('日本語')),
  )
  fc.assert(
    fc.property(fc.array(some, { maxLength: 30 }), fc.integer({ min: 12, max: 60 }), (keys, columns) => {
      const line = new LineEditor()
      for (const one of keys) line.press(one)
      const { before, under, after } = line.view(columns)
      expect(textWidth(before) + textWidth(under) + textWidth(after)).toBeLessThanOrEqual(columns)
      expect(under).not.toBe('')
    }),
  )
})

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { drawn, keyNamed, pressAll } from '../../../test/tui/editor-kit.ts'
import { textWidth } from '../terminal/text-width.ts'
import { piecesOf } from './attachments.ts'
import { Editor } from './editor.ts'

const after = (...keys: string[]): string[] => drawn(pressAll(new Editor(), ...keys))
const paste = (editor: Editor, text: string): Editor => {
  editor.press({ type: 'text', text, isPaste: true })
  return editor
}
const longPaste = Array.from({ length: 214 }, (_, i) => `line ${i}`).join('\n')

test('UI01 text is typed over several lines, with each of the newline keys', () => {
  expect(after('one', 'ctrl+j', 'two', 'shift+enter', 'three\\', 'enter', 'four')).toEqual([
    'one',
    'two',
    'three',
    'four|',
  ])
  expect(after('ac', 'left', 'b')).toEqual(['ab|c'])
  expect(after('ab', 'left', 'ctrl+j')).toEqual(['a', '|b'])
})

test('Enter is left to the caller, unless an odd number of backslashes stands before it', () => {
  const editor = pressAll(new Editor(), 'a\\\\')
  expect(editor.press({ type: 'enter' })).toBeUndefined()
  expect(editor.press({ type: 'enter', alt: true })).toBeUndefined()
  expect(editor.text).toBe('a\\\\')
  expect(pressAll(new Editor(), 'a\\b', 'left', 'enter').text).toBe('a\\b')
})

test('press says what a key did, and leaves unknown keys and those at the edge to the caller', () => {
  const editor = new Editor('ab')
  const did = (name: string) => editor.press(keyNamed(name))
  expect([did('x'), did('left'), did('home'), did('left'), did('backspace')]).toEqual([
    'edited',
    'moved',
    'moved',
    undefined,
    undefined,
  ])
  for (const key of ['up', 'down', 'tab', 'escape', 'ctrl+c', 'ctrl+z', 'alt+up', 'ctrl+toString', 'ctrl+y', 'alt+y'])
    expect(did(key), key).toBeUndefined()
  expect(editor.press({ type: 'focus', isFocused: true })).toBeUndefined()
  expect(editor.text).toBe('abx')
})

test('characters are deleted by grapheme cluster, also if one arrived in two keys', () => {
  expect(after('日本', 'backspace')).toEqual(['日|'])
  expect(after('👩‍👩‍👧', 'e', '\u0301', 'backspace', 'backspace')).toEqual(['|'])
  expect(after('a👍🏽b', 'home', 'right', 'delete')).toEqual(['a|b'])
  expect(after('a', 'ctrl+j', 'b', 'home', 'backspace')).toEqual(['a|b'])
  expect(after('a', 'ctrl+j', 'b', 'up', 'delete')).toEqual(['a|b'])
  expect(after('🇩🇪🇫🇷', 'left', 'backspace')).toEqual(['|🇫🇷'])
})

test('UI02 words are passed and cut, in code by word, with Ctrl+W by blanks', () => {
  const text = 'run  foo.bar(baz)'
  expect(after(text, 'alt+b')).toEqual(['run  foo.bar(|baz)'])
  expect(after(text, 'ctrl+left', 'alt+left')).toEqual(['run  foo.|bar(baz)'])
  expect(after(text, 'home', 'alt+f', 'ctrl+right')).toEqual(['run  foo|.bar(baz)'])
  expect(after(text, 'ctrl+w')).toEqual(['run  |'])
  expect(after(text, 'alt+backspace')).toEqual(['run  foo.bar(|'])
  expect(after(text, 'home', 'alt+d')).toEqual(['|  foo.bar(baz)'])
  expect(after('a', 'ctrl+j', 'b', 'home', 'ctrl+w')).toEqual(['a|b'])
  expect(after('größe_1 да', 'ctrl+w', 'alt+b')).toEqual(['|größe_1 '])
})

test('Ctrl+A, Ctrl+E, Ctrl+U and Ctrl+K are about the line, Ctrl+Home and Ctrl+End about the text', () => {
  expect(after('one', 'ctrl+j', 'two', 'ctrl+a', 'x', 'ctrl+e', 'y')).toEqual(['one', 'xtwoy|'])
  expect(after('one', 'ctrl+j', 'two', 'left', 'ctrl+u')).toEqual(['one', '|o'])
  expect(after('one', 'ctrl+j', 'two', 'up', 'ctrl+a', 'ctrl+k', 'ctrl+k')).toEqual(['|two'])
  expect(after('one', 'ctrl+j', 'two', 'ctrl+home', 'x', 'ctrl+end', 'y')).toEqual(['xone', 'twoy|'])
})

test('UI03 what is cut can be inserted again: cuts in a row as one text, earlier ones by Alt+Y', () => {
  expect(after('one two three', 'ctrl+w', 'ctrl+w', 'ctrl+y')).toEqual(['one two three|'])
  expect(after('one', 'ctrl+u', 'two', 'ctrl+u', 'ctrl+y', 'alt+y')).toEqual(['one|'])
  expect(after('one', 'ctrl+u', 'two', 'ctrl+u', 'ctrl+y', 'alt+y', 'alt+y')).toEqual(['two|'])
  expect(after('a b', 'home', 'alt+d', 'alt+d', 'ctrl+y', 'ctrl+y')).toEqual(['a ba b|'])
  const sent = pressAll(new Editor(), 'kept', 'ctrl+u')
  sent.reset()
  expect(drawn(pressAll(sent, 'ctrl+y'))).toEqual(['kept|'])
})

test('UI04 undo goes back by words, cuts and pastes, and redo forth again', () => {
  const editor = pressAll(new Editor(), ...'one two', 'ctrl+u', 'x')
  const seen = [editor.text]
  for (const key of ['ctrl+_', 'ctrl+_', 'ctrl+_', 'ctrl+_', 'alt+z', 'alt+z', 'alt+z', 'alt+z', 'alt+z']) {
    editor.press(keyNamed(key))
    seen.push(editor.text)
  }
  expect(seen).toEqual(['x', '', 'one two', 'one ', '', 'one ', 'one two', '', 'x', 'x'])
  editor.set('other')
  expect(pressAll(editor, 'ctrl+_').text).toBe('x')
})

test('Up and Down go through soft-wrapped rows and keep their column', () => {
  const editor = new Editor('aaaaaaaaaa bbbbbbbbbb\nc\ndddddd')
  editor.layout(12, 10)
  expect(drawn(pressAll(editor, 'left'), 12)).toEqual(['aaaaaaaaaa', 'bbbbbbbbbb', 'c', 'ddddd|d'])
  expect(drawn(pressAll(editor, 'up'), 12)[2]).toBe('c|')
  expect(drawn(pressAll(editor, 'up'), 12)[1]).toBe('bbbbb|bbbbb')
  expect(editor.isOnFirstRow).toBe(false)
  expect(drawn(pressAll(editor, 'up'), 12)[0]).toBe('aaaaa|aaaaa')
  expect([editor.isOnFirstRow, editor.isOnLastRow]).toEqual([true, false])
  expect(drawn(pressAll(editor, 'down', 'down', 'down'), 12)[3]).toBe('ddddd|d')
  expect([editor.isOnFirstRow, editor.isOnLastRow]).toEqual([false, true])
})

test('UI05 rows are wrapped by display width: CJK, emoji, accents, tabs, hidden characters', () => {
  expect(new Editor('日本語日本語').layout(8, 9).rows).toEqual(['日本語', '日本語'])
  expect(new Editor('👩‍👩‍👧👩‍👩‍👧👩‍👩‍👧').layout(6, 9).rows).toEqual(['👩‍👩‍👧👩‍👩‍👧', '👩‍👩‍👧'])
  expect(new Editor('e\u0301'.repeat(5)).layout(4, 9).rows).toEqual(['e\u0301'.repeat(3), 'e\u0301'.repeat(2)])
  expect(new Editor('a\tb\u202ec').layout(40, 9)).toMatchObject({
    rows: ['a    b\\u202ec'],
    caret: { row: 0, column: 13 },
  })
})

test('a blank at the edge takes the free column, is not drawn, and the caret behind it is on the next row', () => {
  const editor = new Editor('12345 ')
  expect(editor.layout(6, 9)).toMatchObject({ rows: ['12345', ''], caret: { row: 1, column: 0 } })
  expect(pressAll(editor, 'left').layout(6, 9).caret).toEqual({ row: 0, column: 5 })
  expect(pressAll(editor, 'right', 'up').layout(6, 9).caret).toEqual({ row: 0, column: 0 })
})

test('only the rows around the caret are shown, and they move no further than the caret needs', () => {
  const editor = new Editor(Array.from({ length: 20 }, (_, i) => `${i}`).join('\n'))
  expect(drawn(editor, 10, 3)).toEqual(['17', '18', '19|'])
  expect(drawn(pressAll(editor, 'up', 'up'), 10, 3)).toEqual(['17|', '18', '19'])
  expect(drawn(pressAll(editor, 'up'), 10, 3)).toEqual(['16|', '17', '18'])
  expect(drawn(pressAll(editor, 'down'), 10, 3)).toEqual(['16', '17|', '18'])
  expect(editor.layout(10, 3)).toMatchObject({ hasMoreAbove: true, hasMoreBelow: true })
  expect(drawn(pressAll(editor, 'ctrl+home'), 10, 3)).toEqual(['|0', '1', '2'])
  expect(drawn(editor, 10, 100)).toHaveLength(20)
  editor.set('short')
  expect(editor.layout(10, 3)).toMatchObject({ rows: ['short'], hasMoreAbove: false, hasMoreBelow: false })
})

test('UI06 a long paste is one unit that shows its size, is expanded by Alt+P and sent in full', () => {
  const editor = paste(new Editor('see '), longPaste)
  const label = '[paste 1: 214 lines, 2 kB]'
  expect(drawn(editor)).toEqual([`see ${label}|`])
  expect(editor.message()).toEqual({ text: `see ${label}`, parts: [{ type: 'text', text: `see ${longPaste}` }] })
  pressAll(editor, 'left', '!')
  expect(editor.text).toBe(`see !${label}`)
  pressAll(editor, 'delete')
  expect(editor.message()).toEqual({ text: 'see !' })
  pressAll(editor, 'ctrl+_', 'alt+p')
  expect(editor.text).toBe(`see !${longPaste}`)
  expect(pressAll(editor, 'ctrl+_').text).toBe(`see !${label}`)
  expect(paste(editor, 'x'.repeat(2001)).text).toContain('[paste 2: 1 line, 2 kB]')
})

test('UI06 Alt+P expands the paste before the caret, also if more was typed behind it', () => {
  const editor = paste(new Editor('😀 '), longPaste)
  expect(pressAll(editor, ...' 😀 ok', 'alt+p').text).toBe(`😀 ${longPaste} 😀 ok`)
  expect(new Editor('😀').text).toBe('😀')
})

test('a short paste is text, and its control characters are gone', () => {
  const editor = paste(new Editor(), 'a\r\nb\x1b[31mc')
  expect(editor.message()).toEqual({ text: 'a\nb[31mc' })
})

test('no text can pass for an attachment', () => {
  const editor = paste(new Editor(), longPaste)
  const { text } = editor
  const forger = paste(new Editor(text), 'short')
  forger.press({ type: 'text', text: '\udc00\ud800' })
  expect(forger.message().parts).toBeUndefined()
  expect(forger.text).toBe(`${text}short\ufffd\ufffd`)
})

test('attachments survive cutting, storing and being set again', () => {
  const editor = paste(new Editor('a '), longPaste)
  expect(pressAll(editor, 'ctrl+w', 'b ', 'ctrl+y').fullText).toBe(`a b ${longPaste}`)
  const image = { type: 'image', mediaType: 'image/png', data: 'AAAA' } as const
  editor.attach({ kind: 'image', name: 'shot.png', bytes: 48_000, image })
  const other = new Editor()
  other.set(JSON.parse(JSON.stringify(editor.pieces())))
  expect(other.text).toBe('a b [paste 1: 214 lines, 2 kB][image 1: shot.png, 48 kB]')
  expect(other.message()).toEqual(editor.message())
  expect(other.message().parts).toEqual([{ type: 'text', text: `a b ${longPaste}[image 1: shot.png, 48 kB]` }, image])
})

test('a completion replaces the text before the caret', () => {
  const editor = pressAll(new Editor('first\nsee @sr now'), 'alt+b', 'left')
  expect(editor.around).toEqual({ before: 'see @sr', after: ' now' })
  editor.replaceBefore(3, '@src/cart.ts')
  expect(editor.text).toBe('first\nsee @src/cart.ts now')
})

const keys = fc.oneof(
  fc.string({ unit: 'grapheme', minLength: 1, maxLength: 8 }),
  fc.constantFrom('日本', '👩‍👩‍👧', '\u0301', '\u200d', '🇩', '\t', 'word and word', '\\', '\udc00'),
  fc.constantFrom(
    ...['left', 'right', 'up', 'down', 'home', 'end', 'backspace', 'delete', 'ctrl+j', 'enter', 'shift+enter'],
    ...['alt+b', 'alt+f', 'ctrl+w', 'alt+d', 'alt+backspace', 'ctrl+k', 'ctrl+u', 'ctrl+y', 'alt+y', 'ctrl+_'],
    ...['alt+z', 'alt+p', 'ctrl+home', 'ctrl+end', 'PASTE'],
  ),
)

test('UI07 for any keys the caret is visible and between characters, and rows fit the screen', () => {
  fc.assert(
    fc.property(
      fc.array(keys, { maxLength: 60 }),
      fc.integer({ min: 2, max: 40 }),
      fc.integer({ min: 1, max: 6 }),
      (names, columns, most) => {
        const editor = new Editor()
        for (const name of names) {
          if (name === 'PASTE') paste(editor, longPaste)
          else editor.press(keyNamed(name))
          const { rows, caret } = editor.layout(columns, most)
          expect(rows.length).toBeLessThanOrEqual(most)
          for (const row of rows) expect(textWidth(row)).toBeLessThan(Math.max(columns, 3))
          expect(caret.row).toBeGreaterThanOrEqual(0)
          expect(caret.row).toBeLessThan(rows.length)
          expect(caret.column).toBeLessThanOrEqual(Math.max(columns - 1, 2))
          expect(editor.text.isWellFormed()).toBe(true)
        }
      },
    ),
  )
})

test('for any keys undo goes back to the empty text, and redo to the last one', () => {
  fc.assert(
    fc.property(fc.array(keys, { maxLength: 60 }), (names) => {
      const editor = new Editor()
      for (const name of names) {
        if (name === 'PASTE') paste(editor, longPaste)
        else editor.press(keyNamed(name))
      }
      while (editor.press(keyNamed('alt+z'))) {}
      const { text } = editor
      let steps = 0
      while (editor.press(keyNamed('ctrl+_'))) steps++
      expect(editor.isEmpty).toBe(true)
      while (editor.press(keyNamed('alt+z'))) steps--
      expect([editor.text, steps]).toEqual([text, 0])
    }),
  )
})

test('a message that is taken back from the queue has its image and its long paste again', () => {
  const editor = new Editor('look: ')
  const image = { type: 'image', mediaType: 'image/png', data: 'AAAA' } as const
  editor.attach({ kind: 'image', name: 'a.png', bytes: 3, image })
  editor.paste('line\n'.repeat(20))
  const message = editor.message()
  const again = new Editor()
  again.set(piecesOf(message))
  expect(again.message().parts).toEqual(message.parts)
})

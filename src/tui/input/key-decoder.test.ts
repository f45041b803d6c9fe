import fc from 'fast-check'
import { expect, test } from 'vitest'
import { fakeClock } from '../../testing/fake-clock.ts'
import { cleanText } from './clean-text.ts'
import { createKeyDecoder, type Key } from './key-decoder.ts'

function decoded(): {
  keys: Key[]
  push: (...chunks: (string | Uint8Array)[]) => Key[]
  clock: ReturnType<typeof fakeClock>
} {
  const clock = fakeClock()
  const keys: Key[] = []
  const decoder = createKeyDecoder((key) => keys.push(key), clock)
  return {
    keys,
    clock,
    push(...chunks) {
      for (const chunk of chunks) decoder.push(chunk)
      return keys.splice(0)
    },
  }
}

const text = (typed: string): Key => ({ type: 'text', text: typed })

test('letters become text, control characters between them become keys', () => {
  const { push } = decoded()
  expect(push('ab\r')).toEqual([text('ab'), { type: 'enter' }])
  expect(push('\t', '\x7f', '\b')).toEqual([{ type: 'tab' }, { type: 'backspace' }, { type: 'backspace' }])
  expect(push('\x03\x15a')).toEqual([{ type: 'ctrl', key: 'c' }, { type: 'ctrl', key: 'u' }, text('a')])
  expect(push('\x00\x1f')).toEqual([{ type: 'ctrl', key: '_' }])
})

test('arrows, Home, End and Delete are decoded in both spellings, with and without Shift', () => {
  const { push } = decoded()
  const types = (input: string): string[] => push(input).map(({ type }) => type)
  expect(types('\x1b[A\x1b[B\x1b[C\x1b[D\x1b[H\x1b[F')).toEqual(['up', 'down', 'right', 'left', 'home', 'end'])
  expect(types('\x1bOA\x1bOB\x1bOC\x1bOD\x1bOH\x1bOF\x1bOM')).toEqual([
    'up',
    'down',
    'right',
    'left',
    'home',
    'end',
    'enter',
  ])
  expect(types('\x1b[1~\x1b[4~\x1b[7~\x1b[8~\x1b[3~\x1b[1;2A')).toEqual(['home', 'end', 'home', 'end', 'delete', 'up'])
})

test('UI08 Enter and the newline key differ, and modifiers of Enter are decoded in every encoding', () => {
  const { push } = decoded()
  expect(push('\r')).toEqual([{ type: 'enter' }])
  expect(push('\n', '\x1b[106;5u', '\x1b[27;5;106~')).toEqual(Array(3).fill({ type: 'ctrl', key: 'j' }))
  expect(push('a\r\nb')).toEqual([text('a'), { type: 'enter' }, text('b')])
  for (const [modifier, number] of [
    ['shift', 2],
    ['alt', 3],
    ['ctrl', 5],
  ] as const)
    expect(push(`\x1b[13;${number}u`, `\x1b[27;${number};13~`, `\x1b[57414;${number}u`)).toEqual(
      Array(3).fill({ type: 'enter', [modifier]: true }),
    )
  expect(push('\x1b\r')).toEqual([{ type: 'enter', alt: true }])
})

test('UI09 Alt, Ctrl and Shift are decoded as xterm, kitty and modifyOtherKeys send them', () => {
  const { push } = decoded()
  const alt = (key: string): Key => ({ type: 'alt', key })
  const ctrl = (key: string): Key => ({ type: 'ctrl', key })
  expect(push('\x1bb', '\x1b[98;3u', '\x1b[27;3;98~', '\x1bB', '\x1b[98;4u', '\x1b[98:66;4u')).toEqual([
    ...Array(3).fill(alt('b')),
    ...Array(3).fill(alt('B')),
  ])
  expect(push('\x1b👍', '\x1b日')).toEqual([alt('👍'), alt('日')])
  expect(push('\x03', '\x1b[99;5u', '\x1b[27;5;99~', '\x1b[99;69u')).toEqual(Array(4).fill(ctrl('c')))
  expect(push('\x1f', '\x1b[47;5u', '\x1b[45;6u', '\x1b[27;6;95~')).toEqual(Array(4).fill(ctrl('_')))
  expect(push('\x1b[Z', '\x1b[9;2u', '\x1b[27;2;9~')).toEqual(Array(3).fill({ type: 'tab', shift: true }))
  expect(push('\x1b[27u', '\x1b[91;5u')).toEqual(Array(2).fill({ type: 'escape' }))
  expect(push('\x1b\x7f', '\x1b[127;3u')).toEqual(Array(2).fill({ type: 'backspace', alt: true }))
  expect(push('\x1b[1;5C', '\x1b[1;3D', '\x1b[1;5:2A', '\x1b[3;5~')).toEqual([
    { type: 'right', ctrl: true },
    { type: 'left', alt: true },
    { type: 'up', ctrl: true },
    { type: 'delete', ctrl: true },
  ])
  expect(push('\x1b[5~\x1b[6~\x1b[57421u')).toEqual([{ type: 'pageup' }, { type: 'pagedown' }, { type: 'pageup' }])
  expect(push('\x1b[97;2u', '\x1b[57400u', '\x1b[57409u', '\x1b[223;2u')).toEqual(['A', '1', '.', 'ß'].map(text))
  expect(push('\x1b[I', '\x1b[O')).toEqual([
    { type: 'focus', isFocused: true },
    { type: 'focus', isFocused: false },
  ])
})

test('a character may arrive in several chunks', () => {
  const { push } = decoded()
  const bytes = Buffer.from('é日👍')
  const pieces = Array.from(bytes, (byte) => Uint8Array.of(byte))
  expect(push(...pieces)).toEqual([text('é'), text('日'), text('👍')])
})

test('an unknown sequence is dropped whole, however it is split', () => {
  const unknown = [
    '\x1b[15~', // F5
    '\x1b[[A', // F1 of the Linux console
    '\x1b[?1;2c',
    '\x1b[38:5:1m',
    '\x1bOP',
    `\x1b[${'1;'.repeat(500)}y`,
    '\x1b[57358u', // Caps Lock
    '\x1b[97;9u', // Super and a
    '\x1b[97;1:3u', // a is released
    '\x1b[1;1:3A',
    '\x1b[99;7u', // Ctrl, Alt and c
    '\x1b[1114112u',
    '\x1b[55296u',
    '\x1b[201~',
    '\x1b]52;c;eWVz\x07',
    '\x1b]0;y\x1b\\',
    '\x1bPy\r\x1b\\',
    '\x9b15~',
  ]
  fc.assert(
    fc.property(fc.constantFrom(...unknown), fc.nat(12), (sequence, cut) => {
      const { push } = decoded()
      const chunks = [sequence.slice(0, cut), sequence.slice(cut)]
      expect(push(...chunks, '.')).toEqual([text('.')])
    }),
  )
})

test('a lone ESC becomes a key after a moment and does not start a sequence with later input', async () => {
  const { push, clock, keys } = decoded()
  expect(push('\x1b')).toEqual([])
  await clock.advance(29)
  expect(keys).toEqual([])
  await clock.advance(1)
  expect(keys.splice(0)).toEqual([{ type: 'escape' }])
  expect(push('[A')).toEqual([text('[A')])
  expect(push('\x1b\x1b[A')).toEqual([{ type: 'escape' }, { type: 'up' }])
  expect(clock.pending).toBe(0)
})

test('an endless sequence is dropped after a while, and Ctrl-C works in the middle of one', async () => {
  const { push, clock } = decoded()
  for (const begun of ['\x1b[1;', '\x1bO', '\x1b]0;title']) {
    expect(push(begun, '\x03')).toEqual([{ type: 'ctrl', key: 'c' }])
    push(begun)
    await clock.advance(1000)
    expect(push('a')).toEqual([text('a')])
  }
  expect(push('\x1b', '\x03')).toEqual([{ type: 'escape' }, { type: 'ctrl', key: 'c' }])
})

test('a paste is one text with its newlines, and its control characters are no keys', () => {
  const { push } = decoded()
  const pasted = (typed: string): Key => ({ type: 'text', text: typed, isPaste: true })
  expect(push('a\x1b[200~y\r\nb\rc\td\x03\x1b[A\x1b[201~z')).toEqual([text('a'), pasted('y\nb\nc\td[A'), text('z')])
  expect(push(...'\x1b[200~two\rlines\x1b[201~')).toEqual([pasted('two\nlines')])
  expect(push('\x1b[200~\x1b[201~')).toEqual([])
})

test('a paste may contain parts of its end sequence any number of times', () => {
  const { push } = decoded()
  expect(push('\x1b[200~a\x1b\x1b[20~b\x1b[201\x1b[201~c')).toEqual([
    { type: 'text', text: 'a[20~b[201', isPaste: true },
    text('c'),
  ])
  const [long] = push(`\x1b[200~${'~'.repeat(400_000)}`, '\x1b[201~')
  expect(long?.type === 'text' && long.text.length).toBe(400_000)
})

test('UI80 a paste that stalls for seconds stays one paste; without its end sequence it is emitted after a while', async () => {
  const { push, clock, keys } = decoded()
  expect(push('\x1b[200~one\r')).toEqual([])
  await clock.advance(9000)
  expect(push('two\r', '\x1b[201~')).toEqual([{ type: 'text', text: 'one\ntwo\n', isPaste: true }])
  expect(push('\x1b[200~half')).toEqual([])
  await clock.advance(10_000)
  expect(keys.splice(0)).toEqual([{ type: 'text', text: 'half', isPaste: true }])
  expect(push('\r')).toEqual([{ type: 'enter' }])
})

test('UI10 a paste that the terminal does not mark is found by its size and its newlines, over several chunks', async () => {
  const { push, clock, keys } = decoded()
  expect(push('function discounted(items) {\r\n\treturn 1\r', 'still the same\r')).toEqual([])
  await clock.advance(100)
  expect(keys.splice(0)).toEqual([
    { type: 'text', text: 'function discounted(items) {\n\treturn 1\nstill the same\n', isPaste: true },
  ])
  expect(push('function discounted(items) {\r\treturn 1', '\x03')).toEqual([
    { type: 'text', text: 'function discounted(items) {\n\treturn 1', isPaste: true },
    { type: 'ctrl', key: 'c' },
  ])
  expect(push('what a fast person types in one go\r')).toEqual([
    text('what a fast person types in one go'),
    { type: 'enter' },
  ])
  expect(push('y\ry\r').map(({ type }) => type)).toEqual(['text', 'enter', 'text', 'enter'])
})

test('UI11 any text that is pasted arrives as it was, however its bytes are cut', () => {
  const pasted = fc.array(
    fc.oneof(fc.string({ unit: 'grapheme' }), fc.constantFrom('\r', '\r\n', '\x1b[201', '\x1b[20', '\x1b', '日本👍')),
  )
  fc.assert(
    fc.property(pasted, fc.array(fc.nat(200), { maxLength: 8 }), (pieces, cuts) => {
      const body = pieces.join('')
      const bytes = Buffer.from(`\x1b[200~${body}\x1b[201~`)
      const places = [0, ...cuts.map((cut) => Math.min(cut, bytes.length)).sort((a, b) => a - b), bytes.length]
      const { push } = decoded()
      const keys = push(...places.map((from, i) => bytes.subarray(from, places[i + 1] ?? from)))
      const expected = cleanText(body)
      fc.pre(!body.includes('\x1b[201~'))
      expect(keys).toEqual(expected === '' ? [] : [{ type: 'text', text: expected, isPaste: true }])
    }),
  )
})

test('whatever bytes arrive, text has no control characters, and later keys work', async () => {
  const some = fc.oneof(
    fc.uint8Array({ maxLength: 20 }),
    fc.constantFrom('\x1b[', '\x1bO', '\x1b]', '\x1b[200~', '\x1b'),
  )
  await fc.assert(
    fc.asyncProperty(fc.array(some, { maxLength: 12 }), async (chunks) => {
      const { push, clock, keys } = decoded()
      const before = push(...chunks)
      await clock.advance(10_000)
      for (const key of [...before, ...keys.splice(0)])
        if (key.type === 'text')
          expect(key.text).toBe(key.isPaste ? cleanText(key.text) : key.text.replace(/\p{Cc}/gu, ''))
      push(Buffer.from('\ufffd')) // ends a character that was cut
      await clock.advance(10_000)
      keys.splice(0)
      expect(push('\x1b[A').at(-1)).toEqual({ type: 'up' })
    }),
  )
})

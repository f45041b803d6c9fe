import fc from 'fast-check'
import { expect, test } from 'vitest'
import { fakeClock } from '../../testing/fake-clock.ts'
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
  expect(push('\n', '\t', '\x7f', '\b')).toEqual([{ type: 'tab' }, { type: 'backspace' }, { type: 'backspace' }])
  expect(push('\x03\x15a')).toEqual([{ type: 'ctrl', key: 'c' }, { type: 'ctrl', key: 'u' }, text('a')])
  expect(push('\x00\x1f')).toEqual([])
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
    '\x1by', // Alt and y: not a yes
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
  await clock.advance(49)
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

test('a paste without its end sequence is emitted after a while', async () => {
  const { push, clock, keys } = decoded()
  expect(push('\x1b[200~half')).toEqual([])
  await clock.advance(1000)
  expect(keys.splice(0)).toEqual([{ type: 'text', text: 'half', isPaste: true }])
  expect(push('\r')).toEqual([{ type: 'enter' }])
})

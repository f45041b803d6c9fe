import { PassThrough } from 'node:stream'
import { expect, test } from 'vitest'
import type { Io } from '../../cli/io.ts'
import type { Key } from './key-decoder.ts'
import { openKeyboard } from './keyboard.ts'

type Fake = PassThrough & { isTTY?: boolean; modes: boolean[]; refs: string[]; setRawMode(raw: boolean): void }

function stream({ isTTY }: { isTTY: boolean }): Fake {
  const modes: boolean[] = []
  const refs: string[] = []
  return Object.assign(new PassThrough(), {
    isTTY,
    modes,
    refs,
    setRawMode: (raw: boolean) => void modes.push(raw),
    ref: () => refs.push('ref'),
    unref: () => refs.push('unref'),
  })
}

const written = (output: Fake): string => String(output.read() ?? '')
const io = (stdin: Fake, stderr: Fake): Pick<Io, 'stdin' | 'stderr'> => ({ stdin, stderr })

/** A stream emits its data later. */
const settled = () => new Promise((resolve) => setImmediate(resolve))

test('raw mode and bracketed paste are on only while there is a reader', async () => {
  const [stdin, stderr] = [stream({ isTTY: true }), stream({ isTTY: true })]
  const keyboard = openKeyboard(io(stdin, stderr))!
  expect([stdin.modes, written(stderr)]).toEqual([[], ''])
  const keys: Key[] = []
  const stop = keyboard.read((key) => keys.push(key))
  expect([stdin.modes, written(stderr)]).toEqual([[true], '\x1b[?2004h'])
  stdin.write('a')
  await settled()
  stop()
  stop()
  expect([stdin.modes, written(stderr), stdin.isPaused()]).toEqual([[true, false], '\x1b[?2004l', true])
  expect(stdin.refs).toEqual(['ref', 'unref'])
  stdin.write('b')
  await settled()
  expect(keys).toEqual([{ type: 'text', text: 'a' }])
})

test('every mode that is switched on is switched off again, in reverse order', () => {
  const [stdin, stderr] = [stream({ isTTY: true }), stream({ isTTY: true })]
  const stop = openKeyboard(io(stdin, stderr), { modes: 'all' })!.read(() => {})
  expect(written(stderr)).toBe('\x1b[?2004h\x1b[>1u\x1b[>4;2m\x1b[0m\x1b[?1004h')
  stop()
  expect(written(stderr)).toBe('\x1b[?1004l\x1b[>4m\x1b[0m\x1b[<u\x1b[?2004l')
})

test('the keyboard can be closed while it is being read', () => {
  const [stdin, stderr] = [stream({ isTTY: true }), stream({ isTTY: true })]
  const keyboard = openKeyboard(io(stdin, stderr))!
  keyboard.read(() => {})
  keyboard.close()
  keyboard.close()
  expect(stdin.modes).toEqual([true, false])
  expect(stdin.destroyed).toBe(false)
  expect(() => keyboard.read(() => {})).toThrow('closed')
})

test('a second reader is refused, and the next one does not get an incomplete sequence of the first', async () => {
  const stdin = stream({ isTTY: true })
  const keyboard = openKeyboard({ stdin })!
  const stop = keyboard.read(() => {})
  expect(() => keyboard.read(() => {})).toThrow('already has a reader')
  stdin.write('\x1b[')
  await settled()
  stop()
  const keys: Key[] = []
  keyboard.read((key) => keys.push(key))
  stdin.write('A')
  await settled()
  expect(keys).toEqual([{ type: 'text', text: 'A' }])
  keyboard.close()
})

test('a listener that stops in the middle of a chunk gets no more keys of it', async () => {
  const stdin = stream({ isTTY: true })
  const keyboard = openKeyboard({ stdin })!
  const keys: Key[] = []
  const stop = keyboard.read((key) => {
    keys.push(key)
    stop()
  })
  stdin.write('y\ry\r')
  await settled()
  expect(keys).toEqual([{ type: 'text', text: 'y' }])
})

test('when the terminal disappears the reader gets Ctrl-C', async () => {
  const stdin = stream({ isTTY: true })
  const keyboard = openKeyboard({ stdin })!
  const keys: Key[] = []
  keyboard.read((key) => keys.push(key))
  stdin.emit('error', new Error('EIO'))
  expect(keys).toEqual([{ type: 'ctrl', key: 'c' }])
  keyboard.close()
})

test('after the terminal has disappeared every later reader gets Ctrl-C', async () => {
  const stdin = stream({ isTTY: true })
  const keyboard = openKeyboard({ stdin })!
  const [first, second]: [Key[], Key[]] = [[], []]
  const stop = keyboard.read((key) => first.push(key))
  stdin.end()
  await settled()
  await settled()
  stop()
  keyboard.read((key) => second.push(key))
  await settled()
  const gone = [{ type: 'ctrl', key: 'c' }]
  expect([first, second]).toEqual([gone, gone])
  keyboard.close()
})

test('if stdin is a pipe the controlling terminal is used, provided stderr is a terminal', () => {
  const terminal = stream({ isTTY: true })
  const openTerminal = () => terminal
  const pipe = stream({ isTTY: false })
  expect(openKeyboard(io(pipe, stream({ isTTY: false })), { openTerminal })).toBeUndefined()
  expect(openKeyboard(io(pipe, stream({ isTTY: true })), { openTerminal: () => undefined })).toBeUndefined()
  const keyboard = openKeyboard(io(pipe, stream({ isTTY: true })), { openTerminal })!
  keyboard.read(() => {})
  expect([terminal.modes, pipe.modes]).toEqual([[true], []])
  keyboard.close()
  expect([terminal.modes, terminal.destroyed]).toEqual([[true, false], true])
})

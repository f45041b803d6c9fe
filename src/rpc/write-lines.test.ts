import { describe, expect, test } from 'vitest'
import type { ZotFrame } from './frames.ts'
import { zotFragment } from './frames.ts'
import { type Output, writeFrame, writeLines } from './write-lines.ts'

/** An output with a slow reader: the test completes each write. */
class Pipe implements Output {
  readonly writes: string[] = []
  readonly listeners: Record<string, (error?: Error) => void> = {}
  #done: ((error?: Error | null) => void) | undefined

  write(text: string, done: (error?: Error | null) => void): void {
    if (this.#done) throw new Error('two writes at once')
    this.writes.push(text)
    this.#done = done
  }

  on(event: string, listener: (error?: Error) => void): void {
    this.listeners[event] = listener
  }

  get isWriting(): boolean {
    return this.#done !== undefined
  }

  read(error?: Error): void {
    const done = this.#done
    this.#done = undefined
    done?.(error)
  }

  readAll(): void {
    for (let i = 0; i < 1000 && this.isWriting; i++) this.read()
  }

  get frames(): ZotFrame[] {
    return this.writes
      .join('')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as ZotFrame)
  }
}

const text = (delta: string): ZotFrame => ({ type: 'text_delta', delta })
const args = (id: string, delta: string): ZotFrame => ({ type: 'tool_use_args', id, delta })
const progress = (id: string, said: string): ZotFrame => ({ type: 'tool_progress', id, text: said })
const done: ZotFrame = { type: 'done' }

describe('FC-02 while the reader is slow', () => {
  test('there is one write at a time, and the order stays', () => {
    const { pipe, writer } = open()
    for (let step = 1; step <= 50; step++) writer.write({ type: 'turn_start', step })
    expect(pipe.writes).toHaveLength(1)
    pipe.readAll()
    expect(pipe.frames).toEqual(Array.from({ length: 50 }, (_, i) => ({ type: 'turn_start', step: i + 1 })))
  })

  test('neighbouring fragments of one text are joined, and nothing else', () => {
    const { pipe, writer } = open()
    const sent = [
      done,
      ...[text('a'), text('b'), args('1', 'c'), args('1', 'd'), args('2', 'e'), text('f')],
      ...[progress('1', 'g'), progress('1', 'h'), progress('2', 'i'), done, done, text('j')],
    ]
    for (const frame of sent) writer.write(frame)
    pipe.readAll()
    expect(pipe.frames).toEqual([
      ...[done, text('ab'), args('1', 'cd'), args('2', 'e'), text('f'), progress('1', 'gh'), progress('2', 'i')],
      ...[done, done, text('j')],
    ])
  })

  test('a joined fragment stays short, and nothing is lost', () => {
    const { pipe, writer } = open()
    for (let i = 0; i < 300; i++) writer.write(text(String(i % 10).repeat(1000)))
    pipe.readAll()
    const deltas = pipe.frames.map((frame) => (frame as { delta: string }).delta)
    expect(deltas.join('')).toBe(Array.from({ length: 300 }, (_, i) => String(i % 10).repeat(1000)).join(''))
    expect(Math.max(...deltas.map((delta) => delta.length))).toBeLessThanOrEqual(64 * 1024)
    expect(deltas.length).toBeLessThan(10)
  })

  test('a stream has to wait until enough has been read', async () => {
    const { pipe, writer } = open(100)
    writer.write(done)
    expect(writer.ready()).toBeUndefined()
    writer.write(text('x'.repeat(200)))
    let isReady = false
    const waits = writer.ready()!.then(() => {
      isReady = true
    })
    expect(writer.ready(1000)).toBeUndefined()
    await Promise.resolve()
    expect(isReady).toBe(false)
    pipe.readAll()
    await waits
    expect(writer.ready()).toBeUndefined()
  })

  test('a joined fragment counts with its whole size', () => {
    const { writer } = open(100)
    writer.write(done)
    for (let i = 0; i < 10; i++) writer.write(text('0123456789'))
    expect(writer.ready()).toBeInstanceOf(Promise)
  })
})

test('frames are joined only if the caller defines their fragments', () => {
  const pipe = new Pipe()
  const writer = writeLines(pipe)
  for (const frame of [done, text('a'), text('b')]) writer.write(frame)
  pipe.readAll()
  expect(pipe.frames).toEqual([done, text('a'), text('b')])
})

test('FC-12 it is drained when the last line has been written', async () => {
  const { pipe, writer } = open()
  for (let i = 0; i < 200; i++) writer.write({ type: 'error', message: 'x'.repeat(50_000) })
  let isDrained = false
  const drained = writer.drained().then(() => {
    isDrained = true
  })
  for (let i = 0; pipe.isWriting && i < 1000; i++) {
    await Promise.resolve()
    expect(isDrained).toBe(false)
    pipe.read()
  }
  await drained
  expect(pipe.frames).toHaveLength(200)
  expect(pipe.writes.at(-1)!.endsWith('\n')).toBe(true)
})

describe('FC-06 when the output is closed', () => {
  const broken = Object.assign(new Error('write EPIPE'), { code: 'EPIPE' })
  const ways: Record<string, (pipe: Pipe) => void> = {
    'a write fails': (pipe) => pipe.read(broken),
    'the output reports an error': (pipe) => pipe.listeners.error!(broken),
    'the output is closed': (pipe) => pipe.listeners.close!(),
  }
  test.for(Object.entries(ways))('because %s, the handler is called once and nothing waits', async ([, fail]) => {
    const { pipe, writer, closed } = open(10)
    writer.write(done)
    writer.write(text('a text that is never read'))
    const [ready, drained] = [writer.ready(), writer.drained()]
    fail(pipe)
    fail(pipe)
    pipe.listeners.close!()
    await ready
    await drained
    expect(closed).toHaveLength(1)
    writer.write(done)
    expect(writer.isClosed).toBe(true)
    expect(writer.ready()).toBeUndefined()
    expect(pipe.writes).toHaveLength(1)
  })

  test('because a write throws, the error is not passed on', () => {
    const told: unknown[] = []
    const output: Output = {
      write() {
        throw broken
      },
    }
    const writer = writeLines(output, { onClosed: (error) => told.push(error) })
    writer.write(done)
    writer.write(done)
    expect(told).toEqual([broken])
  })
})

test('a synchronous output gets every line separately', () => {
  const lines: string[] = []
  const writer = writeLines({
    write(line, told) {
      lines.push(line)
      told()
    },
  })
  for (let i = 0; i < 3; i++) writer.write(done)
  expect(lines).toEqual(Array.from({ length: 3 }, () => '{"type":"done"}\n'))
})

function open(mostQueued?: number) {
  const pipe = new Pipe()
  const closed: unknown[] = []
  const writer = writeLines(pipe, { fragmentOf: zotFragment, onClosed: (error) => closed.push(error), mostQueued })
  return { pipe, writer, closed }
}

test('C001 a frame is one line of bare JSON, ended by LF, with its keys in order at every depth', () => {
  const frame = { type: 'tool_call', name: 'bash', id: 'c1', args: { z: 1, a: [{ y: 1, b: 'two\nlines' }] } }
  expect(writeFrame(frame)).toBe(
    '{"args":{"a":[{"b":"two\\nlines","y":1}],"z":1},"id":"c1","name":"bash","type":"tool_call"}\n',
  )
})

test('SV-19 characters that some readers take for line breaks are escaped', () => {
  const text = 'one\u2028two\u2029three\r\n'
  const line = writeFrame({ text })
  expect(line).not.toMatch(/[\u2028\u2029\r]/)
  expect(line.indexOf('\n')).toBe(line.length - 1)
  expect(JSON.parse(line)).toEqual({ text })
})

test('half a character is replaced, because strict readers refuse a line that has one', () => {
  expect(JSON.parse(writeFrame({ text: 'a\ud83d', list: ['\ude00'] }))).toEqual({ text: 'a\ufffd', list: ['\ufffd'] })
})

test('SV-19 a key named __proto__ is a key like any other', () => {
  const args = JSON.parse('{"__proto__":{"a":1},"constructor":2}') as object
  expect(writeFrame({ args })).toBe('{"args":{"__proto__":{"a":1},"constructor":2}}\n')
})

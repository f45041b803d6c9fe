import fc from 'fast-check'
import { describe, expect } from 'vitest'
import { type Family, families } from '../../test/faults/fault-streams.ts'
import { rounds, testInTurns } from '../../test/soak.ts'
import type { ModelEvent, ModelRequest } from '../core/provider.ts'
import { headOf } from '../core/text.ts'
import { ReplyReader, SseReader } from './sse.ts'
import { StreamError } from './wire.ts'

const test = testInTurns(2)

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text)

function payloads(...chunks: readonly Uint8Array[]): string[] {
  const read: string[] = []
  const reader = new SseReader((data) => read.push(data))
  for (const chunk of chunks) reader.read(chunk)
  reader.end()
  return read
}

/** The bytes in pieces that begin at these places. */
function pieces(bytes: Uint8Array, cuts: readonly number[]): Uint8Array[] {
  const at = [0, ...cuts.map((one) => one % (bytes.length + 1)).sort((a, b) => a - b), bytes.length]
  return at.slice(1).map((end, i) => bytes.subarray(at[i], end))
}

const streams: readonly (readonly [what: string, stream: string, payloads: readonly string[]])[] = [
  [
    'events with names, ids and times',
    'id: 7\nevent: a\nretry: 10\ndata: {"x":1}\n\nevent: b\ndata: 2\n\n',
    ['{"x":1}', '2'],
  ],
  [
    'characters of two, three and four bytes',
    'data: Grüße, 世界 🌍👩‍👩‍👧 é\n\ndata: 🏳️‍🌈\n\n',
    ['Grüße, 世界 🌍👩‍👩‍👧 é', '🏳️‍🌈'],
  ],
  ['CRLF', 'event: a\r\ndata: one\r\n\r\ndata: two\r\ndata: three\r\n\r\n', ['one', 'two\nthree']],
  ['a lone CR', 'data: one\r\rdata: two\rdata: three\r\r', ['one', 'two\nthree']],
  ['every kind of line end at once', 'data: a\r\n\ndata: b\n\rdata: c\r\r\ndata: d\n\r\n', ['a', 'b', 'c', 'd']],
  ['a byte order mark', '\uFEFFdata: one\n\ndata: \uFEFFtwo\n\n', ['one', '\uFEFFtwo']],
  ['two byte order marks, of which one is too many', '\uFEFF\uFEFFdata: one\n\ndata: two\n\n', ['two']],
  ['comments', ': hello\n\ndata: one\n:\n: ping\n\n:ping\n\ndata: two\n\n', ['one', 'two']],
  ['data in several lines', 'data: {\ndata:  "a": 1\ndata\ndata: }\n\n', ['{\n "a": 1\n\n}']],
  ['no space after the colon, or two', 'data:one\n\ndata:  two\n\ndata:\n\n', ['one', ' two', '']],
  ['no empty line at the end', 'data: one\n\ndata: two\n', ['one', 'two']],
  ['no line end at the end', 'data: one\n\ndata: [DONE]', ['one', '[DONE]']],
  ['half a character at the end', 'data: one\n\ndata: x\u{1F30D}'.slice(0, -1), ['one', 'x\uFFFD']],
  ['unknown fields', 'foo: bar\ndata: one\nretry: soon\nid: a\0b\ndatum: x\ndata : y\n\n\n\n', ['one']],
  ['nothing', '', []],
  ['NUL', 'data: a\0b\n\n', ['a\0b']],
]

describe('FP-16 however the bytes are cut, the same events come out of a stream with', () => {
  test.each(streams)('%s', (_, stream, expected) => {
    const bytes = bytesOf(stream)
    expect(payloads(bytes)).toEqual(expected)
    expect(payloads(...[...bytes].map((byte) => Uint8Array.of(byte)))).toEqual(expected)
    // Empty pieces, too: at 0 and at the end.
    for (let first = 0; first <= bytes.length; first++)
      for (let second = first; second <= bytes.length; second++) {
        const read = payloads(bytes.subarray(0, first), bytes.subarray(first, second), bytes.subarray(second))
        if (read.join('|') !== expected.join('|'))
          expect({ first, second, read }).toEqual({ first, second, read: expected })
      }
  })

  test('a byte order mark that was encoded twice, which is no mark but an unknown field', () => {
    const bytes = bytesOf('\u00EF\u00BB\u00BFdata: one\n\ndata: two\n\n')
    for (let at = 0; at <= bytes.length; at++) expect(payloads(...pieces(bytes, [at]))).toEqual(['two'])
  })

  test('a piece that is longer than what is read at once', () => {
    const long = '🌍'.repeat(20_000)
    const bytes = bytesOf(`data: ${long}\r\n\r\n: ${long}\r\ndata: x${long}\r\n\r\n`)
    expect(payloads(bytes)).toEqual([long, `x${long}`])
  })

  test('anything at all', () => {
    const line = fc.constantFrom(
      'data: ',
      'data:',
      ':',
      '\n',
      '\r',
      '\r\n',
      '\n\n',
      'event: x',
      '🌍',
      'ü',
      '\uFEFF',
      '\0',
      'a',
    )
    const stream = fc.array(line, { maxLength: 40 }).map((parts) => bytesOf(parts.join('')))
    const cuts = fc.array(fc.nat(200), { maxLength: 12 })
    fc.assert(
      fc.property(fc.oneof(stream, fc.uint8Array({ maxLength: 200 })), cuts, (bytes, at) => {
        expect(payloads(...pieces(bytes, at))).toEqual(payloads(bytes))
      }),
      { numRuns: rounds(800, 3000) },
    )
  })
})

const request = { model: 'm', tools: [] } as unknown as ModelRequest

/** Everything that comes out, a failure last. */
function decoded(family: Family, chunks: readonly Uint8Array[]): unknown[] {
  const reader = new ReplyReader(family.wire().decoder(request))
  const out: ModelEvent[] = []
  for (const chunk of chunks) {
    reader.read(chunk)
    out.push(...reader.takeEvents())
  }
  reader.end()
  out.push(...reader.takeEvents())
  const { failure } = reader
  return failure ? [...out, { failure: failure.message, code: failure.code }] : out
}

const said = {
  text: ['Grüße', ' 🌍', '', ' "quoted"\n', '世界'],
  calls: [{ id: 'c1', name: 'look', args: ['{"wh', 'ere":"🏳️', '‍🌈"}'] }],
}
const textIn = (events: readonly unknown[]): string =>
  (events as ModelEvent[]).map((event) => (event.type === 'text' ? event.delta : '')).join('')

describe.each(families)('FP-16 however the bytes of $name are cut', (family) => {
  const frames = family.frames(said)
  const variants: Record<string, string> = {
    'as they are': frames.join(''),
    'with CRLF, a byte order mark and comments': `\uFEFF: hi\r\n\r\n${frames.join(': ping\r\n').replaceAll('\n', '\r\n').replaceAll('\r\r', '\r')}`,
    'with a lone CR and without an end': frames.join('').replaceAll('\n', '\r').trimEnd(),
    'with data in several lines': frames.join('').replaceAll(/data: \{(?=.)/g, 'data: {\ndata:'),
  }

  test.each(Object.entries(variants))('the same events come out, %s', (_, stream) => {
    const bytes = bytesOf(stream)
    const whole = decoded(family, [bytes])
    expect(textIn(whole)).toBe(said.text.join(''))
    expect(whole.at(-1)).toMatchObject({
      type: 'reply',
      content: [
        { type: 'text', text: said.text.join('') },
        { type: 'tool_call', name: 'look' },
      ],
    })
    const expected = JSON.stringify(whole)
    for (let at = 0; at <= bytes.length; at++) {
      const two = decoded(family, [bytes.subarray(0, at), bytes.subarray(at)])
      if (JSON.stringify(two) !== expected) expect({ at, two }).toEqual({ at, two: whole })
    }
    expect(
      JSON.stringify(
        decoded(
          family,
          [...bytes].map((byte) => Uint8Array.of(byte)),
        ),
      ),
    ).toBe(expected)
    fc.assert(
      fc.property(fc.array(fc.nat(bytes.length), { maxLength: 30 }), (cuts) => {
        expect(JSON.stringify(decoded(family, pieces(bytes, cuts)))).toBe(expected)
      }),
      { numRuns: rounds(60, 200) },
    )
  })

  test('a failure lies behind what came before it, and nothing comes behind it', () => {
    const bytes = bytesOf([...frames.slice(0, -1), 'data: {"half\n\n', ...frames].join(''))
    const whole = decoded(family, [bytes])
    expect(whole.at(-1)).toMatchObject({ code: 'bad_json' })
    expect(textIn(whole.slice(0, -1))).toBe(said.text.join(''))
    for (let at = 0; at <= bytes.length; at += 7) expect(decoded(family, pieces(bytes, [at]))).toEqual(whole)
  })

  test('what follows a reply is not looked at', () => {
    const end = family.name === 'google' ? '' : 'data: {"half\n\nevent: error\ndata: {"type":"error"}\n\n'
    const bytes = bytesOf(frames.join('') + end)
    for (let at = 0; at <= bytes.length; at += 7)
      expect(decoded(family, pieces(bytes, [at])).at(-1)).toMatchObject({ type: 'reply' })
  })
})

/** Small, fast, and the same in every run. */
function dice(seed: number): (sides: number) => number {
  let state = seed
  return (sides) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return Math.floor((state / 2 ** 32) * sides)
  }
}

const junk: readonly unknown[] = [
  ...[null, true, 0, -1, 1e308, '', 'x', '\ud83d', '\0', [], {}, [null], [[]], '[DONE]', '__proto__', 'constructor'],
  ...[
    { toString: 1, valueOf: 1 },
    { length: 1e9 },
    { __proto__: null },
    { type: 'error' },
    { type: 'tool_use', input: 5 },
  ],
  JSON.parse('{"__proto__":{"input_tokens":"x"},"constructor":null,"toString":null}'),
  'deep',
]
const deep = `${'['.repeat(20_000)}${']'.repeat(20_000)}`

/** The value with something else somewhere in it. */
function spoilt(value: unknown, roll: (sides: number) => number): unknown {
  if (typeof value !== 'object' || value === null || roll(6) === 0) return junk[roll(junk.length)]
  const entries = Object.entries(value)
  if (entries.length === 0) return junk[roll(junk.length)]
  const [key, inner] = entries[roll(entries.length)]!
  if (Array.isArray(value)) return value.with(Number(key), spoilt(inner, roll))
  return { ...value, [roll(8) === 0 ? 'other' : key]: spoilt(inner, roll) }
}

function isEvent(event: ModelEvent): boolean {
  switch (event.type) {
    case 'text':
    case 'thinking':
      return typeof event.delta === 'string'
    case 'tool_start':
      return typeof event.id === 'string' && typeof event.name === 'string'
    case 'tool_args':
      return typeof event.id === 'string' && typeof event.delta === 'string'
    case 'tool_end':
      return typeof event.id === 'string'
    case 'reply':
      return Array.isArray(event.content)
    default:
      return event.type === 'start'
  }
}

describe('fuzzed frames', () => {
  const frames = rounds(20_000, 100_000)
  const real = families.flatMap((family) => family.frames(said))

  function fuzzed(roll: (sides: number) => number): Uint8Array {
    const kind = roll(8)
    if (kind === 0) return Uint8Array.from({ length: roll(120) }, () => roll(256))
    if (kind === 1) return bytesOf(['\0', '\n\n', '\r', 'data:', 'data: [DONE]\n\n', ': \r\n', '\uFEFF'][roll(7)]!)
    const bytes = bytesOf(real[roll(real.length)]!)
    if (kind === 2 && roll(200) === 0) return new Uint8Array(1 << 18).fill(roll(256))
    if (kind < 5) for (let i = roll(6); i >= 0; i--) bytes[roll(bytes.length)] = roll(256)
    return kind === 5 ? bytes.subarray(roll(bytes.length)) : kind === 6 ? bytes.subarray(0, roll(bytes.length)) : bytes
  }

  test('are read without a crash, whatever the wire: out come events, or one failure that has a name', () => {
    const roll = dice(7)
    const counts = { events: 0, failures: 0, replies: 0 }
    let readers = families.map((family) => new ReplyReader(family.wire().decoder(request)))
    for (let i = 0; i < frames; i++) {
      const bytes = fuzzed(roll)
      const at = i % families.length
      const reader = readers[at]!
      const middle = roll(bytes.length + 1)
      reader.read(bytes.subarray(0, middle))
      reader.read(bytes.subarray(middle))
      if (roll(20) === 0) reader.end()
      const events = reader.takeEvents()
      counts.events += events.length
      if (events.at(-1)?.type === 'reply') counts.replies++
      else if (reader.failure) counts.failures++
      else continue
      if (reader.failure) expect(reader.failure).toBeInstanceOf(StreamError)
      readers = readers.with(at, new ReplyReader(families[at]!.wire().decoder(request)))
    }
    expect(Math.min(...Object.values(counts))).toBeGreaterThan(frames / 1000)
  })

  test.each(families)('of $name that are JSON, but not what they should be', ({ wire, frames }) => {
    const real = frames(said).flatMap((frame) => /^data: (\{.*)$/m.exec(frame)?.[1] ?? [])
    const roll = dice(11)
    const counts = { events: 0, failures: 0, replies: 0 }
    for (let i = 0; i < rounds(5_000, 25_000); ) {
      const reader = new ReplyReader(wire().decoder(request))
      for (const text of real) {
        const payload = roll(12) === 0 ? JSON.stringify(spoilt(JSON.parse(text), roll)) : text
        reader.read(bytesOf(`data: ${payload.replace('"deep"', deep)}\n\n`))
        i++
      }
      reader.end()
      const events = reader.takeEvents()
      counts.events += events.length
      expect(events.filter((event) => !isEvent(event))).toEqual([])
      if (reader.failure) counts.failures++
      if (events.at(-1)?.type === 'reply') counts.replies++
      expect(reader.failure === undefined).toBe(events.at(-1)?.type === 'reply')
      expect(reader.failure ?? new StreamError('')).toBeInstanceOf(StreamError)
    }
    expect(Math.min(...Object.values(counts))).toBeGreaterThan(rounds(3, 20))
  })
})

describe('memory', () => {
  test('is not kept of what was read', () => {
    const chunk = bytesOf(`data: ${'x'.repeat(1000)}\n\n`.repeat(1000))
    const before = process.memoryUsage().heapUsed
    let length = 0
    const reader = new SseReader((data) => {
      length += data.length
    })
    for (let i = 0; i < 300; i++) reader.read(chunk)
    expect(length).toBe(300 * 1000 * 1000)
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(200 * 1024 * 1024)
  })

  test('has an end where an event has none', () => {
    const chunk = new Uint8Array(1 << 20).fill(120)
    const reader = new SseReader(() => {})
    const fill = (): void => {
      for (let i = 0; i < 100; i++) reader.read(chunk)
    }
    expect(fill).toThrow(/an event of more than 67108864 characters/)
  })

  test('and time are not wasted on line ends of every kind', () => {
    // Looked through as a whole for each of its lines, this would take minutes.
    expect(payloads(bytesOf(`\r${'a\n'.repeat(20_000)}${'\r'.repeat(3_000_000)}data: x\n\n`))).toEqual(['x'])
  })
})

test('FP-33 a text is never cut in the middle of a character', () => {
  const text = 'a🌍b🏳️‍🌈c世'
  for (let length = 0; length <= text.length + 2; length++) {
    const beginning = headOf(text, length)
    expect(beginning.isWellFormed()).toBe(true)
    expect(text.startsWith(beginning) && beginning.length >= Math.min(length, text.length) - 1).toBe(true)
  }
})

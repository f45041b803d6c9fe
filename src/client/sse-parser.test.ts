import { createParser } from 'eventsource-parser'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type ServerSentEvent, SseParser } from './sse-parser.ts'

test('SV41 a stream that is cut anywhere gives the events that a well-known parser reads from it', () => {
  const piece = fc.constantFrom(
    'data: a',
    'data:b',
    'data',
    'event: x',
    'event:',
    ': note',
    'id: 3',
    'da',
    '\n',
    '\r',
    '\r\n',
    '\n\n',
    'é:',
  )
  fc.assert(
    fc.property(
      fc.array(piece, { maxLength: 40 }),
      fc.array(fc.nat({ max: 7 }), { minLength: 1, maxLength: 20 }),
      (pieces, cuts) => {
        const text = pieces.join('')
        const expected: ServerSentEvent[] = []
        const known = createParser({ onEvent: ({ event = 'message', data }) => expected.push({ event, data }) })
        known.feed(text)
        expect(readInPieces(text, cuts)).toEqual(expected)
      },
    ),
  )
})

test('SV41 an event whose end is missing is not given', () => {
  const parser = new SseParser()
  expect(parser.feed('event: entry\ndata: {"a":1}\n\nevent: entry\ndata: {"a":')).toEqual([
    { event: 'entry', data: '{"a":1}' },
  ])
  expect(parser.feed('2}\n')).toEqual([])
  expect(parser.feed('\n')).toEqual([{ event: 'entry', data: '{"a":2}' }])
})

function readInPieces(text: string, sizes: readonly number[]): ServerSentEvent[] {
  const parser = new SseParser()
  const events: ServerSentEvent[] = []
  for (let at = 0, i = 0; at < text.length; i++) {
    const size = sizes[i % sizes.length]! + 1
    events.push(...parser.feed(text.slice(at, at + size)))
    at += size
  }
  return events
}

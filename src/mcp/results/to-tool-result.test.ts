import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { toolOutputByteLength } from '../../core/tool-output.ts'
import { normalizeResult } from '../../core/tool-result.ts'
import { toToolResult } from './to-tool-result.ts'

const from = { server: 'files', tool: 'read' }
const resultOf = (...content: unknown[]) => toToolResult({ content }, from)
const outputOf = (...content: unknown[]) => resultOf(...content).output
const text = (value: unknown) => ({ type: 'text', text: value })
const tags = String.fromCodePoint(0xe0049, 0xe0047)

const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const gif = 'R0lGODlhAQABAAAAACH5BAEKAAEALAAAAAABAAEAAAICTAEAOw=='

test('text is text, and an error is an error', () => {
  expect(resultOf(text('a'), text('b'))).toEqual({ output: 'a\nb', isError: false, details: from })
  expect(toToolResult({ content: [text('no')], isError: true }, from)).toMatchObject({ output: 'no', isError: true })
  expect(toToolResult({ content: [text('no')], isError: 'yes' }, from).isError).toBe(false)
})

test('an empty result says so', () => {
  expect(outputOf()).toBe('(no output)')
  expect(outputOf(text(''))).toBe('(no output)')
})

describe('the type of an image is read from its bytes', () => {
  test('a wrong type is corrected, and line breaks are removed', () => {
    const sent = { type: 'image', data: `${png.slice(0, 40)}\r\n${png.slice(40)}`, mimeType: 'image/jpeg' }
    expect(outputOf(text('here'), sent)).toEqual([text('here'), { type: 'image', mediaType: 'image/png', data: png }])
    expect(outputOf({ type: 'image', data: gif })).toMatchObject([{ mediaType: 'image/gif' }])
  })

  test('an invalid, truncated or oversized image becomes a note', () => {
    const html = Buffer.from('<script>alert(1)</script>').toString('base64')
    expect(outputOf({ type: 'image', data: html, mimeType: 'image/png' })).toMatch(
      /^\[image: image\/png, \d+ bytes, left out: it is no PNG/,
    )
    expect(outputOf({ type: 'image', data: png.slice(0, 60), mimeType: 'image/png' })).toContain('damaged or cut off')
    expect(outputOf({ type: 'image', data: `${png}%%%%`, mimeType: 'image/png' })).toContain('it is no PNG')
    const large = Buffer.concat([Buffer.from(png, 'base64'), Buffer.alloc(4_000_000)]).toString('base64')
    expect(outputOf({ type: 'image', data: large, mimeType: 'image/png' })).toContain('larger than 3932160 bytes')
    expect(outputOf({ type: 'image', mimeType: '\u001b[2J' })).toBe('[image: ␛[2J, no data, left out: it has no data]')
  })

  test('of very many images only the first are kept', () => {
    const parts = outputOf(...Array.from({ length: 25 }, () => ({ type: 'image', data: png })))
    expect(Array.isArray(parts) && parts.filter(({ type }) => type === 'image')).toHaveLength(20)
    expect(Array.isArray(parts) && parts.at(-1)).toEqual(text('[image 25 left out: 20 are allowed in one result]'))
  })
})

test('MC-13 a link becomes text and is not opened', () => {
  const link = {
    type: 'resource_link',
    uri: 'file:///etc/passwd',
    name: 'users',
    mimeType: 'text/plain',
    description: `all${tags}`,
  }
  const { output, details } = resultOf(link)
  expect(output).toBe(
    '[link: "users" (text/plain) at "file:///etc/passwd"; not opened]\nall\n[2 invisible characters were taken out]',
  )
  expect(details).toEqual({ ...from, hidden: 2 })
  expect(outputOf({ type: 'resource_link', uri: 'http://a.test/\u001b[1m\n', name: 'n\u202e' })).toBe(
    '[link: "n\\u202e" at "http://a.test/␛[1m\\n"; not opened]',
  )
})

test('an embedded resource becomes its text, its image, or a note', () => {
  const uri = 'demo://a'
  const resource = (rest: object) => outputOf({ type: 'resource', resource: { uri, ...rest } })
  expect(resource({ text: 'hello' })).toBe('[resource "demo://a"]\nhello')
  expect(resource({ blob: png })).toEqual([
    text('[resource "demo://a"]'),
    { type: 'image', mediaType: 'image/png', data: png },
  ])
  expect(resource({ blob: 'UEsDBA==', mimeType: 'application/zip' })).toMatch(
    /^\[resource "demo:\/\/a": application\/zip, 6 bytes, left out/,
  )
})

test('audio and unknown blocks become notes', () => {
  expect(outputOf({ type: 'audio', data: 'AAAA', mimeType: 'audio/wav' })).toBe(
    '[audio: audio/wav, 3 bytes, which cannot be played here]',
  )
  expect(outputOf({ type: 'hologram\n', x: 1 })).toBe('[a block of the unknown type "hologram\\n" was left out]')
})

describe('structured content', () => {
  const structuredContent = { b: [1, 2], a: 'x' }
  const withText = (...texts: string[]) => toToolResult({ content: texts.map(text), structuredContent }, from)

  test('is shown if there is no text, or the text differs', () => {
    expect(toToolResult({ structuredContent }, from).output).toBe('{"b":[1,2],"a":"x"}')
    expect(withText('Found 2.').output).toBe('Found 2.\n{"b":[1,2],"a":"x"}')
  })

  test('is not shown twice', () => {
    expect(withText('{ "a": "x", "b": [1, 2] }').output).toBe('{ "a": "x", "b": [1, 2] }')
  })

  test('is kept for screens', () => {
    expect(withText('Found 2.').details).toEqual({ ...from, structuredContent })
  })

  test('PI-16 loses its invisible characters for the model', () => {
    const { output } = toToolResult({ structuredContent: { a: `x${tags}` } }, from)
    expect(output).toBe('{"a":"x"}\n[2 invisible characters were taken out]')
  })

  test('MC-08 names that reach a prototype are dropped from it', () => {
    const sent = JSON.parse('{"structuredContent":{"ok":1,"__proto__":{"x":1},"constructor":{"prototype":{"x":1}}}}')
    const result = toToolResult(sent, from)
    expect(result.output).toBe('{"ok":1}')
    expect(result.details).toEqual({ ...from, structuredContent: { ok: 1 } })
    expect(({} as { x?: unknown }).x).toBeUndefined()
  })

  test('that is too deep or too large is left out', () => {
    let deep: object = {}
    for (let i = 0; i < 20_000; i++) deep = { deep }
    expect(toToolResult({ structuredContent: deep }, from).output).toContain('too large or too deep')
    const { output, details } = toToolResult({ structuredContent: new Array(2_000_000).fill(1) }, from)
    expect(output).toContain('too large or too deep')
    expect(details).toEqual(from)
  })
})

test('the size of a JPEG is found behind any number of profiles and comments', () => {
  const remark = Buffer.concat([Buffer.from([0xff, 0xe2, 0xff, 0xff]), Buffer.alloc(0xffff - 2)])
  const jpeg = (side: number): string => {
    const frame = Buffer.from([0xff, 0xc0, 0, 17, 8, side >> 8, side & 255, side >> 8, side & 255, 3, 1, 0x22, 0])
    return Buffer.concat([Buffer.from([0xff, 0xd8]), remark, remark, frame, Buffer.from([0xff, 0xd9])]).toString(
      'base64',
    )
  }
  const sent = (side: number) => resultOf({ type: 'image', data: jpeg(side), mimeType: 'image/jpeg' }).output
  expect(sent(60_000)).toContain('more than 8000 pixels a side')
  expect(sent(100)).toMatchObject([{ type: 'image', mediaType: 'image/jpeg' }])
})

describe('MC-01 a result of any size is cut to the limit', () => {
  test('S14 a secret in an error is removed before a cut could split it', () => {
    const key = `sk-ant-${'a1B2'.repeat(8)}`
    const most = 256 * 1024
    for (const at of [most * 0.75 - 20, most * 0.75 - 2, 300_000 - most / 4 - 20]) {
      const long = `${'x'.repeat(at)} ${key} ${'x'.repeat(300_000)}`.slice(0, 300_000)
      const failed = { content: [text(long)], isError: true }
      const { output } = toToolResult(failed, { ...from, secrets: [] })
      expect(output).toContain('left out here')
      expect(output).not.toMatch(/sk-|a1B2/)
    }
  })

  test('the beginning and the end stay, and a mark states the size of the gap', () => {
    const { output } = resultOf(text(`begin${'é'.repeat(8_000_000)}end`))
    expect(toolOutputByteLength(output)).toBeLessThan(256 * 1024 + 200)
    expect(output).toMatch(/^beginé+\n\[… 15737864 of 16000008 bytes of text left out here …\]\né+end$/)
  })

  test('many blocks get one mark', () => {
    const { output } = resultOf(...Array.from({ length: 900 }, (_, i) => text(`<${i}>${'x'.repeat(1000)}`)))
    expect(String(output).match(/left out here/g)).toHaveLength(1)
    expect(String(output)).toMatch(/^<0>/)
    expect(String(output)).toContain('<899>')
    expect(toolOutputByteLength(output)).toBeLessThan(256 * 1024 + 1200)
  })

  test('a million blocks are cut', () => {
    const { output } = resultOf(...new Array(100_000).fill(text('a')))
    expect(String(output)).toContain('[99000 more blocks left out]')
  })

  test('the details for screens are bounded too', () => {
    expect(toToolResult({ structuredContent: { a: 'x'.repeat(3_000_000) } }, from).details).toEqual(from)
  })
})

test('PI-16 tag and bidi characters and escapes are removed from text and counted', () => {
  const { output, details } = resultOf(text(`ok${tags}\u202e\u001b[31m`), {
    type: 'resource',
    resource: { text: `b${tags}` },
  })
  expect(output).toBe('ok[31m\n[resource (nothing)]\nb\n[6 invisible characters were taken out]')
  expect(details).toEqual({ ...from, hidden: 6 })
})

test('an invalid result becomes an error that names the server', () => {
  for (const nothing of [undefined, null, 5, 'x', [], {}, { content: 'text' }, { content: {} }]) {
    const { output, isError } = toToolResult(nothing, from)
    expect(isError).toBe(true)
    expect(output).toContain('The MCP server "files" gave no result for the tool "read"')
  }
})

test('MC-01 any value becomes a result that can be stored', () => {
  const block = fc.oneof(
    fc.jsonValue(),
    fc.record({
      type: fc.constantFrom('text', 'image', 'audio', 'resource', 'resource_link', 'x'),
      text: fc.jsonValue(),
      data: fc.jsonValue(),
      uri: fc.jsonValue(),
      resource: fc.jsonValue(),
    }),
  )
  const answer = fc.record({ content: fc.oneof(fc.array(block), fc.jsonValue()), structuredContent: fc.jsonValue() })
  fc.assert(
    fc.property(answer, (result) => {
      const { output } = toToolResult(result, from)
      expect(normalizeResult(output).output).toEqual(output)
    }),
    { numRuns: 300 },
  )
})

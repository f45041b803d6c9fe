import { PassThrough, Writable } from 'node:stream'
import { expect, test } from 'vitest'
import { lineStream } from './serve-acp.ts'

test('AC21 a line that is too long gets an error, and the next one is read', async () => {
  const [input, output] = [new PassThrough(), new PassThrough()]
  const { readable } = lineStream(input, output, { maxBytes: 100 })
  const message = { jsonrpc: '2.0', method: 'a' }
  for (const line of ['x'.repeat(50), 'x'.repeat(60), '\n']) input.write(line)
  input.write(Buffer.from([0xff, 0x0a])) // no UTF-8
  input.end(`${JSON.stringify(message)}\n`)
  const read: unknown[] = []
  for await (const one of readable) read.push(one)
  expect(read).toEqual([message])
  const errors = String(output.read())
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  expect(errors).toEqual([
    { jsonrpc: '2.0', id: null, error: { code: -32700, message: expect.stringContaining('longer than 100 bytes') } },
    { jsonrpc: '2.0', id: null, error: { code: -32700, message: expect.stringContaining('UTF-8') } },
  ])
})

test('AC21 half of a surrogate pair is not written, because strict readers refuse it', async () => {
  const output = new PassThrough()
  const { writable } = lineStream(new PassThrough(), output)
  const writer = writable.getWriter()
  await writer.write({ jsonrpc: '2.0', method: 'a', params: { cut: 'x\ud83d', typed: '\\ud83d' } })
  const line = String(output.read())
  expect(JSON.parse(line).params).toEqual({ cut: 'x\ufffd', typed: '\\ud83d' })
  expect(line.endsWith('\n')).toBe(true)
})

test('AC21 when the client is gone, no write waits for a reader any more', async () => {
  const over = new AbortController()
  const output = new Writable({ write() {} }) // takes the first line, and never says so
  const { writable } = lineStream(new PassThrough(), output, { signal: over.signal })
  const written = writable.getWriter().write({ jsonrpc: '2.0', method: 'a' })
  over.abort()
  await expect(written).rejects.toThrow('The client is gone')
})

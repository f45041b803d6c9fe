import { expect, test } from 'vitest'
import { captureOutput, endOfText, mostKept as mostOutput } from './command-output.ts'

test('both streams are kept apart, and characters that come in pieces are put together', () => {
  const output = captureOutput()
  const bytes = Buffer.from('äö')
  for (const byte of bytes) output.write(Buffer.from([byte]), 'stdout')
  output.write(Buffer.from('err'), 'stderr')
  expect(output.end()).toEqual({ stdout: 'äö', stderr: 'err' })
})

test('of long output the end is kept, from a whole character on', () => {
  const output = captureOutput()
  const chunk = Buffer.from('ä'.repeat(500_000))
  for (let written = 0; written < mostOutput * 2.5; written += chunk.length) output.write(chunk, 'stdout')
  output.write(Buffer.from('!'), 'stdout')
  const { stdout } = output.end()
  expect(Buffer.byteLength(stdout)).toBe(mostOutput - 1)
  expect(stdout.startsWith('ää')).toBe(true)
  expect(stdout.endsWith('ä!')).toBe(true)
})

test('a text that is too long loses its beginning', () => {
  expect(endOfText('short')).toBe('short')
  const end = endOfText(`${'漢'.repeat(mostOutput / 2)}!`)
  expect(Buffer.byteLength(end)).toBeLessThanOrEqual(mostOutput)
  expect(end.startsWith('漢漢')).toBe(true)
  expect(end.endsWith('漢!')).toBe(true)
})

test('a listener receives whole characters, and may fail', () => {
  const heard: string[] = []
  const onOutput = (text: string, from: string) => {
    heard.push(`${from} ${text}`)
    throw new Error('the listener fails')
  }
  const output = captureOutput({ onOutput })
  const [a, b] = Buffer.from('ä')
  output.write(Buffer.from(['x'.charCodeAt(0), a!]), 'stdout')
  output.write(Buffer.from([b!]), 'stdout')
  output.write(Buffer.from([a!]), 'stderr')
  expect(heard).toEqual(['stdout x', 'stdout ä'])
  expect(output.end()).toEqual({ stdout: '', stderr: '' })
  expect(heard).toEqual(['stdout x', 'stdout ä', 'stderr \uFFFD'])
})

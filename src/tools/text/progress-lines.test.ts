import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ProgressLines } from '../shell/output-collector.ts'

function settled(...pieces: (string | [string, string])[]): { text: string; overwritten: number } {
  const lines = new ProgressLines()
  let text = ''
  for (const piece of pieces) {
    const [said, source] = typeof piece === 'string' ? [piece, 'stdout'] : piece
    text += lines.push(said, source)
  }
  text += lines.flush()
  return { text, overwritten: lines.overwritten }
}

test('of a line that overwrites itself the last state is kept', () => {
  expect(settled('10%\r50%\r100%\ndone\n')).toEqual({ text: '100%\ndone\n', overwritten: 2 })
})

test('also when every state comes on its own', () => {
  expect(settled('10%', '\r50%', '\r', '100%\r', '\n', 'done')).toEqual({ text: '100%\ndone', overwritten: 2 })
})

test('a CRLF is the end of a line, even when it comes in two pieces', () => {
  expect(settled('one\r', '\ntwo\r\nthree\r\r\n')).toEqual({ text: 'one\ntwo\nthree\n', overwritten: 0 })
})

test('one stream does not overwrite what another has written', () => {
  const mixed = settled(['50%\r', 'stderr'], ['data', 'stdout'], ['100%\n', 'stderr'])
  expect(mixed).toEqual({ text: '50%\ndata100%\n', overwritten: 0 })
})

test('a very long line is given out before its end', () => {
  const lines = new ProgressLines()
  expect(lines.push('x'.repeat(5000), 'stdout')).toHaveLength(5000)
  expect(lines.isHolding).toBe(false)
})

test('text without CR comes out as it went in, however it is cut', () => {
  const text = fc.string({ unit: fc.constantFrom('a', '\n', '漢'), maxLength: 30 })
  fc.assert(
    fc.property(fc.array(text), (pieces) => {
      expect(settled(...pieces)).toEqual({ text: pieces.join(''), overwritten: 0 })
    }),
  )
})

test('where the pieces are cut makes no difference', () => {
  const text = fc.string({ unit: fc.constantFrom('a', 'b', '\n', '\r'), maxLength: 30 })
  fc.assert(
    fc.property(text, (whole) => {
      expect(settled(...whole).text).toBe(settled(whole).text)
    }),
    { numRuns: 500 },
  )
})

test('a million CRs are read once', () => {
  expect(settled('\r'.repeat(1_000_000), `${'x'.repeat(1000)}\r`, 'y\n').text).toBe('y\n')
})

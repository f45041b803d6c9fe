import { describe, expect, test } from 'vitest'
import { sampleOf } from '../../../test/soak.ts'
import { CallScanner, scan } from './call-scanner.ts'
import { readReplyBlocks } from './reply-blocks.ts'
import type { Scanned, ScanOptions } from './text-call-pattern.ts'
import { allPatterns } from './text-call-pattern.ts'

const options: ScanOptions = { patterns: allPatterns() }

describe('D014 hostile lengths take linear work', () => {
  const length = 300_000
  const units = [
    ['openings without an end', '<tool_use'],
    ['openings with a space', '<tool_use '],
    ['whole openings', '<tool_use name="a">'],
    ['openings with JSON', '<tool_use name="a">{"'],
    ['openings, JSON and closings', `<tool_use name='a'>{"</tool_use>`],
    ['quotes that never close', '<tool_use a="'],
    ['closings', '</tool_use>'],
    ['closings in quotes', '<tool_use name="a">{"b":"</tool_use>'],
    ['quotes that open and, escaped, never close', '<tool_use name=a>{\\"</tool_use>'],
    ['wrappers', '<parallel_tool_calls>'],
    ['fences', '```\n'],
    ['fences with calls', '```xml\n<tool_use name="a">'],
    ['backticks', '`'],
    ['backticks and letters', '```a'],
    ['spaces', ' '],
    ['brackets', '['],
    ['less-than signs', '<'],
    ['thoughts', '\n<think>'],
    ['thoughts that end', '\n<think></think>'],
    ['thoughts that only end', '</think>'],
    ['thoughts that end in a line', 'x<think></think>'],
    ['thoughts that end behind a backtick', '`</think>'],
    ['thoughts that end in fences', '```\n</think>\n'],
    ['thoughts that end in fences with calls', '```\n<tool_use name="a">\n</think>\n'],
    ['thoughts that end in calls', '<tool_use name="a"></think>'],
    ['thoughts that end in strings', '<tool_use name="a">{"</think>'],
    ['thoughts that end in strings, and closings', '<tool_use name="a">{"x":"</think></tool_use>"'],
    ['comments', '\n<!-- --'],
    ['quoted lines', '\n> `'],
  ] as const
  test.each(sampleOf(units, 3))('%s', (_, unit) => {
    const text = unit.repeat(Math.ceil(length / unit.length))
    expect(scan(text, options).map(words).join('') === text).toBe(true)
    expect(inPieces(text, 7).map(words).join('') === text).toBe(true)
    const inside = `<tool_use name="a">{"x": "${text}`
    expect(inPieces(inside, 7).map(words).join('') === inside).toBe(true)
  })
})

describe('D013 large answers', () => {
  const nameOf = (name: string): string => name
  const read = (text: string) => readReplyBlocks([{ type: 'text', text }], { ...options, nameOf, idOf: nameOf })

  test('ten thousand calls in one answer', () => {
    const text = Array.from({ length: 10_000 }, (_, i) => `<tool_use name="a">{"x":${i}}</tool_use>`).join('\n')
    const calls = read(text)
    expect(calls).toHaveLength(10_000)
    expect(calls[9999]).toEqual({ type: 'tool_call', id: 'a', name: 'a', input: { x: 9999 } })
    expect(inPieces(text, 5).filter(({ type }) => type === 'call')).toHaveLength(10_000)
  })

  test.each([
    ['JSON', JSON.stringify],
    ['JSON5', (x: string) => `'${x.replaceAll('\n', '\\n')}'`],
    ['JSON with line breaks', (x: string) => `"${x}"`],
  ] as const)('a million characters of parameters, as %s', (_, quoted) => {
    const x = 'words, <b>words</b> </tool_use>\n'.repeat(32_000)
    const text = `<tool_use name="a">{"x":${quoted(x)}}</tool_use>`
    expect(read(text)).toMatchObject([{ type: 'tool_call', input: { x } }])
    expect(inPieces(text, 11).filter(({ type }) => type === 'call')).toHaveLength(1)
  })
})

function inPieces(text: string, size: number): Scanned[] {
  const scanner = new CallScanner(options)
  const found: Scanned[] = []
  for (let at = 0; at < text.length; at += size) found.push(...scanner.push(text.slice(at, at + size)))
  return [...found, ...scanner.end()]
}

function words(one: Scanned): string {
  if (one.type === 'text' || one.type === 'gap') return one.text
  return one.type === 'call' ? one.call.words.join('') : ''
}

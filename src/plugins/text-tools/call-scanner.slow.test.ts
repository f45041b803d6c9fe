import { describe, expect, test } from 'vitest'
import { CallScanner, scan } from './call-scanner.ts'
import type { Scanned, ScanOptions } from './scanned.ts'
import { allPatterns } from './text-call-pattern.ts'

const options: ScanOptions = { patterns: allPatterns() }

describe('D014 hostile lengths take linear work', () => {
  const length = 300_000
  test.each([
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
    ['comments', '\n<!-- --'],
    ['quoted lines', '\n> `'],
  ])('%s', (_, unit) => {
    const text = unit.repeat(Math.ceil(length / unit.length))
    expect(scan(text, options).map(words).join('') === text).toBe(true)
    expect(inPieces(text, 7).map(words).join('') === text).toBe(true)
    const inside = `<tool_use name="a">{"x": "${text}`
    expect(inPieces(inside, 7).map(words).join('') === inside).toBe(true)
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

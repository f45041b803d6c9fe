import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { checkGrammar, type Frame } from './check-grammar.ts'

const good = readFileSync(new URL('golden/tool-call.jsonl', import.meta.url), 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as Frame)
const at = (type: string): number => good.findIndex((frame) => frame.type === type)

test('a good run has no problems', () => {
  expect(checkGrammar(good)).toEqual([])
})

test('every missing frame is found, except optional ones', () => {
  const mayBeMissing = new Set(['text_delta', 'tool_progress'])
  for (const [i, { type }] of good.entries())
    expect([i, type, checkGrammar(good.toSpliced(i, 1)).length > 0]).toEqual([i, type, !mayBeMissing.has(type)])
})

test('every repeated frame is found, except repeatable ones', () => {
  const mayRepeat = new Set(['text_delta', 'tool_progress'])
  for (const [i, frame] of good.entries()) {
    const problems = checkGrammar(good.toSpliced(i, 0, frame))
    expect([i, frame.type, problems.length > 0]).toEqual([i, frame.type, !mayRepeat.has(frame.type)])
  }
})

test('neighbours of different types in the wrong order are found', () => {
  for (let i = 0; i < good.length - 1; i++) {
    const [a, b] = [good[i]!, good[i + 1]!]
    if (a.type === b.type) continue
    expect([a.type, b.type, checkGrammar(good.toSpliced(i, 2, b, a)).length > 0]).toEqual([a.type, b.type, true])
  }
})

const change = (type: string, more: object): Frame[] => good.toSpliced(at(type), 1, { ...good[at(type)]!, ...more })
test.for<[string, Frame[]]>([
  ['a wrong step', change('turn_start', { step: 2 })],
  ['a field too many', change('done', { id: 'x' })],
  ['a time without a fraction', change('user_message', { time: '2026-06-21T22:36:06Z' })],
  ['other arguments than were streamed', change('tool_call', { args: { command: 'ls' } })],
  ['a result for another call', change('tool_result', { id: 'x' })],
  ['a failed turn without an error', change('turn_end', { stop: 'error' })],
  ['sums that shrink', change('usage', { input: 105 })],
  ['an unknown type', change('assistant_start', { type: 'hm' })],
])('%s is found', ([, frames]) => {
  expect(checkGrammar(frames)).not.toEqual([])
})

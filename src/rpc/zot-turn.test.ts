import { expect, test } from 'vitest'
import { ZotTurn } from './zot-turn.ts'

test('C007 a call that a service begins twice is ended before it begins again', () => {
  const turn = new ZotTurn('t', (name) => name)
  turn.callStarts('a', 'echo')
  expect(turn.callStarts('a', 'echo').map(({ type }) => type)).toEqual(['tool_use_end', 'tool_use_start'])
  expect(turn.callEnds('a')).toHaveLength(1)
  expect(turn.callEnds('a')).toEqual([])
})

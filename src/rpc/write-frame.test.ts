import { expect, test } from 'vitest'
import { writeFrame } from './index.ts'

test('C001 a frame is one line of bare JSON, ended by LF, with its keys in order at every depth', () => {
  const frame = { type: 'tool_call', name: 'bash', id: 'c1', args: { z: 1, a: [{ y: 1, b: 'two\nlines' }] } }
  expect(writeFrame(frame)).toBe(
    '{"args":{"a":[{"b":"two\\nlines","y":1}],"z":1},"id":"c1","name":"bash","type":"tool_call"}\n',
  )
})

test('SV-19 what some readers take for the end of a line is escaped', () => {
  const text = 'one\u2028two\u2029three\r\n'
  const line = writeFrame({ text })
  expect(line).not.toMatch(/[\u2028\u2029\r]/)
  expect(line.indexOf('\n')).toBe(line.length - 1)
  expect(JSON.parse(line)).toEqual({ text })
})

test('half a character is replaced, because strict readers refuse a line that has one', () => {
  expect(JSON.parse(writeFrame({ text: 'a\ud83d', list: ['\ude00'] }))).toEqual({ text: 'a\ufffd', list: ['\ufffd'] })
})

test('SV-19 a key named __proto__ is a key like any other', () => {
  const args = JSON.parse('{"__proto__":{"a":1},"constructor":2}') as object
  expect(writeFrame({ args })).toBe('{"args":{"__proto__":{"a":1},"constructor":2}}\n')
})

import { expect, test } from 'vitest'
import { cleaned, cleanedJson, isClean, isCleanJson } from './clean-text.ts'

test.each([
  ['words 😀\n\t', 'words 😀\n\t'],
  ['half \ud83d', 'half \ufffd'],
  ['\ude00 half', '\ufffd half'],
  ['nul\0', 'nul\ufffd'],
  ['', ''],
])('FP-32 %j is sent as %j', (given, sent) => {
  expect(cleaned(given)).toBe(sent)
  expect(isClean(given)).toBe(given === sent)
  expect(isClean(sent)).toBe(true)
})

test('FP-32 names and strings inside a value are cleaned, whatever they are called', () => {
  const value = JSON.parse('{"a\\u0000":["\\ud83d",1,null,true],"__proto__":{"b":"\\u0000"}}') as object
  expect(isCleanJson(value)).toBe(false)
  expect(JSON.stringify(cleanedJson(value))).toBe('{"a\ufffd":["\ufffd",1,null,true],"__proto__":{"b":"\ufffd"}}')
  expect(isCleanJson(cleanedJson(value))).toBe(true)
})

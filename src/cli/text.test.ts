import { expect, test } from 'vitest'
import { jsonText, programName } from './text.ts'

test('the program name is the command that started it', () => {
  const repository = 'file:///desk/libero/src/cli/program-name.ts'
  const installed = 'file:///lib/node_modules/libero/dist/chunks/cli.js'
  expect(programName({ env: { npm_lifecycle_event: 'start' } }, repository)).toBe('npm start --')
  expect(programName({ env: {} }, repository)).toBe('libero')
  expect(programName({ env: {} }, installed)).toBe('libero')
  expect(programName({ env: { npm_command: 'exec' } }, installed)).toBe('npx libero')
  // A script named start in another project does not start this program.
  expect(programName({ env: { npm_lifecycle_event: 'start' } }, installed)).toBe('libero')
})

test('S13 JSON on a terminal has no hidden characters, and reads the same', () => {
  const title = 'a\u202eb\u{e0041}c\ufe0f\u200d\u2028\x9b'
  expect(jsonText(title)).toBe('"a\\u202eb\\udb40\\udc41c\\ufe0f\\u200d\\u2028\\u009b"')
  expect(JSON.parse(jsonText(title))).toBe(title)
})

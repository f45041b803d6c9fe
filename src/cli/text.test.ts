import { expect, test } from 'vitest'
import { programName } from './text.ts'

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

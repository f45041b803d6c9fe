import { expect, test } from 'vitest'
import { readDefinitions } from './read-definitions.ts'

const withPattern = (name: string, pattern: string) => ({
  name,
  inputSchema: { type: 'object', properties: { a: { pattern } } },
})

test('MC-05 patterns that are expensive to judge remove their own tools, and judging ends', () => {
  const hard = `${'('.repeat(9)}a${'{8})'.repeat(9)}`
  const tools = [
    withPattern('before', '^[a-z]+$'),
    ...Array.from({ length: 100 }, (_, i) => withPattern(`hard${i}`, hard)),
    withPattern('after', '^[a-z]+$'),
    { name: 'plain', inputSchema: { type: 'object' } },
  ]
  const { definitions, notes } = readDefinitions(tools, { name: 'files' })
  // The common budget is spent before `after`.
  expect(definitions.map(({ tool }) => tool)).toEqual(['before', 'plain'])
  expect(notes).toHaveLength(101)
  expect(notes.every((note) => note.includes('too complicated to be judged'))).toBe(true)
})

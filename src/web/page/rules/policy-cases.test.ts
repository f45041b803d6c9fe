import { expect, test } from 'vitest'
import { readCases } from './policy-cases.ts'

test('a case is a line: what is expected, then a command, or a tool with its input', () => {
  const cases = readCases(
    'allow git status\n\n# a note\ndeny edit {"path": ".env"}\nls -l\nask mcp:wiki.write {"title": "A"}',
  )
  expect(cases).toEqual([
    { tool: 'shell', input: { command: 'git status' }, expect: 'allow' },
    { tool: 'edit', input: { path: '.env' }, expect: 'deny' },
    { tool: 'shell', input: { command: 'ls -l' } },
    { tool: 'mcp:wiki.write', input: { title: 'A' }, expect: 'ask' },
  ])
})

test('an input that is no JSON is told with its tool', () => {
  expect(() => readCases('allow edit {path}')).toThrow('The input of edit is no JSON')
})

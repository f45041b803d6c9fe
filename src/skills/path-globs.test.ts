import { expect, test } from 'vitest'
import { matchesGlob } from './path-globs.ts'

test.each([
  ['*.py', 'a.py', true],
  ['*.py', 'deep/down/a.py', true],
  ['*.py', 'a.pyc', false],
  ['src/*.ts', 'src/a.ts', true],
  ['src/*.ts', 'src/b/a.ts', false],
  ['src/**/*.ts', 'src/a.ts', true],
  ['src/**/*.ts', 'src/b/c/a.ts', true],
  ['src/**', 'src/b/c', true],
  ['src/', 'src/b', true],
  ['./src/*.{ts,tsx}', 'src/a.tsx', true],
  ['{a,b}/{c,d}.md', 'b/c.md', true],
  ['{a,b}/{c,d}.md', 'b/e.md', false],
  ['**/test?.js', 'x/test1.js', true],
  ['Dockerfile', 'a/Dockerfile', true],
  ['a*b*c', 'aXbXbc', true],
  ['a*b*c', 'aXbXb', false],
  ['**', 'anything/at/all', true],
])('%s and %s: %s', (glob, path, expected) => {
  expect(matchesGlob(path, glob)).toBe(expected)
})

test('a hostile glob takes linear time', () => {
  expect(matchesGlob(`${'a'.repeat(5000)}b`, '*a'.repeat(128))).toBe(false)
  expect(matchesGlob('a/'.repeat(1000), `${'**/a/'.repeat(50)}b`)).toBe(false)
  expect(matchesGlob('x', '{a,b}'.repeat(50))).toBe(false)
  expect(matchesGlob('x', '{'.repeat(256))).toBe(false)
  expect(matchesGlob('x', '*'.repeat(256))).toBe(true)
  expect(matchesGlob('x', '*'.repeat(257))).toBe(false)
})

import { globSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { programGroups, programNamed } from './programs.ts'

test('C04 a program is listed once', () => {
  const names = programGroups.flatMap((group) => Object.keys(group))
  expect(names.filter((name, at) => names.indexOf(name) !== at)).toEqual([])
  expect(names.length).toBeGreaterThan(200)
})

test('a name that every object has is not a program', () => {
  for (const name of ['constructor', 'toString', '__proto__', '']) expect(programNamed(name)).toEqual({})
})

test('C04 shell lines are parsed in src/shell alone, and one function makes the key of a grant', () => {
  const sources = globSync('src/**/*.ts').filter((path) => !path.includes('.test.'))
  const having = (pattern: RegExp): string[] =>
    sources.filter((path) => pattern.test(readFileSync(path, 'utf8'))).sort()
  expect(having(/from 'unbash'/).filter((path) => !path.startsWith('src/shell/'))).toEqual([])
  expect(having(/\bshellKey\(/)).toEqual(['src/authority/prepare-call.ts', 'src/authority/shell-key.ts'])
})

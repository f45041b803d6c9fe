import { describe, expect, test } from 'vitest'
import { expandBraces, GlobProblem, globSource, splitGlobs } from './glob-pattern.ts'

describe('a glob matches', () => {
  test.each([
    ['*.ts', 'a.ts', true],
    ['*.ts', '.ts', true],
    ['*.ts', 'src/a.ts', false],
    ['**/*.ts', 'a.ts', true],
    ['**/*.ts', 'src/b/a.ts', true],
    ['src/**', 'src/a/b', true],
    ['src/**', 'src', false],
    ['src/**/a', 'src/a', true],
    ['src/**/a', 'src/x/y/a', true],
    ['src/**/a', 'src/xa', false],
    ['**', 'any/thing', true],
    ['a**b', 'axxb', true],
    ['a**b', 'ax/xb', false],
    ['?.ts', 'é.ts', true],
    ['?.ts', '/.ts', false],
    ['[a-c].ts', 'b.ts', true],
    ['[!a-c].ts', 'b.ts', false],
    ['[^a-c].ts', 'x.ts', true],
    ['[]-a].ts', ']', false],
    ['[]x]', ']', true],
    ['\\*.ts', '*.ts', true],
    ['\\*.ts', 'a.ts', false],
    ['{a,b/**/c}.ts', 'b/x/c.ts', true],
    ['{a,{b,c}}.ts', 'c.ts', true],
    ['a.ts', 'axts', false],
    ['a,b', 'a,b', true],
  ])('%s and %s: %s', (glob, path, isMatch) => {
    expect(new RegExp(`^${globSource(glob)}$`, 'u').test(path)).toBe(isMatch)
  })
})

test.each([
  ['[a', 'a "[" is not closed'],
  ['{a,b', 'a "{" is not closed'],
  ['a}', 'a "}" closes nothing'],
  ['a\\', 'escapes nothing'],
  ['[z-a]', 'the range "z-a" is the wrong way round'],
])('%s is refused in words', (glob, words) => {
  expect(() => globSource(glob)).toThrow(GlobProblem)
  expect(() => globSource(glob)).toThrow(words)
})

test('an open bracket may be left alone', () => {
  expect(new RegExp(`^${globSource('[a', { isLenient: true })}$`).test('[a')).toBe(true)
})

test.each([
  ['a', ['a']],
  ['a{b,c}', ['ab', 'ac']],
  ['{a,b}/{c,d}', ['a/c', 'a/d', 'b/c', 'b/d']],
  ['{a,b{c,d}}', ['a', 'bc', 'bd']],
  ['{a}', ['a']],
  ['a{,b}', ['a', 'ab']],
  ['\\{a,b\\}', ['\\{a,b\\}']],
  ['[{]a', ['[{]a']],
])('the braces of %s stand for %j', (glob, all) => {
  expect(expandBraces(glob)).toEqual(all)
})

test('braces do not multiply without end', () => {
  expect(() => expandBraces('{a,b}'.repeat(20))).toThrow('more than 200')
  expect(() => expandBraces('{a,b')).toThrow('not closed')
})

test('several globs are separated by commas outside of braces and brackets', () => {
  expect(splitGlobs('*.ts, *.{js,jsx},[,]x,\\,y,')).toEqual(['*.ts', '*.{js,jsx}', '[,]x', '\\,y'])
})

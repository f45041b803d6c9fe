import { expect, test } from 'vitest'
import { enterFolder, type IgnoreChain, isIgnored, parseIgnoreFile, withRules } from './ignore-rules.ts'

test.each([
  ['*.log', 'x.log', true],
  ['*.log\n!keep.log', 'keep.log', false],
  ['!keep.log\n*.log', 'keep.log', true],
  ['src/', 'src', false],
  ['src/', 'src/', true],
  ['/a', 'a', true],
  ['a/b', 'b', false],
  ['# x', '# x', false],
  ['\\# x', '# x', true],
  ['x  ', 'x', true],
  ['a b', 'a b', true],
  ['a\r\nb\r', 'a', true],
  ['[z-a]\nb', 'b', true],
  ['\ufeffa', 'a', true],
])('%j about %s: %s', (rules, path, isOut) => {
  const chain = withRules([], parseIgnoreFile(rules))
  expect(isIgnored(chain, path.replace(/\/$/, ''), path.endsWith('/'))).toBe(isOut)
})

test('no rules are none', () => {
  expect(parseIgnoreFile('\n# only words\n\n')).toBeUndefined()
})

test('the nearest rules win, and those around know the way', () => {
  let chain: IgnoreChain = withRules([], parseIgnoreFile('/src/a.ts\nsrc/deep/*.ts\n*.md'))
  chain = enterFolder(chain, 'src')
  expect(isIgnored(chain, 'a.ts', false)).toBe(true)
  chain = withRules(enterFolder(chain, 'deep'), parseIgnoreFile('!keep.ts'))
  expect(isIgnored(chain, 'a.ts', false)).toBe(true)
  expect(isIgnored(chain, 'keep.ts', false)).toBe(false)
  expect(isIgnored(chain, 'x.md', false)).toBe(true)
})

test('a rule for names does not depend on how many there are', () => {
  const rules = parseIgnoreFile(Array.from({ length: 500 }, (_, i) => `name${i}\n*.e${i}`).join('\n'))!
  expect(rules.verdict('name77', 'x/name77', false)).toBe(true)
  expect(rules.verdict('x.e99', 'x.e99', false)).toBe(true)
  expect(rules.verdict('x.e500', 'x.e500', false)).toBeUndefined()
})

import { expect, test } from 'vitest'
import { worktreeIn } from './repository.ts'
import { holdsToken, sharedSettings } from './token-files.ts'

test.each([
  ['//r.example/:_authToken=abc', true],
  ['a=1\r\n  "npmAuthToken" : "abc"', true],
  ['npmAuthToken:\n  abc', true],
  ['_password=x', true],
  ['[registry]\ntoken = "abc"', true],
  ['registries.own.token="abc"', true],
  ['channels: [https://me:abc@conda.example/]', true],
  ['user = "me:abc"', true],
  [`//r.example/:_authToken=\${TOKEN}`, false],
  ['# _authToken=abc', false],
  ['_authToken=\nregistry=https://r.example/', false],
  ['registry=https://r.example:8080/@scope', false],
  [`registry=https://me:\${PASSWORD}@r.example/`, false],
  ['[install]\nuser = true', false],
  ['token', false],
])('%j holds a token: %s', (text, isToken) => {
  expect(holdsToken(text)).toBe(isToken)
})

/** What makes an engine that goes back work for minutes. */
const size = 256 * 1024
const endless: readonly string[] = [
  '\n'.repeat(size),
  ' '.repeat(size),
  `_auth${' '.repeat(size)}x`,
  '_auth '.repeat(size / 6),
  `token${' '.repeat(size)}x`,
  `${'a.'.repeat(size / 2)}x`,
  `://${':a'.repeat(size / 2)}`,
  '://a:'.repeat(size / 5),
  `user${' '.repeat(size)}`,
  `worktree=a${' '.repeat(size)}b`,
  `worktree${' '.repeat(size)}`,
]

// Read over and over, each would take longer than a test may.
test.each(endless.map((text) => [text.slice(0, 12), text]))('text of nothing but %j is read once', (_, text) => {
  expect(holdsToken(text)).toBe(false)
  expect(worktreeIn(text)).toBe(/^worktree=/.test(text) ? text.slice('worktree='.length) : undefined)
})

test('the worktree that a git config names', () => {
  expect(worktreeIn('[core]\n\tworktree = ../a b \n')).toBe('../a b')
  expect(worktreeIn('[core]\n\tworktree =\n\tworktree=/x')).toBe('/x')
  expect(worktreeIn('[core]\n\tbare = false\n')).toBeUndefined()
})

test('npm has settings beside each folder of programs', () => {
  expect(sharedSettings(['/nowhere/node/bin'])).toEqual(
    expect.arrayContaining(['/nowhere/node/etc/npmrc', '/nowhere/node/lib/node_modules/npm/npmrc', '/usr/etc/npmrc']),
  )
})

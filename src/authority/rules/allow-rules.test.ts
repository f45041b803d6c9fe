import { describe, expect, test } from 'vitest'
import { type CommandOptions, command, line } from '../../../test/authority/call-kit.ts'
import type { JudgedCall } from '../judged-call.ts'
import { resolveSettings } from './settings.ts'

const denies = (call: JudgedCall, ...deny: string[]): boolean =>
  resolveSettings({ launch: { deny } }).rules.matchDeny(call, '/work') !== undefined
const allowing = (call: JudgedCall, ...allow: string[]): string[] | undefined =>
  resolveSettings({ launch: { allow } })
    .rules.matchAllow(call)
    ?.map(({ text }) => text)
const allows = (call: JudgedCall, ...allow: string[]): boolean => allowing(call, ...allow) !== undefined
const write = (target: string) => ({ effect: 'fs.write', target }) as const
const into = (target: string): CommandOptions => ({ redirects: [{ operator: '>', target }], effects: [write(target)] })

describe('what allows a command', () => {
  test.each<[rule: string, text: string, options: CommandOptions, covered: boolean]>([
    ['shell:ls', 'ls', {}, true],
    ['shell:ls', 'ls -la src', {}, true],
    ['shell:ls', 'ls -la src', { table: 'refuses' }, false],
    ['shell:ls', './ls', {}, false],
    ['shell:ls', '/tmp/ls', {}, false],
    ['shell:LS', 'ls', {}, false],
    ['shell:git status', 'git status', {}, true],
    ['shell:git status', 'git status -s', {}, true],
    ['shell:git status', 'git log', {}, false],
    ['shell:git log', 'git --no-pager log -3', {}, true],
    ['shell:git log', 'git --no-pager status', {}, false],
    ['shell:git log', 'git --no-pager log', { table: 'refuses' }, false],
    ['shell:git --no-pager log', 'git --no-pager log', {}, true],
    ['shell:test', '[ -d src ]', {}, true],
    ['shell:[', '[ -d src ]', {}, true],
    ['shell:test', '[ -d src ]', { table: 'none' }, false],
    ['shell:make', 'make', { table: 'none' }, true],
    ['shell:make', 'make install', { table: 'none' }, false],
    ['shell:make install', 'make install', { table: 'none' }, true],
    ['shell:make *', 'make install', { table: 'none', mayRemember: true }, true],
    ['shell:make *', 'make', { table: 'none', mayRemember: true }, false],
    ['shell:node *', 'node evil.js', { table: 'none', mayRemember: false }, false],
    ['shell:*', 'make install', { table: 'none', mayRemember: true }, false],
    ['shell:ma*', 'make install', { table: 'none', mayRemember: true }, false],
    ['shell:*', 'ls src', {}, true],
    ['shell', 'ls src', {}, true],
    ['shell', 'make', { table: 'none', mayRemember: true }, false],
    ['shell', 'find . -delete', { table: 'refuses' }, false],
    ['shell:find . -delete', 'find . -delete', { table: 'refuses' }, false],
    ['shell:ls', 'ls', { isNested: true }, false],
    ['exec', 'ls src', {}, true],
    ['exec', 'make', { table: 'none' }, false],
    ['exec', 'cat x', { effects: [{ effect: 'fs.read', target: 'x' }] }, false],
    ['exec:ls', 'ls src', {}, true],
    ['exec:cat', 'ls src', {}, false],
    ['fs.read', 'ls src', {}, false],
  ])('%s on "%s" %o: %s', (rule, text, options, covered) => {
    expect(allows(line([command(text, options)]), rule)).toBe(covered)
  })

  test.each([undefined, '/tmp', '~/x', '../x', 'a/../../x'])(
    'a program without a table is allowed only where the workspace is, not in %s',
    (cwd) => {
      expect(allows(line([command('make', { table: 'none', cwd })]), 'shell:make')).toBe(false)
      expect(allows(line([command('make', { table: 'none', cwd: 'src' })]), 'shell:make')).toBe(true)
    },
  )

  test('words are compared one by one, whatever they contain', () => {
    const call = line([command('', { table: 'none', words: ['make', 'a b'] })])
    expect(allows(call, 'shell:make a b')).toBe(false)
  })

  test('a line that may do more than its commands show is not allowed', () => {
    const commands = [command('ls')]
    expect(allows(line(commands, { obstacles: ['a substitution'] }), 'shell:ls', 'exec')).toBe(false)
    expect(allows(line(commands, { isWhole: false }), 'shell:ls', 'exec')).toBe(false)
    expect(allows(line([]), 'shell')).toBe(false)
  })

  test('each command of a line needs a rule, and all of them are named', () => {
    const call = line([command('cd src', { table: 'neutral' }), command('ls'), command('git log -1')])
    expect(allowing(call, 'shell:ls', 'shell:git log', 'shell:cat')).toEqual(['shell:ls', 'shell:git log'])
    expect(allows(call, 'shell:ls')).toBe(false)
  })

  test('effects of a tool besides its line need a rule too', () => {
    const call = line([command('ls')])
    const more = { ...call, effects: [...call.effects, { effect: 'net' } as const] }
    expect(allows(more, 'shell:ls')).toBe(false)
    expect(allows(more, 'shell:ls', 'net')).toBe(true)
  })
})

describe('SH-44 a redirection after an allowed command is a write and needs its own rule', () => {
  test.each<[string[], CommandOptions, boolean]>([
    [['shell:echo'], into('out.txt'), false],
    [['shell:echo', 'fs.write:out.txt'], into('out.txt'), true],
    [['shell:echo', 'fs.write:src/*'], into('out.txt'), false],
    [['shell:echo hi'], into('out.txt'), false],
    [['shell:echo', 'fs.write:*'], { redirects: [{ operator: '>', target: undefined }] }, false],
    [['shell:echo'], { redirects: [{ operator: '>&', descriptor: 2, target: '1' }] }, true],
  ])('%j %o: %s', (rules, options, covered) => {
    expect(allows(line([command('echo hi', options)]), ...rules)).toBe(covered)
  })

  test('a command that needs no permission may not write either', () => {
    const call = line([command('true', { table: 'neutral', ...into('x') }), command('ls')])
    expect(allows(call, 'shell:ls')).toBe(false)
    expect(allows(call, 'shell:ls', 'fs.write')).toBe(true)
  })

  test('an exact rule covers what its words write', () => {
    const call = line([command('touch a', { table: 'none', effects: [write('a')] })])
    expect(allows(call, 'shell:touch a')).toBe(true)
    expect(allows(call, 'shell:touch *')).toBe(false)
  })
})

describe('SH-51 a rule ends where a word ends', () => {
  test.each([
    ['git log', 'git logout'],
    ['npm run test', 'npm run test:evil'],
    ['git', 'gitk'],
    ['git log', 'git'],
  ])('%s does not cover %s', (pattern, text) => {
    for (const table of ['passes', 'none'] as const) {
      const call = line([command(text, { table, mayRemember: true })])
      expect(allows(call, `shell:${pattern}`)).toBe(false)
      expect(denies(call, `shell:${pattern}`)).toBe(false)
    }
  })
})

import { describe, expect, test } from 'vitest'
import { type CommandOptions, command, line } from '../../../test/authority/call-kit.ts'
import type { JudgedCall } from '../judged-call.ts'
import { resolveSettings } from './settings.ts'

const denies = (call: JudgedCall, ...deny: string[]): boolean =>
  resolveSettings({ launch: { deny } }).rules.matchDeny(call, '/work') !== undefined

describe('SH-50 a deny is not evaded by spelling', () => {
  test.each<[rule: string, text: string, options: CommandOptions]>([
    ['curl', 'curl x', {}],
    ['curl', '/usr/bin/curl x', {}],
    ['curl', 'CURL x', {}],
    ['curl', 'curl.exe x', {}],
    ['/usr/bin/curl', 'curl x', {}],
    ['curl', 'curl x', { isNested: true }],
    ['curl', 'curl x', { via: ['env', 'sudo'] }],
    ['sudo', 'curl x', { via: ['env', 'sudo'] }],
    ['sudo curl', 'curl x', { via: ['sudo'] }],
    ['test', '[ -f x ]', {}],
    ['pytest', 'uv run --quiet pytest', {}],
    ['rm', 'bundle exec rm x', {}],
    ['rm', 'git submodule foreach rm x', {}],
    ['npm exec', 'tsc', { via: ['npm exec'] }],
    ['git push', 'git push', {}],
    ['git push', 'git -C x push origin', {}],
    ['git push', 'git --no-pager -c a=b push', {}],
    ['git remote add', 'git -C remote remote -v add x', {}],
    ['git push *', 'git push', {}],
    ['git push *', 'git -C x push --force', {}],
    ['*git push*', 'git -C x push --force', {}],
    ['git push *', `git ${'-c a=b '.repeat(40)}push`, {}],
    ['git push', `git ${'-c a=b '.repeat(40)}push`, {}],
    ['*curl*', '/opt/curl-7/bin/run x', {}],
    ['rm -rf *', 'rm -rf build', {}],
    ['*', 'anything', {}],
  ])('%s stops "%s" %o', (rule, text, options) => {
    expect(denies(line([command('true'), command(text, options)]), `shell:${rule}`)).toBe(true)
    expect(denies(line([command('true'), command(text, options)]), `exec:${rule}`)).toBe(true)
  })

  test.each([
    ['git push', 'git commit -m push'],
    ['git push', 'git log push'],
    ['curl', 'echo curl'],
    ['curl', 'curly x'],
    ['git push *', 'git pull push'],
  ])('%s does not stop "%s"', (rule, text) => {
    expect(denies(line([command(text)]), `shell:${rule}`)).toBe(false)
  })

  test('in a line with hidden parts every word counts', () => {
    const hiding = line([command('echo curl', { isNested: true }), command('x')], { obstacles: ['a substitution'] })
    expect(denies(hiding, 'shell:curl')).toBe(true)
    expect(denies(hiding, 'shell:cur*')).toBe(true)
    expect(denies(hiding, 'shell:curl --data')).toBe(true)
    expect(denies(hiding, 'shell:git push')).toBe(false)
    const variable = line([command('', { env: { x: 'curl' } }), command('$x')], { obstacles: ['a variable'] })
    expect(denies(variable, 'shell:curl')).toBe(true)
  })

  test('paths that a shell would expand are denied as well', () => {
    const reading = (target: string): JudgedCall =>
      line([command('cat x', { effects: [{ effect: 'fs.read', target }] })])
    expect(denies(reading('.e*'), 'fs.read:.env')).toBe(true)
    expect(denies(reading('s[e]crets/a'), 'fs.read:secrets/*')).toBe(true)
    expect(denies(reading('*'), 'fs.read:.env')).toBe(false)
    expect(denies(reading('src/*.ts'), 'fs.read:.env', 'fs.read:secrets/*', 'fs.read:*.pem')).toBe(false)
  })
})

describe('SH-49 a line that was not parsed to its end', () => {
  test('is denied by its words', () => {
    const cut = line([], { isWhole: false, words: ['true', 'Curl', 'http://x'] })
    expect(denies(cut, 'shell:curl')).toBe(true)
    expect(denies(cut, 'shell:curl --upload *')).toBe(true)
    expect(denies(cut, 'shell:*url')).toBe(true)
    expect(denies(cut, 'shell:rm')).toBe(false)
  })

  test('sixty commands hide none behind them', () => {
    const chain = Array.from({ length: 60 }, () => command('true', { table: 'neutral' }))
    expect(denies(line([...chain, command('curl http://x', { table: 'none' })]), 'shell:curl')).toBe(true)
  })
})

describe('the cost of one decision is bounded', () => {
  const many = Array.from({ length: 10_000 }, (_, i) => i)

  test('ten thousand rules are matched against eight kilobytes', () => {
    const words = many.slice(0, 1500).map((i) => `f${i}`)
    const call = line([command(`cat ${words.join(' ')}`)])
    expect(denies(call, ...many.map((i) => `shell:*q${i}*z`))).toBe(false)
    expect(denies(call, ...many.map((i) => `shell:*q${i}*z`), 'shell:*f1499')).toBe(true)
  })

  test('a comparison beyond the budget counts as denied', () => {
    const commands = many.slice(0, 2000).map((i) => command(`a x${i} b`))
    const rules = many.map((i) => `shell:a *x*${i}*c`)
    expect(denies(line(commands), ...rules.slice(0, 10))).toBe(false)
    expect(denies(line(commands), ...rules)).toBe(true)
  })
})

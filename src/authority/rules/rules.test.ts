import { describe, expect, test } from 'vitest'
import { effectCall, fileCall, judged } from '../../../test/authority/call-kit.ts'
import { CodedError } from '../../core/errors.ts'
import type { JudgedCall } from '../judged-call.ts'
import { parseRule, type RuleList, withStricterRules } from './rules.ts'
import { type RuleEntry, resolveSettings } from './settings.ts'

const rulesOf = (list: RuleList, ...entries: string[]) =>
  resolveSettings({ launch: { mode: 'allowlist', [list]: entries } }, { home: '/home/me' }).rules

const denies = (entry: string, call: JudgedCall): boolean =>
  rulesOf('deny', entry).matchDeny(call, '/desk/project') !== undefined
const allows = (call: JudgedCall, ...entries: string[]): string[] | undefined =>
  rulesOf('allow', ...entries)
    .matchAllow(call)
    ?.map(({ text }) => text)

describe('B018 entries over keys', () => {
  test.each<[entry: string, key: string, matches: boolean]>([
    ['fetch', 'anything', true],
    ['fetch:*', 'anything', true],
    ['fetch:*.example.org', 'api.example.org', true],
    ['fetch:*.example.org', 'example.org', false],
    ['fetch:*.example.org', 'api.example.org.evil', false],
    ['fetch:a/*', 'a/b/c', true],
    ['fetch:a.c', 'abc', false],
    ['other', 'anything', false],
    ['fetc', 'anything', false],
  ])('%s on the key %s', (entry, key, matches) => {
    const call = judged('fetch', { key, effects: [{ effect: 'net', target: key }] })
    expect(denies(entry, call)).toBe(matches)
    expect(allows(call, entry) !== undefined).toBe(matches)
    expect(rulesOf('allowlist', entry).matchAllowlist(call) !== undefined).toBe(matches)
  })
})

describe('a deny entry matches by key or by any effect', () => {
  const write = fileCall('fs.write', 'src/Secret/Key.txt')
  test.each([
    ['fs.write', write],
    ['fs.write:src/*', write],
    ['fs.write:src/secret/key.txt', write],
    ['fs.write:src/secret/', write],
    ['fs.write:/desk/project/src/*', write],
    ['fs.write:./src/x/../secret/*', write],
    ['fs.write:~/notes/*', fileCall('fs.write', '/home/me/notes/a')],
    ['fs.read:caf\u00e9', fileCall('fs.read', 'cafe\u0301')],
    ['fs.read:.env', fileCall('fs.read', '.ENV.')],
    ['mcp:github.*', effectCall('mcp:github.search')],
    ['mcp:*', effectCall('fs.read', 'mcp:github.search')],
    ['spawn', effectCall('spawn')],
    ['spawn', judged('spawn')],
    ['unknown', effectCall('fs.read', 'unknown')],
    ['exec:curl', judged('run', { effects: [{ effect: 'exec', target: '/usr/bin/CURL' }] })],
    ['net:evil.example', judged('fetch', { effects: [{ effect: 'net', target: 'Evil.example' }] })],
  ])('%s', (entry, call) => {
    expect(denies(entry, call)).toBe(true)
  })

  test.each([
    ['fs.read', write],
    ['fs.write:src', write],
    ['fs.write:secret/*', write],
    ['mcp:gitlab.*', effectCall('mcp:github.search')],
    ['spawn', effectCall('exec')],
    ['read_file:src', write],
  ])('%s does not hit something else', (entry, call) => {
    expect(denies(entry, call)).toBe(false)
  })
})

describe('entries that allow have to cover all effects', () => {
  test.each<[string, JudgedCall, string[], boolean]>([
    ['one of two effects', effectCall('fs.read', 'net'), ['fs.read'], false],
    ['both of two', effectCall('fs.read', 'net'), ['fs.read', 'net'], true],
    [
      'an unknown effect is not covered by all other rules',
      effectCall('fs.read', 'unknown'),
      ['fs.read', 'fs.write', 'exec', 'net'],
      false,
    ],
    ['only by name', effectCall('unknown'), ['unknown'], true],
    ['the key covers the call whole', effectCall('fs.read', 'unknown'), ['tool'], true],
    ['a pattern does not cover a target that is not named', effectCall('fs.write'), ['fs.write:*'], false],
    ['the case counts', fileCall('fs.write', 'SRC/a'), ['fs.write:src/*'], false],
    ['no climbing out', fileCall('fs.write', 'src/../.env'), ['fs.write:src/*'], false],
    ['inside the folder', fileCall('fs.write', 'src/deep/a'), ['fs.write:src/*'], true],
    ['a home', fileCall('fs.read', '/home/me/notes/a'), ['fs.read:~/notes/*'], true],
    ['without effects no effect is covered', judged('tool'), ['fs.read'], false],
  ])('%s', (_, call, entries, covered) => {
    expect(allows(call, ...entries) !== undefined).toBe(covered)
  })

  test('all entries that were needed are named', () => {
    expect(allows(effectCall('fs.read', 'net', 'fs.read'), 'net', 'spawn', 'fs.read')).toEqual(['fs.read', 'net'])
  })
})

test('added rules apply in addition to the existing ones', () => {
  const rules = rulesOf('deny', 'fs.write')
  const more = withStricterRules(rules, { deny: ['net'], ask: ['spawn'] })
  expect(more.matchDeny(effectCall('fs.write'))?.[0]?.text).toBe('fs.write')
  expect(more.matchDeny(effectCall('net'))?.[0]?.text).toBe('net')
  expect(more.matchAsk(effectCall('spawn'))?.[0]?.text).toBe('spawn')
  expect(rules.matchDeny(effectCall('net'))).toBeUndefined()
  expect(() => withStricterRules(rules, { deny: ['fs.delete'] })).toThrow(/InvalidRule/)
})

test('a rule keeps its layer and reason', () => {
  const { rules } = resolveSettings({ project: { deny: [{ rule: 'net', why: 'no network here' }] } })
  expect(rules.matchDeny(effectCall('net'))).toMatchObject([{ layer: 'project', text: 'net', why: 'no network here' }])
})

test('a rule about targets might match a call that does not name its target', () => {
  const rules = rulesOf('deny', 'fs.write:secrets/*')
  expect(rules.possibleMatch(effectCall('fs.write'))?.text).toBe('fs.write:secrets/*')
  expect(rules.possibleMatch(fileCall('fs.write', 'src/a'))).toBeUndefined()
  expect(rules.possibleMatch(effectCall('net'))).toBeUndefined()
})

const position = { layer: 'global', list: 'deny', index: 3 } as const
const parse = (entry: RuleEntry) => parseRule(entry, position)

describe('an entry is a tool or an effect, with or without a pattern', () => {
  test.each([
    ['read_file', 'tool', 'read_file', undefined],
    ['shell:git status', 'tool', 'shell', 'git status'],
    ['fetch:https://x', 'tool', 'fetch', 'https://x'],
    ['fs.write', 'effect', 'fs.write', undefined],
    ['fs.read:src/*', 'effect', 'fs.read', 'src/*'],
    ['net:*.example.org', 'effect', 'net', '*.example.org'],
    ['mcp:github.*', 'effect', 'mcp', 'github.*'],
    ['spawn', 'effect', 'spawn', undefined],
    ['unknown', 'effect', 'unknown', undefined],
  ])('%s', (text, about, name, pattern) => {
    expect(parse(text)).toEqual({ layer: 'global', text, about, name, ...(pattern !== undefined && { pattern }) })
  })
})

test('reasons and examples are kept', () => {
  const entry = { rule: 'shell:rm', why: 'use the bin', match: ['rm x'], notMatch: ['ls'] }
  expect(parse(entry)).toMatchObject({ text: 'shell:rm', why: 'use the bin', match: ['rm x'], notMatch: ['ls'] })
})

describe('a rule that could never match is refused with its position', () => {
  test.each<[string, unknown, RegExp]>([
    ['empty', '', /is empty/],
    ['blank', '  ', /is empty/],
    ['control characters', 'shell:a\u0007', /control characters/],
    ['an effect that does not exist', 'fs.delete', /names no effect/],
    ['an effect that does not exist, with a pattern', 'fs.writes:src/*', /did you mean "fs.write"/],
    ['nothing after the colon', 'shell:', /nothing after the colon/],
    ['nothing before the colon', ':x', /names no tool/],
    ['a star for a tool', '*', /stars stand only after the colon/],
    ['a command in place of a tool', 'git status', /write "shell:git status"/],
    ['servers without a name', 'mcp', /mcp:\*/],
    ['a long pattern', `shell:${'é'.repeat(513)}`, /more than 1024 bytes/],
    ['a number', 7, /neither a text nor an object/],
    ['an unknown field', { rule: 'shell', notmatch: [] }, /did you mean "notMatch"/],
    ['no rule', { why: 'x' }, /no text in "rule"/],
    ['examples that are none', { rule: 'shell', match: 'ls' }, /lists of texts/],
  ])('%s', (_, entry, message) => {
    const error = (() => {
      try {
        return parse(entry as RuleEntry)
      } catch (thrown) {
        return thrown
      }
    })()
    expect(error).toBeInstanceOf(CodedError)
    expect(error).toMatchObject({ class: 'Validation', code: 'InvalidRule' })
    expect((error as Error).message).toMatch(message)
    expect((error as Error).message).toContain("the global settings' deny[3]")
  })
})

import { describe, expect, test } from 'vitest'
import { CodedError } from '../../core/errors.ts'
import { parseRule } from './rules.ts'
import type { RuleEntry } from './settings.ts'

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

describe('what could never match is refused with its position', () => {
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

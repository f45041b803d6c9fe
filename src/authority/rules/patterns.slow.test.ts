import { afterAll, beforeAll, describe, expect } from 'vitest'
import { testInTurns } from '../../../test/soak.ts'
import { CodedError } from '../../core/errors.ts'
import { acquireThread } from '../../shell/shell-reader.ts'
import { checkPatterns, testPatterns } from './patterns.ts'

const test = testInTurns(2)

// One thread for all of them: without a hold each call would start its own.
let hold: ReturnType<typeof acquireThread>
beforeAll(() => {
  hold = acquireThread()
})
afterAll(() => hold.release())

describe('patterns', () => {
  test('D019 an invalid pattern is refused at load, with its name and position', () => {
    const load = (): void => checkPatterns(['fine', '(open'], 'denyPatterns of settings.json')
    expect(load).toThrow(CodedError)
    expect(load).toThrow(/^Validation\/InvalidPattern: "\(open" in denyPatterns of settings\.json/)
    expect(() => checkPatterns(['^rm .*', '\\bcurl\\b'], 'x')).not.toThrow()
  })

  test('D019 matching ignores case; the first match is named', async () => {
    const text = JSON.stringify({ tool: 'shell', parameters: { command: 'RM -rf x' } })
    const matches = await testPatterns({
      text,
      deny: ['curl', 'rm -RF', 'rm'],
      allow: ['nothing', 'SHELL'],
      budgetMs: 15_000,
    })
    expect(matches).toEqual({ deny: 'rm -RF', allow: 'SHELL' })
  })

  test('missing matches are absent, and without patterns no thread is used', async () => {
    expect(await testPatterns({ text: 'ls', deny: ['rm'], allow: [], budgetMs: 15_000 })).toEqual({})
    expect(await testPatterns({ text: 'ls', deny: [], allow: [] })).toEqual({})
  })

  test('a pattern that does not end counts as a match if it denies and as no match if it allows', async () => {
    const hostile = '(a+)+$'
    const text = `${'a'.repeat(60)}!`
    let turns = 0
    let isDone = false
    const turn = (): void => {
      turns++
      if (!isDone) setTimeout(turn, 5)
    }
    setImmediate(turn)
    const matches = await testPatterns({ text, deny: ['b', hostile], allow: ['b', hostile, 'A!'], budgetMs: 500 })
    isDone = true
    expect(matches).toEqual({ deny: hostile, allow: 'A!' })
    expect(turns).toBeGreaterThan(10)
  })

  test('a pattern that the engine rejects denies and does not allow', async () => {
    expect(await testPatterns({ text: 'ls', deny: ['(open'], allow: ['(open'], budgetMs: 15_000 })).toEqual({
      deny: '(open',
    })
  })

  test('one match among ten thousand patterns is found', async () => {
    const deny = Array.from({ length: 10_000 }, (_, i) => `^never${i}$`)
    const matches = await testPatterns({ text: 'never7777', deny, allow: [], budgetMs: 15_000 })
    expect(matches).toEqual({ deny: '^never7777$' })
  })
})

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { CodedError } from '../../core/errors.ts'
import { acquireThread } from '../shell/hold-thread.ts'
import { checkPatterns, testPatterns } from './patterns.ts'

// One thread for all of them: without a hold each call would start its own.
let hold: ReturnType<typeof acquireThread>
beforeAll(() => {
  hold = acquireThread()
})
afterAll(() => hold.release())

describe('patterns', () => {
  test('D019 a bad one is refused at load, by name and place', () => {
    const load = (): void => checkPatterns(['fine', '(open'], 'denyPatterns of settings.json')
    expect(load).toThrow(CodedError)
    expect(load).toThrow(/^Validation\/InvalidPattern: "\(open" in denyPatterns of settings\.json/)
    expect(() => checkPatterns(['^rm .*', '\\bcurl\\b'], 'x')).not.toThrow()
  })

  test('D019 case does not matter; the first that is found is named', async () => {
    const text = JSON.stringify({ tool: 'shell', parameters: { command: 'RM -rf x' } })
    const matches = await testPatterns({
      text,
      deny: ['curl', 'rm -RF', 'rm'],
      allow: ['nothing', 'SHELL'],
      budgetMs: 15_000,
    })
    expect(matches).toEqual({ deny: 'rm -RF', allow: 'SHELL' })
  })

  test('what is not found is absent, and nothing is asked where there is nothing to find', async () => {
    expect(await testPatterns({ text: 'ls', deny: ['rm'], allow: [], budgetMs: 15_000 })).toEqual({})
    expect(await testPatterns({ text: 'ls', deny: [], allow: [] })).toEqual({})
  })

  test('one that does not end counts as found where it denies and as not found where it allows', async () => {
    const hostile = '(a+)+$'
    const text = `${'a'.repeat(60)}!`
    let turns = 0
    let isDone = false
    const turn = (): void => {
      turns++
      if (!isDone) setImmediate(turn)
    }
    setImmediate(turn)
    const matches = await testPatterns({ text, deny: ['b', hostile], allow: ['b', hostile, 'A!'], budgetMs: 500 })
    isDone = true
    expect(matches).toEqual({ deny: hostile, allow: 'A!' })
    expect(turns).toBeGreaterThan(10)
  })

  test('one that is none after all denies and does not allow', async () => {
    expect(await testPatterns({ text: 'ls', deny: ['(open'], allow: ['(open'], budgetMs: 15_000 })).toEqual({
      deny: '(open',
    })
  })

  test('among ten thousand the one that is found is found', async () => {
    const deny = Array.from({ length: 10_000 }, (_, i) => `^never${i}$`)
    const matches = await testPatterns({ text: 'never7777', deny, allow: [], budgetMs: 15_000 })
    expect(matches).toEqual({ deny: '^never7777$' })
  })
})

import { expect, test } from 'vitest'
import type { RemoteClient } from '../libero.ts'
import { createBeginning } from './create-beginning.ts'

function kit() {
  const calls: unknown[][] = []
  const failing = new Set<string>()
  let count = 0
  const does =
    (name: string, answer: () => object) =>
    async (...given: unknown[]) => {
      calls.push([name, ...given])
      if (failing.has(name)) throw new Error(`${name} failed`)
      return answer()
    }
  const sessions = {
    make: does('make', () => ({ id: `s${++count}` })),
    changeSettings: does('changeSettings', () => ({})),
    runCommand: does('runCommand', () => ({ text: '' })),
  }
  const client = { sessions, send: does('send', () => ({})) } as unknown as RemoteClient
  return {
    begin: createBeginning(client),
    calls,
    failing,
    named: (name: string) => calls.filter(([one]) => one === name),
  }
}

test('WB99 a session that could not be begun is taken by the next try, with its message under one key and its choices anew', async () => {
  const { begin, failing, named } = kit()
  failing.add('send')
  const draft = { text: 'See @a.ts', folder: '/app', mode: 'plan' }
  await expect(begin(draft)).rejects.toThrow('send failed')
  failing.clear()
  expect(await begin({ ...draft, mode: '' })).toBe('s1')
  expect(named('make')).toEqual([['make', { folder: '/app' }]])
  expect(named('changeSettings').map(([, , change]) => change)).toEqual([{ mode: 'plan' }, { mode: null }])
  const [first, second] = named('send')
  expect(first).toEqual(second)
  expect(first).toMatchObject(['send', 's1', { content: 'See @a.ts', files: true }])
  expect(await begin(draft)).toBe('s2')
})

test('WB99 another folder needs another session, and a first line that is a command is run', async () => {
  const { begin, failing, named } = kit()
  failing.add('runCommand')
  await expect(begin({ text: '/review src', folder: '/app' })).rejects.toThrow('runCommand failed')
  failing.clear()
  expect(await begin({ text: '/review src', folder: '/other' })).toBe('s2')
  expect(named('runCommand').at(-1)).toEqual(['runCommand', 's2', '/review src', { key: expect.any(String) }])
  expect(named('send')).toEqual([])
})

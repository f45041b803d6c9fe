import { expect, test } from 'vitest'
import * as all from './index.ts'

const tools = { ...all }

type Keyed = { readonly deriveApprovalKey?: (input: never) => string }
const keyOf = ({ deriveApprovalKey }: Keyed, input: object): string | undefined => deriveApprovalKey?.(input as never)

test.each<[keyof typeof tools, object, string]>([
  ['readFile', { path: 'a.ts' }, '.'],
  ['readFile', { path: './src//deep/../a.ts' }, 'src'],
  ['readFile', { path: 'src\\a.ts' }, 'src'],
  ['readFile', { path: '/etc/hosts' }, '/etc'],
  ['writeFile', { path: 'src/a.ts' }, 'src'],
  ['edit', { path: 'src/a.ts' }, 'src'],
  ['multiEdit', { path: 'a.ts' }, '.'],
  ['listFiles', {}, '.'],
  ['listFiles', { path: 'src/' }, 'src'],
  ['grep', { path: '' }, '.'],
  ['glob', { path: 'src' }, 'src'],
  ['webFetch', { url: 'https://example.org:8443/a?b=c' }, 'example.org'],
  ['shell', { command: 'npm test' }, 'npm test'],
  ['askUser', { question: 'Why?' }, 'ask_user'],
  ['todowrite', { todos: [] }, 'todos'],
  ['spawn', { task: 'help' }, 'spawn'],
  ['spawn', { task: 'help', preset: 'reader' }, 'reader'],
])('B023 an approval of %s %j is remembered under %j', (name, input, key) => {
  expect(keyOf(tools[name] as Keyed, input)).toBe(key)
})

test('PI-18 an address that carries much is approved for itself alone', () => {
  const long = (secret: string): string | undefined =>
    keyOf(tools.webFetch, { url: `https://x.test/?d=${secret.repeat(600)}` })
  expect(long('a')).not.toBe('x.test')
  expect(long('a')).not.toBe(long('b'))
  expect(keyOf(tools.webFetch, { url: `https://x.test/${'a/'.repeat(400)}` })).not.toBe('x.test')
  expect(keyOf(tools.webFetch, { url: 'https://x.test/?q=how+to' })).toBe('x.test')
})

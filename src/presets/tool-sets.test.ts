import { describe, expect, test } from 'vitest'
import { createAgent } from '../create-agent.ts'
import { call, scripted } from '../testing/index.ts'
import { askUser, presentPlan } from '../tools/index.ts'
import { basic, basicTools, coding, codingTools, composePresets } from './index.ts'

const namesOf = (tools: object): string[] => Object.values(tools).map(({ spec }) => spec.name)

test('A147 basic holds exactly its seven tools', () => {
  const seven = ['shell', 'read_file', 'write_file', 'edit', 'multi_edit', 'list_files', 'spawn']
  expect(namesOf(basicTools)).toEqual(seven)
  expect(basic.tools).toBe(basicTools)
})

test('coding adds jobs, search, a task list and the web', () => {
  const added = ['shell_output', 'shell_stop', 'glob', 'grep', 'todowrite', 'todoread', 'web_fetch']
  expect(namesOf(codingTools)).toEqual([...namesOf(basicTools), ...added])
  expect(coding.tools).toBe(codingTools)
})

test('only a set that can follow background jobs offers them', () => {
  const offers = ({ shell }: typeof basicTools): unknown =>
    (shell.spec.inputSchema as { properties: object }).properties
  expect(offers(basicTools)).not.toHaveProperty('background')
  expect(offers(codingTools)).toHaveProperty('background')
})

test('a preset is spread or composed', async () => {
  const provider = scripted('hi')
  await createAgent({ ...composePresets(basic, { system: 'Be brief.' }), provider }).run({ prompt: 'hello' })
  expect(provider.requests[0]!.tools.map(({ name }) => name)).toEqual(namesOf(basicTools))
})

describe('what each tool declares', () => {
  const all = Object.values({ ...codingTools, askUser, presentPlan })
  const byName = Object.fromEntries(all.map((tool) => [tool.spec.name, tool]))

  test('A127 what may run beside others', async () => {
    const safe = all.filter(({ isConcurrencySafe }) => isConcurrencySafe === true).map(({ spec }) => spec.name)
    expect(safe.sort()).toEqual([
      'glob',
      'grep',
      'list_files',
      'read_file',
      'shell_output',
      'spawn',
      'todoread',
      'web_fetch',
    ])
    const barriers = ['edit', 'multi_edit', 'write_file', 'todowrite', 'ask_user', 'present_plan', 'shell_stop']
    for (const name of barriers) expect(byName[name]!.isConcurrencySafe ?? false, name).toBe(false)
    const isSafe = byName.shell!.isConcurrencySafe as (input: object) => Promise<boolean>
    expect([await isSafe({ command: 'ls' }), await isSafe({ command: 'rm x' })]).toEqual([true, false])
  })

  test.each(all.map((tool) => [tool.spec.name, tool] as const))(
    '%s: replay class, effects, approval key and time limit',
    (_, tool) => {
      expect(tool).toMatchObject({
        replay: expect.stringMatching(/^(pure|keyed|opaque)$/),
        effects: expect.anything(),
        timeoutMs: expect.any(Number),
      })
      expect(tool.deriveApprovalKey, 'deriveApprovalKey').toBeTypeOf('function')
      expect(tool.spec.description.length).toBeGreaterThan(20)
      expect(tool.spec.inputSchema).toMatchObject({ type: 'object', properties: expect.anything() })
    },
  )

  test('writes are keyed, commands are opaque, reads are pure', () => {
    const replay = (name: string): unknown => byName[name]!.replay
    expect(['write_file', 'edit', 'multi_edit'].map(replay)).toEqual(['keyed', 'keyed', 'keyed'])
    expect(replay('shell')).toBe('opaque')
    expect(['read_file', 'list_files', 'glob', 'grep', 'todoread'].map(replay)).toEqual(Array(5).fill('pure'))
  })

  test.each([
    ['read_file', { path: 'src/x.ts' }, 'src'],
    ['read_file', { path: './src/../src/x.ts' }, 'src'],
    ['write_file', { path: 'x.ts' }, '.'],
    ['edit', { path: 'src\\deep\\x.ts' }, 'src/deep'],
    ['multi_edit', { path: '/etc/hosts' }, '/etc'],
    ['list_files', {}, '.'],
    ['list_files', { path: 'src/' }, 'src'],
    ['grep', { pattern: 'x', path: 'src' }, 'src'],
    ['glob', { pattern: '*' }, '.'],
    ['web_fetch', { url: 'https://docs.test:8443/a?b' }, 'docs.test'],
    ['shell', { command: ' git push --force' }, 'git push --force'],
    ['spawn', { task: 't' }, 'spawn'],
    ['todowrite', { todos: [] }, 'todos'],
    ['ask_user', { question: '?' }, 'ask_user'],
    ['read_file', { path: 'a\nb/x' }, expect.stringMatching(/^sha256:/)],
    ['read_file', { path: `${'x'.repeat(2000)}/y` }, expect.stringMatching(/^sha256:/)],
  ])('an approval of %s %j is remembered under %j', (name, input, key) => {
    expect(byName[name]!.deriveApprovalKey!(input as never)).toEqual(key)
  })

  test('every file tool says which files it is about', () => {
    const path = 'src/x.ts'
    const touches = Object.fromEntries(
      all.flatMap(({ spec, touches }) =>
        touches ? [[spec.name, touches({ path, edits: [], pattern: '*' } as never)]] : [],
      ),
    )
    expect(touches).toMatchObject({
      read_file: [{ path, access: 'read' }],
      write_file: [{ path, access: 'write' }],
      edit: [{ path, access: 'edit' }],
      multi_edit: [{ path, access: 'edit' }],
      grep: [{ path, access: 'search' }],
      glob: [{ path, access: 'search' }],
    })
  })
})

test('all tools together are offered within a bounded number of characters', async () => {
  const provider = scripted([call('1', 'todoread', {})], 'done')
  await createAgent({ ...coding, provider }).run({ prompt: 'go' })
  // About 4 characters a token: what every request pays for the tools.
  expect(JSON.stringify(provider.requests[0]!.tools).length).toBeLessThan(12_000)
})

import { expect, test } from 'vitest'
import type { Prompt } from '../../src/authority/interaction/interactor-queue.ts'
import { parsePreview } from '../../src/core/tool.ts'
import { call, memoryExecution } from '../../src/testing/index.ts'
import { edit, multiEdit, readFile, writeFile } from '../../src/tools/index.ts'
import type { AgentOptions, ToolCallBlock } from '../../src/types.ts'
import { guarded } from './authority-kit.ts'

const files = { 'a.ts': 'one\ntwo\nthree\n', '/etc/motd': 'welcome\n' }

/** An agent that may read its workspace, and whose every edit is asked about. */
function desk(calls: readonly ToolCallBlock[], more: Parameters<typeof guarded>[2] = {}) {
  const execution = memoryExecution({ files })
  const tools = { edit, multiEdit, writeFile, readFile }
  const authority = { mode: 'ask', workspaceReads: 'allow', workspace: { root: '/project' } } as const
  return { execution, ...guarded([[...calls], 'done'], authority, { execution, tools, ...more }) }
}

const previewOf = ({ payload }: Prompt) => parsePreview(payload.preview)?.files

test('T05 an edit is asked about with its diff and the number of lines, and that is what is applied', async () => {
  const { agent, execution, prompts } = desk([
    call('1', 'edit', { path: 'a.ts', old_string: 'two', new_string: '2\n2½' }),
  ])
  await agent.run({ prompt: 'Go.' })
  expect(prompts).toHaveLength(1)
  const diff = '@@ -1,3 +1,4 @@\n one\n-two\n+2\n+2½\n three'
  expect(previewOf(prompts[0]!)).toEqual([{ path: 'a.ts', change: 'edit', added: 2, removed: 1, diff }])
  expect(prompts[0]!.payload.description).toContain('\nedits a.ts: +2 −1\n')
  expect(execution.files.get('/project/a.ts')).toBe('one\n2\n2½\nthree\n')
})

test('T05 a write says whether its file is new or replaced', async () => {
  const { agent, prompts } = desk([
    call('1', 'write_file', { path: 'new.ts', content: 'fresh\n' }),
    call('2', 'write_file', { path: 'a.ts', content: 'one\nother\n' }),
  ])
  await agent.run({ prompt: 'Go.' })
  const [created, replaced] = prompts.map(({ payload }) => String(payload.description))
  expect(created).toContain('\ncreates new.ts, a new file: +1 −0\n')
  expect(replaced).toContain('\nreplaces all of a.ts, which exists: +1 −2\n')
  expect(previewOf(prompts[1]!)?.[0]?.diff).toBe('@@ -1,3 +1,2 @@\n one\n-two\n-three\n+other')
})

test.each([
  ['edit', { path: 'a.ts', old_string: 'four', new_string: '4' }, '"a.ts" was left as it is: '],
  ['edit', { path: 'a.ts', old_string: 'e\n', new_string: 'E\n' }, '"a.ts" was left as it is: '],
  ['edit', { path: 'none.ts', old_string: 'a', new_string: 'b' }, 'there is no "none.ts"'],
  ['multi_edit', { path: 'a.ts', edits: [{ old_string: 'four', new_string: '4' }] }, 'multi_edit error: edit #1 '],
  ['write_file', { path: 'src/', content: '' }, '"src/" names a folder'],
])('T05 %s that cannot apply (%j) is not asked about: the model gets the error at once', async (name, input, error) => {
  const { agent, prompts, results, records } = desk([call('1', name, input)])
  await agent.run({ prompt: 'Go.' })
  expect(prompts).toEqual([])
  expect(results()).toEqual([expect.stringContaining(`Tool error: ${error}`)])
  expect(records.find(({ class: kind }) => kind === 'Approval')?.decision).toMatchObject({
    verdict: 'deny',
    by: 'preview',
  })
})

test('T05 an edit of a file that has changed since it was read is not asked about', async () => {
  const behavior: AgentOptions['behavior'] = { requireReadBeforeEdit: true }
  const wanted = [
    call('1', 'read_file', { path: 'a.ts' }),
    call('2', 'edit', { path: 'a.ts', old_string: 'two', new_string: '2' }),
  ]
  const { agent, execution, prompts, results } = desk(wanted, { behavior })
  agent.hooks.hook('tool:after', () => void execution.files.set('/project/a.ts', 'zero\none\ntwo\n'))
  await agent.run({ prompt: 'Go.' })
  expect(prompts).toEqual([])
  expect(results()[1]).toContain('Blocked: "a.ts" has changed since it was read; read it again.')
})

test('T05 the error of an edit does not tell the model what is in a file that it may not read unasked', async () => {
  const { agent, prompts, results } = desk(
    [call('1', 'edit', { path: '/etc/motd', old_string: 'welcom!', new_string: 'x' })],
    {
      answer: () => false,
    },
  )
  await agent.run({ prompt: 'Go.' })
  expect(prompts[0]!.payload.description).toMatch(/\nwould fail: "\/etc\/motd" was left as it is: /)
  expect(results().join()).not.toContain('was left as it is')
})

test('T05 a file that changes while the person thinks is asked about again, with the diff as it is then', async () => {
  const { agent, execution, prompts } = desk(
    [call('1', 'edit', { path: 'a.ts', old_string: 'two', new_string: '2' })],
    {
      answer() {
        if (prompts.length === 1) execution.files.set('/project/a.ts', 'zero\ntwo\n')
        return true
      },
    },
  )
  await agent.run({ prompt: 'Go.' })
  expect(prompts.map((prompt) => previewOf(prompt)?.[0]?.diff)).toEqual([
    '@@ -1,3 +1,3 @@\n one\n-two\n+2\n three',
    '@@ -1,2 +1,2 @@\n zero\n-two\n+2',
  ])
  expect(execution.files.get('/project/a.ts')).toBe('zero\n2\n')
})

test('T05 the diff in a question is bounded, without secrets, and does nothing to a terminal', async () => {
  const secret = 'sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789'
  const lines = Array.from({ length: 1000 }, (_, i) => `line ${i}`)
  const content = [`key = ${secret}`, '\x1b[2J\u202e', ...lines, ''].join('\n')
  const { agent, prompts } = desk([call('1', 'write_file', { path: 'new.ts', content })])
  await agent.run({ prompt: 'Go.' })
  const [file] = previewOf(prompts[0]!)!
  expect(file).toMatchObject({ added: 1002, removed: 0, moreLines: 603 })
  expect(file!.diff!.split('\n').slice(0, 3)).toEqual(['@@ -0,0 +1,1002 @@', '+key = [REDACTED:1]', '+␛[2J\\u202e'])
})

test('T05 with one question for all calls of a turn, an edit that builds on the one before is asked about again', async () => {
  const calls = [
    call('1', 'edit', { path: 'a.ts', old_string: 'two', new_string: 'deux' }),
    call('2', 'edit', { path: 'a.ts', old_string: 'deux', new_string: 'zwei' }),
  ]
  const execution = memoryExecution({ files })
  const { agent, prompts } = guarded(
    [calls, 'done'],
    { mode: 'ask', batchPrompts: true, workspace: { root: '/project' } },
    {
      execution,
      tools: { edit },
      answer: ({ payload }) => (payload.calls ? { calls: { 1: 'allow', 2: 'allow' } } : true),
    },
  )
  await agent.run({ prompt: 'Go.' })
  expect(prompts).toHaveLength(2)
  expect(previewOf(prompts[1]!)?.[0]?.diff).toContain('-deux\n+zwei')
  expect(execution.files.get('/project/a.ts')).toBe('one\nzwei\nthree\n')
})

import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createProcessContext } from '../execution/process.ts'
import { createAgent } from '../index.ts'
import { call, memoryExecution, scripted, texts } from '../testing/index.ts'
import { createGrepTool, grep } from './grep.ts'

test('A127 it may run beside others, and says what it does', () => {
  expect(grep.isConcurrencySafe).toBe(true)
  expect(grep.replay).toBe('pure')
  expect(grep.effects).toEqual(['fs.read'])
  expect(grep.touches?.({ pattern: 'x' })).toEqual([{ path: '.', access: 'search' }])
  expect(grep.touches?.({ pattern: 'x', path: 'src' })).toEqual([{ path: 'src', access: 'search' }])
  expect(grep.deriveApprovalKey?.({ pattern: 'x', path: '' })).toBe('.')
  expect(grep.timeoutMs).toBeGreaterThan(50_000)
})

test.each([
  [{ pattern: '' }, '"pattern" is empty'],
  [{ pattern: 'x', output_mode: 'lines' }, '"output_mode" is one of content, files_with_matches, count, not "lines"'],
  [{ pattern: 'x', '-A': -1 }, '"-A" must be a whole number'],
  [{ pattern: 'x', offset: 0.5 }, '"offset" must be integer'],
  [{ pattern: 'a\0b' }, '"pattern" contains a NUL character'],
  [{ pattern: 'x', offset: 10_000_000 }, '"offset" is at most'],
])('%j is refused before anything runs', async (input, words) => {
  const provider = scripted([call('1', 'grep', input)], 'done')
  const agent = createAgent({ provider, tools: { grep }, execution: memoryExecution() })
  await agent.run({ prompt: 'go' })
  expect(texts(agent.turns)[2]).toContain(`Validation error: ${words}`)
})

test('through an agent, results and failures are texts that the model can read', async () => {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'libero-grep-')))
  try {
    writeFileSync(join(root, 'a'), 'B\n')
    const calls = [call('1', 'grep', { pattern: '(' }), call('2', 'grep', { pattern: 'b', '-i': 'yes' })]
    const agent = createAgent({
      provider: scripted(calls, 'done'),
      tools: { grep },
      execution: createProcessContext({ cwd: root }),
    })
    await agent.run({ prompt: 'go' })
    expect(texts(agent.turns)[2]).toBe('user: ←Tool error: "(" is no valid pattern: unclosed group ←a')
  } finally {
    rmSync(root, { recursive: true })
  }
})

test('a program that is not there is looked for once in each handle', async () => {
  const commands: string[] = []
  const execution = memoryExecution({
    files: { a: 'b\n' },
    exec(command) {
      commands.push(command)
      return { exitCode: 127 }
    },
  })
  const tool = createGrepTool()
  const provider = scripted([call('1', 'grep', { pattern: 'b' })], [call('2', 'grep', { pattern: 'b' })], 'done')
  const agent = createAgent({ provider, tools: { tool }, execution })
  await agent.run({ prompt: 'go' })
  expect(texts(agent.turns).slice(2)).toEqual(expect.arrayContaining(['user: ←a', 'user: ←a']))
  expect(commands.filter((command) => command.startsWith('exec rg '))).toHaveLength(1)
  expect(commands.filter((command) => command.startsWith('find . '))).toHaveLength(2)
})

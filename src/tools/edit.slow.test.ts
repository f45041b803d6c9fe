import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { ExecutionContext } from '../core/execution.ts'
import { createProcessContext } from '../execution/process.ts'
import { type Agent, createAgent } from '../index.ts'
import { digestOf } from '../platform/digest.ts'
import { call, memoryExecution, scripted } from '../testing/index.ts'
import { edit } from './edit.ts'
import { multiEdit } from './multi-edit.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'libero-edit-slow-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

type Made = ReturnType<typeof call>

/** An agent that makes one call; gives what the model is told. */
async function told(execution: ExecutionContext, made: Made): Promise<string> {
  const agent: Agent = createAgent({
    provider: scripted([made], 'done'),
    tools: { edit, multiEdit },
    execution,
  })
  let output = ''
  agent.hooks.hook('tool:after', ({ result }) => {
    output = String(result)
  })
  await agent.run({ prompt: 'go' })
  return output
}

const change = (path: string, old_string: string, new_string: string): Made =>
  call('1', 'edit', { path, old_string, new_string })

describe('FT-21 two agents that edit one file at the same time', () => {
  test('1,000 times: both edits are there', { timeout: 120_000 }, async () => {
    for (let i = 0; i < 1000; i++) {
      const memory = memoryExecution({ files: { 'a.txt': 'one\ntwo\n' } })
      const outputs = await Promise.all([
        told(memory, change('a.txt', 'one', `1.${i}`)),
        told(memory, change('./b/../a.txt', 'two', `2.${i}`)),
      ])
      expect(outputs.every((output) => output.startsWith('Edited'))).toBe(true)
      expect(memory.files.get('/project/a.txt')).toBe(`1.${i}\n2.${i}\n`)
    }
  })

  test('300 times, on real files: both edits are there', { timeout: 120_000 }, async () => {
    const execution = createProcessContext({ cwd: folder })
    const file = join(folder, 'a.txt')
    for (let i = 0; i < 300; i++) {
      writeFileSync(file, 'one\ntwo\n')
      const outputs = await Promise.all([
        told(execution, change('a.txt', 'one', '1')),
        told(execution, call('1', 'multi_edit', { path: file, edits: [{ old_string: 'two', new_string: '2' }] })),
      ])
      expect(outputs.every((output) => output.startsWith('Edited'))).toBe(true)
      expect(readFileSync(file, 'utf8')).toBe('1\n2\n')
    }
  })

  test('1,000 times, at the same place: the second is refused in words', { timeout: 120_000 }, async () => {
    for (let i = 0; i < 1000; i++) {
      const memory = memoryExecution({ files: { 'a.txt': 'one\n' } })
      const outputs = await Promise.all([
        told(memory, change('a.txt', 'one', 'first')),
        told(memory, change('a.txt', 'one', 'second')),
      ])
      const made = outputs.findIndex((output) => output.startsWith('Edited'))
      expect(outputs[1 - made]).toContain('old_string was not found')
      expect(memory.files.get('/project/a.txt')).toBe(made === 0 ? 'first\n' : 'second\n')
    }
  })

  test('over contexts that know nothing of each other: nothing is lost silently', { timeout: 120_000 }, async () => {
    const file = join(folder, 'a.txt')
    const [one, two] = [createProcessContext({ cwd: folder }), createProcessContext({ cwd: folder })]
    for (let i = 0; i < 200; i++) {
      writeFileSync(file, 'one\ntwo\n')
      const outputs = await Promise.all([
        told(one, change('a.txt', 'one', '1')),
        told(two, change('a.txt', 'two', '2')),
      ])
      const made = outputs.map((output) => output.startsWith('Edited'))
      for (const output of outputs.filter((_, j) => !made[j]))
        expect(output).toContain('was changed by somebody else meanwhile')
      expect(readFileSync(file, 'utf8')).toBe(`${made[0] ? '1' : 'one'}\n${made[1] ? '2' : 'two'}\n`)
    }
  })
})

describe('a file of 10 MB', () => {
  const line = (i: number): string => `line ${i}: some words that are not too short`
  const lines = Array.from({ length: 220_000 }, (_, i) => line(i))

  test.each([
    ['LF', '\n'],
    ['CRLF', '\r\n'],
  ])('with %s is edited in the middle, and only there', async (_, ending) => {
    const file = join(folder, 'big.txt')
    const execution = createProcessContext({ cwd: folder })
    const text = `${lines.join(ending)}${ending}`
    writeFileSync(file, text)
    const wanted = `${line(110_000)}\n${line(110_001)}`
    expect(await told(execution, change('big.txt', wanted, 'here\nand here'))).toBe(
      'Edited big.txt (1 replacement, line 110001)',
    )
    const now = readFileSync(file, 'utf8')
    const [before, after] = text.split(wanted.replace('\n', ending)) as [string, string]
    expect(digestOf(now)).toBe(digestOf(`${before}here${ending}and here${after}`))
  })

  test('is searched for what is like a text that is not there', async () => {
    const execution = memoryExecution({ files: { 'big.txt': `${lines.join('\n')}\n` } })
    const close = await told(execution, change('big.txt', 'line 2000O: some words that are not too short', 'x'))
    expect(close).toContain('The closest place is line ')
    const indented = await told(execution, change('big.txt', `  ${line(7)}  \n  ${line(8)}`, '  x\n  y'))
    expect(indented).toContain('Edited big.txt (1 replacement, line 8)')
    expect(indented).toContain('8\tx\n9\ty')
    expect(await told(execution, change('big.txt', 'Quite Unlike It', 'x'))).toContain('Nothing in the file is like it')
  })

  test('in one line, and of many repetitions, is no worse', async () => {
    const execution = memoryExecution({
      files: { 'long.txt': 'ab'.repeat(5_000_000), 'same.txt': 'same line\n'.repeat(1_000_000) },
    })
    expect(await told(execution, change('long.txt', `${'ab'.repeat(50_000)}c${'ab'.repeat(50_000)}`, 'x'))).toContain(
      'not found',
    )
    expect(await told(execution, change('long.txt', 'ab'.repeat(50_000), 'x'))).toContain('more than 1000 times')
    const many = 'same line\n'.repeat(20_000)
    expect(await told(execution, change('same.txt', `${many}other line`, 'x'))).toContain('not found')
    expect(await told(execution, change('same.txt', many.replaceAll('\n', ' \n'), 'x'))).toContain('are like it')
    const all = call('1', 'edit', { path: 'same.txt', old_string: 'same', new_string: 'an\nother', replace_all: true })
    expect(await told(execution, all)).toContain('1000000 replacements, lines 1, 3, 5, 7, 9 and 999995 more')
  })
})

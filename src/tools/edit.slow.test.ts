import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect } from 'vitest'
import { rounds, testInTurns } from '../../test/soak.ts'
import type { ExecutionContext } from '../core/execution.ts'
import { createProcessContext } from '../execution/process.ts'
import { type Agent, createAgent } from '../index.ts'
import { digestOf } from '../platform/digest.ts'
import { call, memoryExecution, scripted } from '../testing/index.ts'
import { edit } from './edit.ts'
import { multiEdit } from './multi-edit.ts'

// Most of them are about large files.
const test = testInTurns(3)

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
  const tries = rounds(20, 1000)
  test(`${tries} times: both edits are there`, { timeout: 120_000 }, async () => {
    for (let i = 0; i < tries; i++) {
      const memory = memoryExecution({ files: { 'a.txt': 'one\ntwo\n' } })
      const outputs = await Promise.all([
        told(memory, change('a.txt', 'one', `1.${i}`)),
        told(memory, change('./b/../a.txt', 'two', `2.${i}`)),
      ])
      expect(outputs.every((output) => output.startsWith('Edited'))).toBe(true)
      expect(memory.files.get('/project/a.txt')).toBe(`1.${i}\n2.${i}\n`)
    }
  })

  const times = rounds(8, 300)
  test(`${times} times, on real files: both edits are there`, { timeout: 120_000 }, async () => {
    const execution = createProcessContext({ cwd: folder })
    const file = join(folder, 'a.txt')
    for (let i = 0; i < times; i++) {
      writeFileSync(file, 'one\ntwo\n')
      const outputs = await Promise.all([
        told(execution, change('a.txt', 'one', '1')),
        told(execution, call('1', 'multi_edit', { path: file, edits: [{ old_string: 'two', new_string: '2' }] })),
      ])
      expect(outputs.every((output) => output.startsWith('Edited'))).toBe(true)
      expect(readFileSync(file, 'utf8')).toBe('1\n2\n')
    }
  })

  test(`${tries} times, at the same place: the second is refused in words`, { timeout: 120_000 }, async () => {
    for (let i = 0; i < tries; i++) {
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
    for (let i = 0; i < rounds(20, 200); i++) {
      writeFileSync(file, 'one\ntwo\n')
      const outputs = await Promise.all([
        told(one, change('a.txt', 'one', '1')),
        told(two, change('a.txt', 'two', '2')),
      ])
      const made = outputs.map((output) => output.startsWith('Edited'))
      for (const output of outputs.filter((_, j) => !made[j])) expect(output).toContain('was changed meanwhile')
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
    expect(close).toContain('The most similar line')
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
    expect(await told(execution, change('same.txt', many.replaceAll('\n', ' \n'), 'x'))).toContain('match except for')
    const all = call('1', 'edit', { path: 'same.txt', old_string: 'same', new_string: 'an\nother', replace_all: true })
    expect(await told(execution, all)).toContain('1000000 replacements, lines 1, 3, 5, 7, 9 and 999995 more')
  })
})

describe('a change that is too much', () => {
  const grown = (new_string: string): Made =>
    call('1', 'edit', { path: 'a.txt', old_string: 'a', new_string, replace_all: true })

  test('is refused in words before it is made', async () => {
    const text = 'a\n'.repeat(1_000_000)
    const memory = memoryExecution({ files: { 'a.txt': text } })
    for (const times of [100, 1000])
      expect(await told(memory, grown('x\n'.repeat(times)))).toMatch(
        /^Tool error: "a\.txt" was left as it is: the result would have more than 67108864 characters/,
      )
    // Few characters, but each of three bytes.
    expect(await told(memory, grown('漢'.repeat(25)))).toMatch(
      /^Tool error: "a\.txt" was left as it is: .* 76000000 bytes/,
    )
    expect(memory.files.get('/project/a.txt')).toBe(text)
    const most = memoryExecution({ files: { 'a.txt': 'a'.repeat(10_000_001) } })
    expect(await told(most, grown('b'))).toContain('more than 10000000 times, too many to replace at once')
  })

  test('takes little memory up to there', { timeout: 120_000 }, () => {
    writeFileSync(join(folder, 'a.txt'), 'a\n'.repeat(1_000_000))
    const input = `{ path: 'a.txt', old_string: 'a', new_string: 'x\\n'.repeat(30), replace_all: true }`
    expect(inSmallHeap(folder, 'edit', input)).toMatch(/^Edited a\.txt \(1000000 replacements, lines 1, 32, 63, 94/)
  })
})

describe('many edits of a large file', () => {
  const line = (i: number): string => `line ${i}: some words that are not too short`
  const text = (count: number): string => Array.from({ length: count }, (_, i) => `${line(i)}\n`).join('')
  const edits = (count: number) =>
    Array.from({ length: count }, (_, i) => ({ old_string: `${line(i)}\n`, new_string: `edited ${i}\n` }))

  test('take little memory', { timeout: 120_000 }, () => {
    writeFileSync(join(folder, 'a.txt'), text(200_000))
    const input = `{ path: 'a.txt', edits: ${JSON.stringify(edits(60))} }`
    expect(inSmallHeap(folder, 'multi_edit', input)).toBe('Edited a.txt: 60 edits, 60 replacements')
    expect(readFileSync(join(folder, 'a.txt'), 'utf8').slice(0, 20)).toBe('edited 0\nedited 1\ned')
  })

  test('let others have their turn, and stop when they are no longer wanted', { timeout: 60_000 }, async () => {
    const content = text(200_000)
    const memory = memoryExecution({ files: { 'a.txt': content } })
    const agent = createAgent({
      provider: scripted([call('1', 'multi_edit', { path: 'a.txt', edits: edits(400) })], 'done'),
      tools: { multiEdit },
      execution: memory,
    })
    const controller = new AbortController()
    agent.hooks.hook('tool:before', () => void setTimeout(() => controller.abort(), 5))
    await expect(agent.run({ prompt: 'go', signal: controller.signal })).rejects.toThrow('aborted')
    expect(memory.files.get('/project/a.txt')).toBe(content)
  })
})

/** What a model is told by a tool in a process that has little memory. */
function inSmallHeap(cwd: string, name: string, input: string): string {
  const here = (path: string): string => JSON.stringify(new URL(path, import.meta.url).href)
  const code = `
    import { createProcessContext } from ${here('../execution/process.ts')}
    import { createAgent } from ${here('../index.ts')}
    import { call, scripted } from ${here('../testing/index.ts')}
    import { edit } from ${here('edit.ts')}
    import { multiEdit } from ${here('multi-edit.ts')}
    const agent = createAgent({
      provider: scripted([call('1', '${name}', ${input})], 'done'),
      tools: { edit, multiEdit },
      execution: createProcessContext({ cwd: ${JSON.stringify(cwd)} }),
    })
    agent.hooks.hook('tool:after', ({ result }) => void process.stdout.write(String(result)))
    await agent.run({ prompt: 'go' })
    await agent.destroy()`
  const options = ['--conditions=libero-source', '--max-old-space-size=250', '--input-type=module-typescript']
  return execFileSync(process.execPath, [...options, '-e', code], { encoding: 'utf8', timeout: 100_000, stdio: 'pipe' })
}

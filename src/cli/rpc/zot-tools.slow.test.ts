import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createProcessContext } from '../../execution/process.ts'
import { createAgent } from '../../index.ts'
import { call, scripted } from '../../testing/index.ts'
import { UsageError } from '../cli-error.ts'
import { zotAliases, zotTools } from './zot-tools.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'libero-zot-tools-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

interface Outcome {
  readonly output: string
  readonly isError: boolean
  readonly progress: readonly string[]
  /** What the model was offered. */
  readonly specs: ReadonlyMap<string, Record<string, unknown>>
  readonly logged: string
}

async function run(name: string, input: Record<string, unknown>): Promise<Outcome> {
  const provider = scripted([call('1', name, input)], 'done')
  const agent = createAgent({
    provider,
    tools: zotTools(),
    toolAliases: zotAliases,
    execution: createProcessContext({ cwd: folder }),
  })
  const progress: string[] = []
  agent.hooks.hook('tool:progress', ({ text }) => void progress.push(text))
  await agent.run({ prompt: 'go' })
  await agent.destroy()
  const [, said, results] = agent.turns
  const result = results?.content.find((block) => block.type === 'tool_result')
  const logged = said?.content.find((block) => block.type === 'tool_call')
  const specs = provider.requests[0]!.tools.map(({ name, inputSchema }) => [name, inputSchema.properties] as const)
  return {
    output: String(result?.output),
    isError: result?.isError === true,
    progress,
    specs: new Map(specs as [string, Record<string, unknown>][]),
    logged: logged?.name ?? '',
  }
}

describe('bash', () => {
  test('shows the command, its output, its exit code and its duration', async () => {
    const { output, isError } = await run('bash', { command: 'echo out; echo err >&2; exit 3' })
    expect(output).toMatch(/^\$ echo out; echo err >&2; exit 3\n(out\nerr|err\nout)\n\[exit 3\] \d+\.\d\ds$/)
    expect(isError).toBe(true)
  })

  test('prints no placeholder for a command without output', async () => {
    const { output, isError } = await run('bash', { command: 'true' })
    expect(output).toMatch(/^\$ true\n\[exit 0\] \d+\.\d\ds$/)
    expect(isError).toBe(false)
  })

  test('output that looks like the end of a command is shown completely', async () => {
    const { output } = await run('bash', { command: 'echo "(exit 0, 5ms)"; echo last' })
    expect(output).toMatch(/\n\(exit 0, 5ms\)\nlast\n\[exit 0\] \d/)
  })

  test('takes its time limit in seconds', async () => {
    const { output, isError } = await run('bash', { command: 'echo begun; sleep 30', timeout: 0.3 })
    expect(output).toMatch(/^\$ echo begun; sleep 30\nbegun\n.*timeout, up to 600\)\n\[exit -1\] timed out 0\.\d\ds$/)
    expect(isError).toBe(true)
  })

  test('keeps the last 2000 lines and 50 KiB', async () => {
    const many = await run('bash', { command: 'seq 1 5000' })
    expect(many.output.split('\n').length).toBeLessThan(2010)
    expect(many.output).toMatch(/\n…\(3\d{3} lines truncated from head\)…\n/)
    expect(many.output).toMatch(/\n5000\n\[exit 0\]/)
    const wide = await run('bash', { command: `head -c 200000 /dev/zero | tr '\\0' x` })
    expect(Buffer.byteLength(wide.output)).toBeLessThan(51_600)
    expect(wide.progress.every((text) => Buffer.byteLength(text) <= 4096)).toBe(true)
  })

  test('reports output as it arrives', async () => {
    const { progress } = await run('bash', { command: 'echo one; sleep 0.2; echo two' })
    expect(progress.join('')).toBe('one\ntwo\n')
  })
})

describe('edit', () => {
  const file = (): string => join(folder, 'a.txt')

  test('makes several replacements at once', async () => {
    writeFileSync(file(), 'one\ntwo\n')
    const edits = [
      { oldText: 'one', newText: '1' },
      { oldText: 'two', newText: '2' },
    ]
    const { isError, logged } = await run('edit', { path: 'a.txt', edits })
    expect(readFileSync(file(), 'utf8')).toBe('1\n2\n')
    expect(isError).toBe(false)
    expect(logged).toBe('edit')
  })

  test('makes none if one fails, and its errors name zot’s fields', async () => {
    writeFileSync(file(), 'one\none\n')
    const edits = [
      { oldText: 'one\none', newText: '1' },
      { oldText: 'three', newText: '3' },
    ]
    const { output, isError } = await run('edit', { path: 'a.txt', edits })
    expect(readFileSync(file(), 'utf8')).toBe('one\none\n')
    expect(isError).toBe(true)
    expect(output).toMatch(/^edit error: edit #2 oldText was not found/)
  })

  test('HK01 is asked about with what each replacement changes, and leaves out the denied ones', async () => {
    writeFileSync(file(), 'one\ntwo\n')
    const edits = [
      { oldText: 'one', newText: '1' },
      { oldText: 'two', newText: '2' },
    ]
    const asked: unknown[] = []
    const agent = createAgent({
      provider: scripted([call('1', 'edit', { path: 'a.txt', edits })], 'done'),
      tools: zotTools(),
      execution: createProcessContext({ cwd: folder }),
      authority: {
        mode: 'ask',
        interactors: [
          ({ payload }) => {
            asked.push(payload.preview)
            return { edits: [{ decision: 'deny' }, { decision: 'allow' }] } as never
          },
        ],
      },
    })
    await agent.run({ prompt: 'go' })
    await agent.destroy()
    expect(asked).toMatchObject([{ files: [{ edits: [{ diff: expect.stringContaining('+1') }, {}] }] }])
    expect(readFileSync(file(), 'utf8')).toBe('one\n2\n')
  })

  test('does not mention options it does not have', async () => {
    writeFileSync(file(), 'one\none\n')
    const { output } = await run('edit', { path: 'a.txt', edits: [{ oldText: 'one', newText: '1' }] })
    expect(output).toContain('oldText occurs 2 times')
    expect(output).not.toContain('replace_all')
  })

  test.each([
    ['nothing to do', [], /"edits" is empty/],
    ['a field that is missing', [{ oldText: 'one' }], /edit #1: .*newText/],
    ['something that is no edit', ['one'], /edit #1: .*oldText/],
  ])('refuses %s', async (_, edits, why) => {
    writeFileSync(file(), 'one\n')
    const { output, isError } = await run('edit', { path: 'a.txt', edits })
    expect(output).toMatch(why)
    expect(isError).toBe(true)
    expect(readFileSync(file(), 'utf8')).toBe('one\n')
  })
})

describe('names', () => {
  test('are those of zot, with zot’s fields; the log keeps ours', async () => {
    const { specs, logged } = await run('write', { path: 'new.txt', content: 'here' })
    expect(readFileSync(join(folder, 'new.txt'), 'utf8')).toBe('here')
    expect(logged).toBe('write_file')
    const fields = (name: string): string[] => Object.keys(specs.get(name) ?? {})
    expect(fields('bash')).toEqual(['command', 'timeout'])
    expect(fields('read')).toEqual(['path', 'offset', 'limit'])
    expect(fields('write')).toEqual(['path', 'content'])
    expect(fields('edit')).toEqual(['path', 'edits'])
    for (const name of ['shell', 'read_file', 'write_file', 'multi_edit', 'shell_output'])
      expect(specs.has(name)).toBe(false)
  })

  test('read stops at 2000 lines and at 50 KiB', async () => {
    writeFileSync(join(folder, 'long.txt'), Array.from({ length: 3000 }, (_, i) => `${i + 1}\n`).join(''))
    expect((await run('read', { path: 'long.txt' })).output).toMatch(/\n\(.*1-2000.*2001.*\)$/)
    writeFileSync(join(folder, 'wide.txt'), `${'x'.repeat(500)}\n`.repeat(1000))
    expect(Buffer.byteLength((await run('read', { path: 'wide.txt' })).output)).toBeLessThan(54_000)
  })

  test('of --tools may be zot’s or ours', () => {
    expect(Object.keys(zotTools({ only: 'bash, read_file' })).toSorted()).toEqual(['read_file', 'shell'])
    expect(zotTools({ none: true })).toEqual({})
  })

  test('that are unknown to --tools are refused, with the nearest one', () => {
    expect(() => zotTools({ only: 'bush' })).toThrow(UsageError)
    expect(() => zotTools({ only: 'bush' })).toThrow(/no tool "bush"; did you mean bash\?/)
  })
})

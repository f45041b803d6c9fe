import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { applyPatch } from 'diff'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { ExecutionContext } from '../core/execution.ts'
import type { TouchedFile } from '../core/tool.ts'
import { createProcessContext } from '../execution/process.ts'
import { type AgentOptions, createAgent } from '../index.ts'
import { digestOf } from '../platform/digest.ts'
import { call, memoryExecution, scripted } from '../testing/index.ts'
import { writeFile } from './write-file.ts'

let folder: string
let execution: ExecutionContext
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'libero-write-'))
  execution = createProcessContext({ cwd: folder })
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const at = (name: string): string => join(folder, name)
const held = (name: string): string => readFileSync(at(name), 'utf8')

describe('a write', () => {
  test('A142 says whether it created, updated or needed to change nothing', async () => {
    const first = await write('src/new/a.txt', 'one\ntwo\n')
    expect(first.output).toBe('Created src/new/a.txt (2 lines)')
    expect((await write('src/new/a.txt', 'one\n2')).output).toBe('Updated src/new/a.txt (2 lines)')
    const before = await execution.stat!(await execution.spawn(), 'src/new/a.txt')
    const third = await write('./src/new/a.txt', 'one\n2')
    expect(third.output).toBe('No change needed: ./src/new/a.txt already has exactly this content')
    expect(await execution.stat!(await execution.spawn(), 'src/new/a.txt')).toEqual(before)
    expect(third.details.file).toMatchObject({ access: 'write', digest: digestOf('one\n2') })
    expect(third.details.file?.key).toBe(first.details.file?.key)
    expect(held('src/new/a.txt')).toBe('one\n2')
  })

  test('A142 does the same where files have no stamps', async () => {
    const memory = memoryExecution()
    const outputs = []
    for (const content of ['a\n', 'b', 'b']) outputs.push((await write('x.txt', content, { place: memory })).output)
    expect(outputs).toEqual([
      'Created x.txt (1 line)',
      'Updated x.txt (1 line)',
      'No change needed: x.txt already has exactly this content',
    ])
    expect(memory.files.get('/project/x.txt')).toBe('b')
  })

  test.each(['', '\ufeffmark\r\n', 'a\0b', 'no newline', 'é😀\n'])(
    'puts %j into the file as it is',
    async (content) => {
      await write('a.txt', content)
      expect(readFileSync(at('a.txt'))).toEqual(Buffer.from(content))
    },
  )

  test('shows in its details what it changed, by what was on disk', async () => {
    writeFileSync(at('a.txt'), 'one\r\ntwo\r\nthree')
    const { details } = await write('a.txt', 'one\ntwo\r\nthree')
    expect(details.diff).toBe(
      '--- a.txt\n+++ a.txt\n@@ -1,3 +1,3 @@\n-one\r\n+one\n two\r\n three\n\\ No newline at end of file\n',
    )
    const created = await write('b.txt', 'x\ny\n')
    expect(applyPatch('', created.details.diff!)).toBe('x\ny\n')
    writeFileSync(at('bin'), Buffer.from([0xff, 0xfe, 0x00]))
    expect((await write('bin', 'text')).details.diff).toBeUndefined()
    const long = await write('long.txt', 'words\n'.repeat(50_000))
    expect(long.details.diff!.length).toBeLessThan(66_000)
  })

  test('A097 gives tool:before what the file held, where that is text of no great size', async () => {
    const prior: unknown[] = []
    const hooks: Hooks = { 'tool:before': (ctx) => void prior.push(ctx.priorContent) }
    writeFileSync(at('a.txt'), 'the old one\r\n')
    await write('a.txt', 'the new one', { hooks })
    await write('new.txt', 'x', { hooks })
    writeFileSync(at('big.txt'), 'x'.repeat(1024 * 1024 + 1))
    await write('big.txt', 'x', { hooks })
    for (const content of [Buffer.from([0xff, 1]), 'a\0b']) {
      writeFileSync(at('bin'), content)
      await write('bin', 'x', { hooks })
    }
    expect(prior).toEqual(['the old one\r\n', undefined, undefined, undefined, undefined])
  })
})

describe('a write that cannot be', () => {
  test('onto a folder, through a file or outside leaves everything as it is', async () => {
    mkdirSync(at('folder'))
    writeFileSync(at('file'), 'x')
    expect((await write('folder', 'x')).output).toBe('Tool error: "folder" is a folder, not a file')
    expect((await write('other/', 'x')).output).toBe('Tool error: "other/" names a folder; give the path of a file')
    expect((await write('file/inside', 'x')).output).toMatch(/^Tool error: .*file\/inside/)
    expect((await write('../libero-never.txt', 'x')).output).toMatch(/^Tool error: .*outside/)
    const memory = memoryExecution({ files: { 'folder/a': '' } })
    expect((await write('folder', 'x', { place: memory })).output).toBe('Tool error: "folder" is a folder, not a file')
    expect(readdirSync(folder).sort()).toEqual(['file', 'folder'])
    expect(held('file')).toBe('x')
  })

  test('FS-03 goes through no link to the outside', async () => {
    const outside = mkdtempSync(join(tmpdir(), 'libero-outside-'))
    try {
      writeFileSync(join(outside, 'rc'), 'theirs')
      symlinkSync(join(outside, 'rc'), at('rc'))
      symlinkSync(outside, at('dir'))
      expect((await write('rc', 'mine')).output).toMatch(/^Tool error: .*outside/)
      expect((await write('dir/new', 'mine')).output).toMatch(/^Tool error: .*outside/)
      expect(readdirSync(outside)).toEqual(['rc'])
      expect(readFileSync(join(outside, 'rc'), 'utf8')).toBe('theirs')
    } finally {
      rmSync(outside, { recursive: true })
    }
  })

  test.each([
    ['FT-16 for want of room', 'ENOSPC', 'no room left on the disk; "a.txt" was left as it was'],
    ['for a read-only file system', 'EROFS', '"a.txt" is on a read-only file system'],
  ])('%s says so and loses nothing', async (_, code, words) => {
    writeFileSync(at('a.txt'), 'old')
    const full: ExecutionContext = {
      ...execution,
      writeFile: () => Promise.reject(Object.assign(new Error('cannot'), { code })),
    }
    const { output, details } = await write('a.txt', 'new', { place: full })
    expect(output).toBe(`Tool error: ${words}`)
    expect(details).toEqual({})
    expect(held('a.txt')).toBe('old')
  })

  test.each([['old'], [undefined]])(
    'FT-18 is refused when the file was changed meanwhile (before: %s)',
    async (before) => {
      if (before !== undefined) writeFileSync(at('a.txt'), before)
      // The file changes at the last moment: after the tool has read it, before it writes.
      const raced: ExecutionContext = {
        ...execution,
        writeFile: (...args) => {
          writeFileSync(at('a.txt'), 'theirs')
          return execution.writeFile(...args)
        },
      }
      expect((await write('a.txt', 'mine', { place: raced })).output).toBe(
        'Tool error: "a.txt" was changed meanwhile and was left as it is; read it again',
      )
      expect(held('a.txt')).toBe('theirs')
    },
  )

  test('with an unpaired surrogate is refused: no file can contain it', () => {
    expect(writeFile.check!({ path: 'a.txt', content: 'ab\ud83d' })).toEqual({
      valid: false,
      error: '"content" has an unpaired surrogate (\\ud83d) at 2; write the whole character',
    })
    expect(writeFile.check!({ path: 'a.txt', content: '😀' })).toBeUndefined()
  })
})

type Hooks = NonNullable<AgentOptions['hooks']>

interface Details {
  readonly file?: TouchedFile
  readonly diff?: string
}

async function write(
  path: string,
  content: string,
  { place = execution, hooks = {} }: { place?: ExecutionContext; hooks?: Hooks } = {},
): Promise<{ output: string; details: Details }> {
  const provider = scripted([call('1', 'write_file', { path, content })], 'done')
  const agent = createAgent({ provider, tools: { writeFile }, execution: place, hooks })
  let details: unknown
  agent.hooks.hook('tool:after', (after) => void (details = after.details))
  await agent.run({ prompt: 'go' })
  const block = agent.turns[2]?.content[0]
  if (block?.type !== 'tool_result') throw new Error('there is no result')
  return { output: String(block.output), details: (details ?? {}) as Details }
}

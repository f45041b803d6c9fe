import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import type { ExecutionContext } from '../core/execution.ts'
import type { ToolContext } from '../core/tool.ts'
import { createProcessContext } from '../execution/process.ts'
import { memoryExecution } from '../testing/index.ts'
import { createGlobTool } from './glob.ts'
import type { SearcherOptions } from './search/searcher.ts'

type Find = (input: Readonly<Record<string, unknown>>) => Promise<string>

const files = [
  ...['a.ts', 'b.tsx', 'README.md', '.env', '.git/config', 'src/a.ts', 'src/b/c.ts', 'src/b/d.tsx', 'src/.hidden/e.ts'],
  ...['dist/out.ts', 'node_modules/zod/index.ts', 'x.log', 'logs/keep.log', '-exec', 'new\nline.ts'],
]
const rules = { '.gitignore': 'dist\nnode_modules/\n*.log\n', 'logs/.gitignore': '!keep.log\n' }

const root = realpathSync(mkdtempSync(join(tmpdir(), 'libero-glob-')))
for (const [path, content] of [...files.map((file) => [file, ''] as const), ...Object.entries(rules)]) {
  mkdirSync(dirname(join(root, path)), { recursive: true })
  writeFileSync(join(root, path), content)
}
symlinkSync('/', join(root, 'src/out'))
symlinkSync('..', join(root, 'src/loop'))
const ends: (() => Promise<void>)[] = []
afterAll(async () => {
  for (const end of ends) await end()
  rmSync(root, { recursive: true })
})

async function finder(execution: ExecutionContext, options: SearcherOptions): Promise<Find> {
  const handle = await execution.spawn()
  ends.push(() => execution.destroy(handle))
  const ctx = { execution, handle, signal: new AbortController().signal } as unknown as ToolContext
  const tool = createGlobTool(options)
  return async (input) => ((await tool.execute(input as never, ctx)) as { output: string }).output
}

const host = createProcessContext({ cwd: root })
const elsewhere = { ...host, capabilities: { ...host.capabilities, hostPrograms: false } }
const memory = memoryExecution({ files: { ...Object.fromEntries(files.map((file) => [file, ''])), ...rules } })

describe.each([
  ['with ripgrep', () => finder(host, {})],
  ['without ripgrep', () => finder(host, { ripgrep: false })],
  ['in another world with a shell', () => finder(elsewhere, { ripgrep: 'no-such-program' })],
  ['in another world of few verbs', () => finder(memory, {})],
])('%s', (_, start) => {
  test('files are found by their path, sorted, without what is ignored and without .git', async () => {
    const find = await start()
    const note = '\n\n(control characters in names are shown escaped)'
    expect(await find({ pattern: '**/*.ts' })).toBe(
      `a.ts\nnew\\nline.ts\nsrc/.hidden/e.ts\nsrc/a.ts\nsrc/b/c.ts${note}`,
    )
    expect(await find({ pattern: 'src/b/*.{ts,tsx}' })).toBe('src/b/c.ts\nsrc/b/d.tsx')
    expect(await find({ pattern: '*.tsx' })).toBe('b.tsx')
    expect(await find({ pattern: '**/*.log' })).toBe('logs/keep.log')
    expect(await find({ pattern: '*/*.ts' })).toBe('src/a.ts')
    expect(await find({ pattern: '**', path: 'src/b' })).toBe('src/b/c.ts\nsrc/b/d.tsx')
    expect(await find({ pattern: '-exec' })).toBe('-exec')
  })

  test('an ignored folder is looked into when it is named', async () => {
    const find = await start()
    expect(await find({ pattern: 'node_modules/**/*.ts' })).toBe('node_modules/zod/index.ts')
    expect(await find({ pattern: '*', path: 'dist' })).toBe('dist/out.ts')
    expect(await find({ pattern: '**/dist/*' })).toBe('No files found')
  })

  test('what is found comes in pages', async () => {
    const find = await start()
    expect(await find({ pattern: 'src/**', head_limit: 2 })).toBe(
      'src/.hidden/e.ts\nsrc/a.ts\n\n(files 1-2 of 4; go on with offset=2)',
    )
    expect(await find({ pattern: 'src/**', head_limit: 2, offset: 2 })).toBe(
      'src/b/c.ts\nsrc/b/d.tsx\n\n(files 3-4 of 4)',
    )
  })

  test('FS-01 a pattern that leads out is refused, and so is no folder', async () => {
    const find = await start()
    await expect(find({ pattern: '../../**' })).rejects.toThrow(
      'the pattern "../../**" cannot be used: it contains ".."',
    )
    await expect(find({ pattern: '/etc/*' })).rejects.toThrow('give the folder as "path"')
    await expect(find({ pattern: '*', path: 'a.ts' })).rejects.toThrow('"a.ts" is a file')
    await expect(find({ pattern: '*', path: 'scr' })).rejects.toThrow('there is no "scr"; did you mean "src"?')
    expect(await find({ pattern: 'scr/*.ts' })).toBe('No files found: there is no folder "scr"')
  })
})

test('FS-17 a link that leads out is not gone along, by path or by pattern', async () => {
  const find = await finder(host, {})
  await expect(find({ pattern: '*', path: '../..' })).rejects.toThrow('outside')
  await expect(find({ pattern: '*', path: 'src/out' })).rejects.toThrow('outside')
  await expect(find({ pattern: 'src/out/etc/*' })).rejects.toThrow('outside')
})

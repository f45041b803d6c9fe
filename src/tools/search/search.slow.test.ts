import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Worker } from 'node:worker_threads'
import { afterAll, describe, expect, vi } from 'vitest'
import { testInTurns } from '../../../test/soak.ts'
import type { ToolContext } from '../../core/tool.ts'
import { createProcessContext } from '../../execution/process.ts'
import { memoryExecution } from '../../testing/index.ts'
import { createGrepTool } from '../grep.ts'
import { searchThroughContext } from './context-search.ts'
import { searchTree } from './host-search.ts'
import { everyPath } from './path-filter.ts'
import type { SearchQuery } from './query.ts'
import type { SearcherOptions } from './searcher.ts'
import { startSearch } from './start-search.ts'

const test = testInTurns(2)

/** Threads that live. */
const threads = new Set<Worker>()
const follow = (worker: Worker): void => {
  threads.add(worker)
  worker.once('exit', () => threads.delete(worker))
}
process.on('worker', follow)

const folders: string[] = []
afterAll(() => {
  process.off('worker', follow)
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
})

function plant(files: Readonly<Record<string, string>>): string {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'libero-search-')))
  folders.push(root)
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), content)
  }
  return root
}

const query: SearchQuery = {
  mode: 'files',
  pattern: 'x',
  ignoreCase: false,
  multiline: false,
  before: 0,
  after: 0,
  filter: everyPath,
  skip: 0,
  take: 1000,
  limitMs: 20_000,
}

async function grepIn(root: string, input: object, options: SearcherOptions, env?: Record<string, string>) {
  const execution = createProcessContext({ cwd: root, ...(env && { env }) })
  const handle = await execution.spawn()
  const ctx = { execution, handle, signal: new AbortController().signal } as unknown as ToolContext
  try {
    return ((await createGrepTool(options).execute(input as never, ctx)) as { output: string }).output
  } finally {
    await execution.destroy(handle)
  }
}

const many = (count: number): Record<string, string> =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [`f/${String(i).padStart(5, '0')}`, 'x\n']))

/** A text on which a backtracking engine would work for years. */
const endless = { pattern: '(a+)+$', text: `${'a'.repeat(60)}b\n` }

describe('A146 where there is no ripgrep at all', () => {
  test('A146 neither as a package nor on the PATH, the pages are the same', async () => {
    const lines = Array.from({ length: 200 }, (_, i) => `hit ${i}\n`).join('')
    const root = plant({ a: lines, 'b/c': lines })
    const input = { pattern: 'hit', output_mode: 'content', offset: 150 }
    const withIt = await grepIn(root, input, {})
    vi.doMock('@vscode/ripgrep', () => {
      throw new Error('not installed')
    })
    try {
      const bare = plant({ 'bin/nothing': '' })
      expect(await grepIn(root, input, {}, { PATH: join(bare, 'bin') })).toBe(withIt)
    } finally {
      vi.doUnmock('@vscode/ripgrep')
    }
    expect(withIt).toMatch(/^a:151:hit 150\n.*\nb\/c:200:hit 199\n\n\(lines 151-400 of 400\)$/s)
  })
})

describe('a thread', () => {
  test('ends a pattern that never ends, and lets others work meanwhile', async () => {
    const root = plant({ a: endless.text })
    let ticks = 0
    const clock = setInterval(() => ticks++, 20)
    try {
      const search = grepIn(root, { pattern: endless.pattern }, { ripgrep: false, limitMs: 300 })
      await expect(search).rejects.toThrow('this pattern takes too long on some text; simplify it')
    } finally {
      clearInterval(clock)
    }
    expect(ticks).toBeGreaterThan(10)
  })

  test('ends when it is aborted', async () => {
    const root = plant({ a: endless.text })
    const stop = new AbortController()
    const job = { query: { ...query, pattern: endless.pattern }, place: folder(root) }
    const { result } = await startSearch(job, stop.signal)
    await vi.waitFor(() => expect(threads.size).toBe(1))
    setTimeout(() => stop.abort(new Error('enough')), 200)
    await expect(result).rejects.toThrow('enough')
    expect(threads.size).toBe(0)
    const late = await startSearch({ query, root: folder(root) }, stop.signal)
    await expect(late.result).rejects.toThrow('enough')
    expect(threads.size).toBe(0)
  })

  test('says what is wrong with a pattern', async () => {
    const job = { query: { ...query, pattern: '(' }, place: folder('/') }
    const search = await startSearch(job, new AbortController().signal)
    await expect(search.result).rejects.toThrow('"(" is no valid pattern: unclosed group')
    expect(threads.size).toBe(0)
  })
})

describe('FT-28 what is too much', () => {
  test.each([
    ['with ripgrep', {}],
    ['without ripgrep', { ripgrep: false }],
  ] as const)('a single line of many megabytes is shown by its beginning, %s', async (_, options) => {
    const root = plant({ huge: `needle${'x'.repeat(20 * 1024 * 1024)}needle` })
    const output = await grepIn(root, { pattern: 'needle', output_mode: 'content' }, options)
    expect(output).toBe(`huge:1:needle${'x'.repeat(494)} … [line cut]`)
  })

  test('a folder of too many files is searched as far as it goes', () => {
    const root = plant(many(30))
    const found = searchTree(query, folder(root), { files: 20, bytes: 1000 })
    expect(found).toMatchObject({ total: 20, gaps: { stopped: 'files' } })
  })

  test('a file that is too large is left out, and that is told', async () => {
    const root = plant({ small: 'x\n', large: 'x'.repeat(400_000) })
    const found = searchTree(query, folder(root), { files: 20, bytes: 300_000 })
    expect(found).toMatchObject({ entries: [{ path: 'small' }], gaps: { tooLarge: 1 } })
  })

  test('what cannot be read is counted', () => {
    expect(searchTree(query, folder(join(plant({}), 'gone')))).toMatchObject({ total: 0, gaps: { unreadable: 1 } })
  })

  test('a search that takes too long shows what it has', () => {
    const root = plant(many(3))
    const found = searchTree({ ...query, limitMs: -1 }, folder(root))
    expect(found).toMatchObject({ total: 0, gaps: { stopped: 'time' } })
  })

  test('links that lead round in a circle lead nowhere', async () => {
    const root = plant({ 'a/b/x': 'x\n' })
    symlinkSync('..', join(root, 'a/b/up'))
    symlinkSync('self', join(root, 'self'))
    symlinkSync('/', join(root, 'a/all'))
    for (const options of [{}, { ripgrep: false }] as const)
      expect(await grepIn(root, { pattern: 'x' }, options)).toBe('a/b/x')
    await expect(grepIn(root, { pattern: 'x', path: 'self' }, {})).rejects.toThrow('circle')
  })

  test.skipIf(process.platform !== 'linux')('a pipe is not waited for', async () => {
    const root = plant({ 'a/x': 'x\n' })
    execFileSync('mkfifo', [join(root, 'pipe'), join(root, '.gitignore'), join(root, 'a/.gitignore')])
    for (const options of [{ ripgrep: false }] as const)
      expect(await grepIn(root, { pattern: 'x' }, options)).toBe('a/x')
    await expect(grepIn(root, { pattern: 'x', path: 'pipe' }, {})).rejects.toThrow('neither a file nor a folder')
  })

  test('in another world, so many files are listed and read', async () => {
    const execution = memoryExecution({ files: many(50) })
    const ctx = { execution, handle: await execution.spawn(), signal: new AbortController().signal }
    const search = (limits: object) =>
      searchThroughContext(query, folder('/project'), ctx as unknown as ToolContext, {
        ...{ listed: 1000, read: 1000, bytes: 1000 },
        ...limits,
      })
    expect(await search({})).toMatchObject({ total: 50, gaps: {} })
    expect(await search({ listed: 10 })).toMatchObject({ total: 10, gaps: { stopped: 'files' } })
    expect(await search({ read: 20 })).toMatchObject({ total: 20, gaps: { stopped: 'files' } })
  })

  test('in another world with a shell, large files are not fetched', async () => {
    const root = plant({ small: 'x\n', large: 'x'.repeat(5000) })
    const execution = createProcessContext({ cwd: root })
    const handle = await execution.spawn()
    const ctx = { execution, handle, signal: new AbortController().signal } as unknown as ToolContext
    const found = await searchThroughContext(query, folder(root), ctx, { listed: 10, read: 10, bytes: 2048 })
    expect(found).toMatchObject({ entries: [{ path: 'small' }], gaps: { tooLarge: 1 } })
    await execution.destroy(handle)
  })
})

test('what was not searched is told to the model', async () => {
  const root = plant(many(3))
  const output = await grepIn(root, { pattern: 'x' }, { ripgrep: false, limitMs: -1 })
  expect(output).toContain('No matches found\n\n(stopped after')
})

const folder = (path: string) => ({ path, kind: 'folder' }) as const

import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, describe, expect } from 'vitest'
import { unavailable } from '../../test/bubblewrap-kit.ts'
import { plainConfinement } from '../../test/sandbox/harness.ts'
import { testInTurns } from '../../test/soak.ts'
import { confinedExecution } from '../core/confined-execution.ts'
import type { ExecutionContext } from '../core/execution.ts'
import type { ToolContext } from '../core/tool.ts'
import { createProcessContext } from '../execution/process.ts'
import { memoryExecution } from '../testing/index.ts'
import { createGrepTool } from './grep.ts'
import type { SearcherOptions } from './search/searcher.ts'

// Each of them runs in every world.
const test = testInTurns(3)

type Files = Readonly<Record<string, string | Buffer>>
type Input = Readonly<Record<string, unknown>>
interface World {
  grep(input: Input): Promise<string>
  readonly root: string
}

const folders: string[] = []
const ends: (() => Promise<void>)[] = []
afterAll(async () => {
  for (const end of ends) await end()
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
})

function plant(files: Files): string {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'libero-grep-')))
  folders.push(root)
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), content)
  }
  return root
}

async function world(execution: ExecutionContext, options: SearcherOptions, root: string): Promise<World> {
  const tool = createGrepTool(options)
  const handle = await execution.spawn()
  ends.push(() => execution.destroy(handle))
  const ctx = { execution, handle, signal: new AbortController().signal } as unknown as ToolContext
  return {
    root,
    async grep(input) {
      const result = await tool.execute(input as never, ctx)
      return (result as { output: string }).output
    },
  }
}

/** The same files, and ways to search them that have nothing in common. */
const worlds: Record<string, (files: Files) => Promise<World>> = {
  'with ripgrep'(files) {
    const root = plant(files)
    return world(createProcessContext({ cwd: root }), {}, root)
  },
  'without ripgrep'(files) {
    const root = plant(files)
    return world(createProcessContext({ cwd: root }), { ripgrep: false }, root)
  },
  'without ripgrep, in a sandbox'(files) {
    const root = plant(files)
    if (unavailable) return world(createProcessContext({ cwd: root }), { ripgrep: false }, root)
    const execution = confinedExecution(createProcessContext({ cwd: root }), plainConfinement('read-only', root))
    return world(execution, { ripgrep: false }, root)
  },
  'in another world with a shell'(files) {
    const root = plant(files)
    const host = createProcessContext({ cwd: root })
    const execution = { ...host, capabilities: { ...host.capabilities, hostPrograms: false } }
    return world(execution, { ripgrep: 'no-such-program' }, root)
  },
  'in another world of few verbs'(files) {
    const all = Object.entries(files).map(([path, content]) => [path, content.toString()])
    return world(memoryExecution({ files: Object.fromEntries(all) }), {}, '/project')
  },
}

const project: Files = {
  'src/a.ts': 'import b from "b"\n\nexport const a = b\nexport const A = 1\n',
  'src/deep/c.ts': 'const c = 3\n',
  'src/a.test.ts': 'import { a } from "./a"\n',
  'README.md': '# Project\n\nIt exports a.\n',
  'src/out.log': 'export\n',
  'dist/a.js': 'export const a = 1\n',
  'logs/x.log': 'export\n',
  'logs/keep.log': 'export\n',
  'logs/.gitignore': '!keep.log\n',
  '.gitignore': 'dist/\n*.log\n',
  '.env': 'export SECRET=1\n',
  '.git/config': 'export\n',
  'bin.dat': 'export\0',
}

describe.each(Object.entries(worlds))('%s', (name, start) => {
  test('files that match are listed by path, without what is ignored, binary or in .git', async () => {
    const { grep } = await start(project)
    expect(await grep({ pattern: 'export' })).toBe('.env\nREADME.md\nlogs/keep.log\nsrc/a.ts')
    expect(await grep({ pattern: 'export', path: 'src' })).toBe('src/a.ts')
    expect(await grep({ pattern: 'export', path: 'dist' })).toBe('dist/a.js')
  })

  test('lines come with path and number, and with their neighbours when asked', async () => {
    const { grep } = await start(project)
    const content = { output_mode: 'content', glob: '*.ts' }
    expect(await grep({ pattern: 'import|= 3', ...content })).toBe(
      'src/a.test.ts:1:import { a } from "./a"\nsrc/a.ts:1:import b from "b"\nsrc/deep/c.ts:1:const c = 3',
    )
    expect(await grep({ pattern: 'a =', '-i': true, '-n': false, ...content })).toBe(
      'src/a.ts:export const a = b\nsrc/a.ts:export const A = 1',
    )
    expect(await grep({ pattern: 'import b|A', '-A': 1, '-B': 0, ...content })).toBe(
      'src/a.ts:1:import b from "b"\nsrc/a.ts-2-\n--\nsrc/a.ts:4:export const A = 1',
    )
    expect(await grep({ pattern: 'const a', context: 1, ...content })).toBe(
      'src/a.ts-2-\nsrc/a.ts:3:export const a = b\nsrc/a.ts-4-export const A = 1',
    )
  })

  test('matches are counted, over lines when they may', async () => {
    const { grep } = await start(project)
    expect(await grep({ pattern: 'const', output_mode: 'count', type: 'ts' })).toBe(
      'src/a.ts:2\nsrc/deep/c.ts:1\n\n(3 in 2 files)',
    )
    expect(await grep({ pattern: 'b\\nexport', output_mode: 'content', multiline: true })).toBe(
      'src/a.ts:3:export const a = b\nsrc/a.ts:4:export const A = 1',
    )
  })

  test('globs narrow the search: anywhere, by folder, without, and several', async () => {
    const { grep } = await start(project)
    const found = (glob: string): Promise<string> => grep({ pattern: '.', glob })
    expect(await found('*.md')).toBe('README.md')
    expect(await found('src/*.ts')).toBe('src/a.test.ts\nsrc/a.ts')
    expect(await found('src/**/*.ts,!*.test.ts')).toBe('src/a.ts\nsrc/deep/c.ts')
    expect(await found('*.{md,js}')).toBe('README.md')
    expect(await found('*')).not.toContain('dist/')
    expect(await found('nowhere/*.ts')).toBe('No matches found')
    expect(await grep({ pattern: '.', path: 'src', glob: 'deep/*' })).toBe('src/deep/c.ts')
  })

  test('nothing found is said, and is no error', async () => {
    const { grep } = await start(project)
    expect(await grep({ pattern: 'nothing like it' })).toBe('No matches found')
    expect(await grep({ pattern: 'export', glob: '*.nothing' })).toBe('No matches found')
  })

  test('A146 400 hits come in pages of 250 that join', async () => {
    const lines = Array.from({ length: 100 }, (_, i) => `hit ${i}\n`).join('')
    const { grep } = await start({ a: lines, b: lines, 'c/d': lines, 'c-e': lines })
    const input = { pattern: 'hit', output_mode: 'content' }
    const [first, second] = [await grep(input), await grep({ ...input, offset: 250 })]
    expect(first).toMatch(
      /b:100:hit 99\nc\/d:1:hit 0\n.*c\/d:50:hit 49\n\n\(lines 1-250 of 400; go on with offset=250\)$/s,
    )
    expect(second).toMatch(/^c\/d:51:hit 50\n.*\nc-e:100:hit 99\n\n\(lines 251-400 of 400\)$/s)
    const all = [first, second].map((page) => page.replace(/\n\n\(.*\)$/, '')).join('\n')
    expect(all).toBe(await grep({ ...input, head_limit: 0 }))
    expect(all.split('\n')).toHaveLength(400)
    expect(await grep({ ...input, offset: 400 })).toBe('(nothing at offset 400: there are 400 lines in all)')
    expect(await grep({ ...input, output_mode: 'files_with_matches', head_limit: 1 })).toBe(
      'a\n\n(file 1 of 4; go on with offset=1)',
    )
  })

  test('one file may be searched, whatever it is called and ignored by', async () => {
    const { grep } = await start(project)
    expect(await grep({ pattern: 'export', path: 'dist/a.js', output_mode: 'content', glob: '*.md' })).toBe(
      'dist/a.js:1:export const a = 1',
    )
    expect(await grep({ pattern: 'export', path: 'src/a.ts', output_mode: 'count' })).toBe(
      'src/a.ts:2\n\n(2 in 1 file)',
    )
    expect(await grep({ pattern: 'export', path: 'bin.dat' })).toContain('"bin.dat" is a binary file')
  })

  test('what cannot be searched is said in words', async () => {
    const { grep } = await start(project)
    await expect(grep({ pattern: '(' })).rejects.toThrow('"(" is no valid pattern: unclosed group')
    await expect(grep({ pattern: 'a(?=b)' })).rejects.toThrow('look-around')
    await expect(grep({ pattern: 'a\\nb' })).rejects.toThrow('set "multiline" to true')
    await expect(grep({ pattern: 'a', path: 'scr' })).rejects.toThrow('there is no "scr"; did you mean "src"?')
    await expect(grep({ pattern: 'a', glob: '[' })).rejects.toThrow('the glob "[" cannot be used: a "[" is not closed')
    await expect(grep({ pattern: 'a', type: 'tsx' })).rejects.toThrow('use glob instead, such as "*.tsx"')
  })

  test('FS-01 nothing outside is searched by ".."', async () => {
    const { grep } = await start(project)
    await expect(grep({ pattern: 'root', path: 'src/../../../../../../../../etc/passwd' })).rejects.toThrow()
    await expect(grep({ pattern: 'root', glob: '../../**' })).rejects.toThrow('".."')
  })

  test('long lines are cut between characters, and control characters shown', async () => {
    const { grep } = await start({
      long: `${'😀'.repeat(501)}x\n`,
      fits: `${'😀'.repeat(500)}\r\n`,
      odd: 'a\x1b[31m\x07\n',
    })
    expect(await grep({ pattern: '.', output_mode: 'content' })).toBe(
      `fits:1:${'😀'.repeat(500)}\nlong:1:${'😀'.repeat(500)} … [line cut]\nodd:1:a␛[31m\\x07`,
    )
  })

  test('names with colons, newlines and dashes are not mistaken for something else', async () => {
    const files = { 'a:1:b': 'x\n', '-rf': 'x\n', 'new\nline': 'x\n', 'é 😀': 'x\n', '--pre=x': 'x\n' }
    const { grep } = await start(files)
    const note = 'control characters in names are shown escaped'
    expect(await grep({ pattern: 'x', output_mode: 'content' })).toBe(
      `--pre=x:1:x\n-rf:1:x\na:1:b:1:x\nnew\\nline:1:x\né 😀:1:x\n\n(${note})`,
    )
    expect(await grep({ pattern: 'x', path: '-rf', output_mode: 'content' })).toBe('-rf:1:x')
  })

  test('FS-16 a pattern, a glob or a name that looks like an option is none', async () => {
    const { grep, root } = await start({ 'helper.sh': '#!/bin/sh\ntouch stolen\n', a: '--pre=./helper.sh and -exec\n' })
    expect(await grep({ pattern: '--pre=./helper.sh' })).toBe('a')
    expect(await grep({ pattern: 'x', glob: '-exec' })).toBe('No matches found')
    expect(await grep({ pattern: 'x', glob: "a' --pre='./helper.sh" })).toBe('No matches found')
    expect(existsSync(join(root, 'stolen'))).toBe(false)
  })

  // A world of few verbs shows no links.
  const hasLinks = !name.endsWith('few verbs')
  if (hasLinks)
    test('FS-17 links are not followed, and no settings are read', async () => {
      const { grep, root } = await start({
        'a/b': 'find me\n',
        '.ripgreprc': '--pre=./helper.sh\n--no-ignore\n',
        'helper.sh': '#!/bin/sh\ntouch stolen\ncat\n',
        '.ignore': 'a\n',
        '.rgignore': 'a\n',
      })
      const outside = plant({ secret: 'find me\n' })
      symlinkSync(outside, join(root, 'out'))
      symlinkSync('..', join(root, 'a/loop'))
      symlinkSync(join(outside, 'secret'), join(root, 'a/link'))
      expect(await grep({ pattern: 'find me' })).toBe('a/b')
      await expect(grep({ pattern: 'find me', path: 'out' })).rejects.toThrow(/outside/)
      await expect(grep({ pattern: 'find me', path: 'a/link' })).rejects.toThrow(/outside/)
      expect(existsSync(join(root, 'stolen'))).toBe(false)
    })
})

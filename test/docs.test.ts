import { execFile } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { defaultBehavior } from '../src/core/behavior.ts'
import { hookNames } from '../src/core/hook-map.ts'
import { compileCache } from './compile-cache.ts'
import type { SnippetRun } from './run-snippets.ts'
import { sampleOf } from './soak.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const docs = filesUnder('docs', '.md')
/** Read once: every hook and every field is looked for. */
const sources = filesUnder('src', '.ts')
  .filter((file) => !file.endsWith('.test.ts'))
  .map((file) => [file, read(file)] as const)

describe('snippets', () => {
  const pages = ['README.md', ...docs]
  const snippets = pages.flatMap(snippetsOf)
  // Inside the package, where `libero` means ourselves, and outside node_modules, where Node strips no types.
  let folder: string
  afterAll(() => rmSync(folder, { recursive: true, force: true }))
  beforeAll(() => {
    folder = mkdtempSync(join(root, '.docs-snippets-'))
    for (const { file, code } of snippets) writeFileSync(join(folder, file), code)
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ extends: '../tsconfig.json', include: ['*.ts'] }))
  })

  test('are found in the README and on every page', () => {
    const isText = (page: string): boolean => /^docs\/(decisions\/|README\.md|glossary\.md)/.test(page)
    expect(docs.filter((page) => !isText(page) && snippetsOf(page).length === 0)).toEqual([])
    expect(snippetsOf('README.md')).toHaveLength(1)
  })

  test('compile as strictly as the source does', { timeout: 60_000 }, async () => {
    expect(await node(join(root, 'node_modules/typescript/bin/tsc'), '-p', folder, '--singleThreaded')).toEqual(ran(''))
  })

  // All of a page share a process, which has to end by itself. Some pages each time: all of them are compiled.
  const withSnippets = pages.filter((page) => snippetsOf(page).length > 0)
  test.concurrent.for(sampleOf(withSnippets, 5))('those of %s print what their comments say', async (page) => {
    const ofPage = snippetsOf(page)
    const files = ofPage.map(({ file }) => join(folder, file))
    const { stdout, ...ended } = await node('--conditions=libero-source', join(root, 'test/run-snippets.ts'), ...files)
    const runs = stdout.split('\n').flatMap((line) => (line === '' ? [] : (JSON.parse(line) as SnippetRun)))
    const wanted = ofPage.map(({ line, code }) => ({ line, stdout: outputSaidIn(code), stderr: '' }))
    expect(runs.map((run, i) => ({ line: ofPage[i]?.line, ...run }))).toEqual(wanted)
    expect(ended).toEqual({ code: 0, stderr: '' })
  })
})

describe('links', () => {
  const pagesOfText = ['README.md', 'ARCHITECTURE.md', 'AGENTS.md', 'CONTRIBUTING.md', ...docs]
  test.for(pagesOfText)('of %s lead somewhere', (page) => {
    expect(linksOf(page).filter((link) => !leadsSomewhere(page, link))).toEqual([])
  })

  test('the source files that a page names exist', () => {
    const named = pagesOfText.flatMap((page) =>
      [...read(page).matchAll(/`((?:[\w-]+\/)+[\w.-]+\.ts)`/g)].map(([, file = '']) => ({ page, file })),
    )
    expect(named.length).toBeGreaterThan(100)
    const files = ['src', 'test', 'scripts', 'crash', 'fleet', 'bench', 'examples'].flatMap((folder) =>
      filesUnder(folder, '.ts'),
    )
    const isThere = (file: string): boolean => files.some((one) => one === file || one.endsWith(`/${file}`))
    expect(named.filter(({ file }) => !isThere(file))).toEqual([])
  })

  test('are looked at', () => {
    expect(linksOf('README.md')).toContain('docs/sessions.md#after-a-crash')
    expect(leadsSomewhere('README.md', 'docs/tools.md#no-such-heading')).toBe(false)
    expect(leadsSomewhere('docs/hooks.md', 'docs/tools.md')).toBe(false)
  })
})

describe('claims', () => {
  test('the imports of docs/README.md are the subpaths of the package', () => {
    const { exports } = JSON.parse(read('package.json')) as { exports: object }
    const [, imports = ''] = read('docs/README.md').split('## Imports')
    const named = Object.keys(exports).filter((subpath) => subpath !== './package.json')
    expect(named.filter((subpath) => !imports.includes(`\`libero${subpath.slice(1)}\``))).toEqual([])
  })

  test('the README begins with the two commands that matter', () => {
    const top = linesOf('README.md').slice(0, 15).join('\n')
    expect(top).toContain('npm install && npm start')
    expect(top).toContain('npm install && npm test')
  })

  test('.ci/run runs the test command of the README and nothing else', () => {
    const [shebang, ...script] = linesOf('.ci/run').filter((line) => line !== '')
    expect(shebang).toBe('#!/usr/bin/env bash')
    expect(script).toEqual(['set -euo pipefail', 'npm install && npm test'])
  })

  test('the loop is as short as the README says', () => {
    const said = /fewer than (\d+) lines \(`src\/core\/loop\.ts`\)/.exec(read('README.md'))?.[1]
    expect(linesOf('src/core/loop.ts').length).toBeLessThan(Number(said))
  })

  test.for([
    ['README.md', 150],
    ['ARCHITECTURE.md', 200],
    ['AGENTS.md', 100],
  ] as const)('%s is short enough to be read', ([page, most]) => {
    expect(linesOf(page).length).toBeLessThanOrEqual(most)
  })

  test('docs/hooks.md names every hook, in firing order', () => {
    const named = rowsOf('docs/hooks.md', '| hook |').map(([hook]) => hook)
    expect(named).toEqual([...hookNames])
  })

  test('docs/hooks.md calls reserved what nothing fires', () => {
    const reserved = rowsOf('docs/hooks.md', '| hook |').flatMap(([hook, when]) => (when === 'reserved' ? [hook] : []))
    const declarations = ['hook-map', 'model-hooks', 'tool-hooks', 'feature-hooks'].map((name) => `src/core/${name}.ts`)
    const isFired = (hook: string) => hook.startsWith('child:') || isInSource(`'${hook}'`, ...declarations)
    expect(reserved).toEqual([...hookNames].filter((hook) => !isFired(hook)))
  })

  test('docs/behavior.md names every field with its default', () => {
    const said = Object.fromEntries(rowsOf('docs/behavior.md', '| field |').map(([field, value]) => [field, value]))
    expect(Object.keys(said).sort()).toEqual(behaviorFields().sort())
    for (const [field, value] of Object.entries(defaultBehavior))
      expect([field, said[field]]).toEqual([field, shown(value)])
    const without = Object.keys(said).filter((field) => !Object.hasOwn(defaultBehavior, field))
    expect(without.filter((field) => said[field] !== '–')).toEqual([])
  })

  test('docs/behavior.md calls reserved what nothing reads', () => {
    const rows = rowsOf('docs/behavior.md', '| field |')
    const reserved = rows.flatMap(([field, , meaning]) => (meaning?.startsWith('Reserved') ? [field] : []))
    const isRead = (field: string) => isInSource(field, 'src/core/behavior.ts')
    expect(reserved.sort()).toEqual(
      behaviorFields()
        .filter((field) => !isRead(field))
        .sort(),
    )
  })
})

interface Snippet {
  readonly page: string
  readonly line: number
  readonly file: string
  readonly code: string
}

function snippetsOf(page: string): Snippet[] {
  const text = read(page)
  return [...text.matchAll(/^```ts\n(.*?)^```$/gms)].map(({ 1: code = '', index }) => {
    const line = text.slice(0, index).split('\n').length
    return { page, line, file: `${page.replace(/\W+/g, '-')}-${line}.ts`, code }
  })
}

/** What follows a `console.log` as a comment: on the same line, or else on the lines below it. */
function outputSaidIn(code: string): string {
  const said: string[] = []
  let isBelow = false
  for (const line of code.split('\n')) {
    const [, comment] = /(?:^| )\/\/ (.*)$/.exec(line) ?? []
    const prints = line.includes('console.log(')
    isBelow = prints ? comment === undefined : isBelow && line.startsWith('//')
    if (comment !== undefined && (prints || isBelow)) said.push(`${comment}\n`)
  }
  return said.join('')
}

interface Ended {
  readonly code: number | string
  readonly stdout: string
  readonly stderr: string
}

const ran = (stdout: string): Ended => ({ code: 0, stdout, stderr: '' })

/** In an environment that forces no colours. */
function node(...args: string[]): Promise<Ended> {
  return new Promise((resolve) => {
    execFile(process.execPath, args, { cwd: root, env: compileCache, timeout: 60_000 }, (error, stdout, stderr) =>
      resolve({ code: error ? (error.code ?? String(error.signal)) : 0, stdout, stderr }),
    )
  })
}

/** Links that are meant for this repository, outside of code. */
function linksOf(page: string): string[] {
  const prose = read(page).replace(/^```.*?^```$/gms, '')
  return [...prose.matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = '']) => link).filter((link) => !/^[a-z]+:/.test(link))
}

function leadsSomewhere(page: string, link: string): boolean {
  const [path = '', heading] = link.split('#')
  const target = path === '' ? page : normalize(join(dirname(page), path))
  if (!existsSync(join(root, target))) return false
  return heading === undefined || headingsOf(target).includes(heading)
}

/** As GitHub writes them into an address. */
function headingsOf(page: string): string[] {
  const headings = linesOf(page).flatMap((line) => /^#+ (.*)/.exec(line)?.[1] ?? [])
  return headings.map((heading) =>
    heading
      .toLowerCase()
      .replace(/[^\w\s-]/g, '')
      .replaceAll(' ', '-'),
  )
}

/** The cells of every table that has this head, without backticks. */
function rowsOf(page: string, head: string): string[][] {
  const tables = read(page)
    .split('\n\n')
    .filter((block) => block.startsWith(head))
  const rows = tables.flatMap((table) => table.trim().split('\n').slice(2))
  return rows.map((row) =>
    row
      .split(/(?<!\\)\|/)
      .slice(1, -1)
      .map((cell) => cell.trim().replaceAll('`', '')),
  )
}

function behaviorFields(): string[] {
  const [, fields = ''] = /export interface Behavior\b[^{]*\{(.*?)\n\}/s.exec(read('src/core/behavior.ts')) ?? []
  return [...fields.matchAll(/^ {2}readonly (\w+)\?:/gm)].map(([, field = '']) => field)
}

function shown(value: unknown): string {
  if (value === Number.POSITIVE_INFINITY) return 'no limit'
  return JSON.stringify(value)
}

function isInSource(text: string, ...except: readonly string[]): boolean {
  const word = new RegExp(`(?<!\\w)${text}(?!\\w)`)
  return sources.some(([file, source]) => !except.includes(file) && word.test(source))
}

function filesUnder(folder: string, ending: string): string[] {
  const names = readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
  return names
    .filter((name) => name.endsWith(ending))
    .map((name) => `${folder}/${name}`)
    .sort()
}

function read(file: string): string {
  return readFileSync(join(root, file), 'utf8')
}

function linesOf(file: string): string[] {
  return read(file).trimEnd().split('\n')
}

import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test as vitestTest } from 'vitest'
import { createProcessContext } from '../../src/execution/process.ts'
import { fileTypes } from '../../src/tools/search/file-types.ts'
import { listTree } from '../../src/tools/search/host-files.ts'
import { searchTree } from '../../src/tools/search/host-search.ts'
import { everyPath, looseFilter, strictFilter } from '../../src/tools/search/path-filter.ts'
import type { SearchEntry, SearchQuery, SearchResult } from '../../src/tools/search/query.ts'
import { searchWithRipgrep } from '../../src/tools/search/ripgrep.ts'
import type { ToolContext } from '../../src/types.ts'

const rgPath = await import('@vscode/ripgrep').then(
  ({ rgPath }) => rgPath,
  () => '',
)
if (rgPath === '') console.warn('NOT TESTED, searches compared with those of ripgrep: npm install @vscode/ripgrep')
const test = vitestTest.skipIf(rgPath === '')

/** Ripgrep itself, told directly what our tools tell it; its results are the truth here. */
const told = [
  ...['--no-config', '--hidden', '--no-require-git', '--no-ignore-dot', '--no-ignore-global', '--no-ignore-exclude'],
  ...['--no-ignore-messages', '--sort=path', '--glob=!.git'],
]

let ctx: ToolContext
let scratch: string
let n = 0

beforeAll(async () => {
  scratch = realpathSync(mkdtempSync(join(tmpdir(), 'libero-search-')))
  const execution = createProcessContext({ cwd: scratch })
  const handle = await execution.spawn()
  ctx = { execution, handle, signal: new AbortController().signal } as unknown as ToolContext
})

afterAll(async () => {
  await ctx.execution.destroy(ctx.handle)
  rmSync(scratch, { recursive: true, force: true })
})

test('the file types are those of ripgrep', () => {
  const known = execFileSync(rgPath, ['--no-config', '--type-list'], { encoding: 'utf8' }).split('\n')
  const ours = Object.entries(fileTypes).map(([type, globs]) => `${type}: ${globs.replaceAll(' ', ', ')}`)
  expect(ours.filter((line) => !known.includes(line))).toEqual([])
})

describe('the walker finds what ripgrep finds', () => {
  test('files, whatever .gitignore says', async () => {
    await fc.assert(
      fc.asyncProperty(trees(), async (tree) => {
        const root = plant(tree)
        const listed = listTree({ ...anything, mode: 'list' }, { path: root, kind: 'folder' })
        expect(listed.entries.map(({ path }) => path)).toEqual(filesByRipgrep(root))
        rmSync(dirname(root), { recursive: true })
      }),
      { numRuns: runs },
    )
  })

  test('lines, counts and files that match, whatever the pattern', async () => {
    await fc.assert(
      fc.asyncProperty(trees(), queries(), async (tree, query) => {
        const root = plant(tree)
        const walked = resultOf(() => searchTree(query, { path: root, kind: 'folder' }))
        expect(walked).toEqual(resultByRipgrep(root, query))
        rmSync(dirname(root), { recursive: true })
      }),
      { numRuns: runs },
    )
  })

  test('the same pages, filters and totals through our own command', async () => {
    await fc.assert(
      fc.asyncProperty(trees(), queries(), pagesAndFilters(), async (tree, query, more) => {
        const root = plant(tree)
        const place = { path: root, kind: 'folder' } as const
        const asked = { ...query, ...more }
        const walked = resultOf(() => searchTree(asked, place))
        const ripped = await searchWithRipgrep(rgPath, asked, place, ctx).catch(() => 'refused')
        expect(ripped).toEqual(walked)
        rmSync(dirname(root), { recursive: true })
      }),
      { numRuns: runs },
    )
  })
})

const runs = 60

const anything: SearchQuery = {
  mode: 'files',
  pattern: 'a',
  ignoreCase: false,
  multiline: false,
  before: 0,
  after: 0,
  filter: everyPath,
  skip: 0,
  take: 10_000,
  limitMs: 20_000,
}

interface Tree {
  readonly files: Readonly<Record<string, string | Buffer>>
  readonly links: readonly (readonly [path: string, target: string])[]
  /** Of the folder around the one that is searched. */
  readonly outer: string
}

function trees(): fc.Arbitrary<Tree> {
  const folder = fc.constantFrom(
    '',
    '',
    'src/',
    'src/a/',
    'b/',
    'b/src/',
    '.hidden/',
    'a-b/',
    'a/',
    '.git/',
    'é/',
    'x y/',
  )
  const name = fc.constantFrom(
    ...['a', 'b', 'a.ts', 'b.ts', 'c.test.ts', '.env', 'é.md', 'x.log', 'keep.log', 'a b.txt', 'src', '-rf', '[x]'],
    ...['A.TS', 'ab', 'a\nb', '😀', '\ufb01', '.git', 'a.tar.gz', '{x}', 'a,b'],
  )
  const path = fc.tuple(folder, name).map((parts) => parts.join(''))
  const file = fc.tuple(path, contents())
  const rules = fc.tuple(
    folder.map((way) => `${way}.gitignore`),
    fc.array(ignoreLines(), { minLength: 1, maxLength: 5 }).map((lines) => `${lines.join('\n')}\n`),
  )
  return fc.record({
    files: fc
      .tuple(fc.array(rules, { maxLength: 3 }), fc.array(file, { minLength: 1, maxLength: 25 }))
      .map(([some, others]) => Object.fromEntries([...some, ...others])),
    links: fc.array(fc.tuple(path, fc.constantFrom('..', '.', '/', 'src', 'nowhere', 'a.ts')), { maxLength: 3 }),
    outer: fc.array(ignoreLines(), { maxLength: 2 }).map((lines) => lines.join('\r\n')),
  })
}

function ignoreLines(): fc.Arbitrary<string> {
  const known = fc.constantFrom(
    ...[
      '*',
      '!*/',
      '*.ts',
      '!a.ts',
      '/a.ts',
      'src/',
      'src',
      '/src',
      'src/*',
      'src/**',
      '**/src',
      '**/a',
      '!src/a/',
      'a*',
    ],
    ...['?.ts', '[ab].ts', '[!a].ts', '[^a]*', '*.log', '!keep.log', '# comment', '\\#x', '\\!x', 'a b.txt', 'x.log  '],
    ...[
      'é*',
      '?.md',
      '??.md',
      '**',
      '**/',
      '/**',
      'a/**/b',
      '{a,b}.ts',
      '*.{ts,md}',
      '[x',
      'a\\',
      '[z-a]',
      '\\[x\\]',
      '!/b/',
    ],
    ...[
      'b/',
      '/b/src/',
      '!b/src/a.ts',
      '.*',
      '!.hidden',
      '.hidden/**',
      '-rf',
      'A.TS',
      '{x}',
      '\\{x\\}',
      'a,b',
      '*/a',
      '/*',
    ],
    ...[
      'src//a',
      './a',
      'a/',
      '/',
      '!',
      'src/\\',
      'x\\ ',
      '**a',
      'a**',
      'src**',
      '/**/a.ts',
      '**/*',
      '[[:alpha:]].ts',
      '[]-a]',
    ],
  )
  const made = fc.array(fc.constantFrom('a', 'b', '*', '**', '/', '?', '.ts', 'src', '!', '[ab]', '.'), {
    minLength: 1,
    maxLength: 5,
  })
  return fc.oneof(
    known,
    made.map((parts) => parts.join('')),
  )
}

function contents(): fc.Arbitrary<string | Buffer> {
  const word = fc.constantFrom(
    'foo',
    'Foo',
    'bar',
    'a',
    'é',
    'É',
    'x_1',
    '12',
    '(',
    '{}',
    '\t',
    ' ',
    '\r',
    'K',
    '😀',
    'ſ',
    '-',
    '\u2028',
  )
  const line = fc.array(word, { maxLength: 5 }).map((words) => words.join(''))
  const text = fc.array(line, { maxLength: 8 }).map((lines) => lines.join('\n'))
  return fc.oneof(
    { weight: 8, arbitrary: text },
    { weight: 4, arbitrary: text.map((one) => `${one}\n`) },
    { weight: 1, arbitrary: text.map((one) => `\ufeff${one}`) },
    { weight: 1, arbitrary: text.map((one) => Buffer.from(`\ufeff${one}`, 'utf16le')) },
    { weight: 1, arbitrary: text.map((one) => `${one}\0${one}`) },
    { weight: 1, arbitrary: text.map((one) => `${one}\n${'and so on, but not for ever\n'.repeat(3000)}\0`) },
    {
      weight: 1,
      arbitrary: text.map((one) =>
        Buffer.concat([Buffer.from(one), Buffer.from([0xff, 0xc3, 0x0a]), Buffer.from(one)]),
      ),
    },
    { weight: 1, arbitrary: text.map((one) => `${one}${'long '.repeat(1000)}foo${one}`) },
  )
}

function queries(): fc.Arbitrary<SearchQuery> {
  const pattern = fc.constantFrom(
    ...[
      'foo',
      'Foo',
      'fo+',
      '^foo',
      'foo$',
      '^',
      '$',
      '^$',
      'a|b',
      '\\bfoo\\b',
      '\\w+',
      '\\W',
      '\\d+',
      '\\D',
      '\\s',
      '\\S+',
      '.',
      '..',
    ],
    ...[
      'é',
      '\\x{e9}',
      '[é-ü]',
      '[^a]',
      '[[:alpha:]]+',
      '[[:^alpha:]]',
      '[a-z&&[^b-f]]',
      '[\\w--o]',
      '(?i)FOO',
      '(?i:f)oo',
      'f(?-i)oo',
    ],
    ...[
      '(foo|bar)a',
      '(?P<n>foo)',
      '(?<n>foo)',
      'fo{2}',
      'fo{1,}',
      'f.?o',
      'o*?',
      '\\(',
      '\\{\\}',
      '{',
      'foo{',
      '(',
      ')',
      '[',
      'a**',
      '*',
    ],
    ...[
      '(?=a)',
      '\\1',
      '\\p{L}+',
      '\\pL',
      '\\p{Greek}',
      '\\P{L}',
      '\\p{Lu}',
      '\\u00e9',
      '\\-',
      '\\"',
      '\\<foo',
      'foo\\>',
      '\\b{start}f',
      'k',
      's',
    ],
    ...[
      'foo\\nbar',
      '\\n',
      'foo\\s+bar',
      '(?s)foo.bar',
      '(?-s)foo.bar',
      'foo[^b]*bar',
      '\\r',
      '\\r$',
      'r\\z',
      '(?x) f o # x\n o',
      '[\\n]',
      '[\\na]',
      '\\t',
    ],
    ...[
      'a\\b',
      '\\Boo',
      '(?U)fo+',
      '',
      '\\u{1f600}',
      '[😀]',
      '\\x46oo',
      'foo|',
      '|',
      '()',
      '(?:)',
      '\\q',
      '\\A\\w',
      '(?m)^a',
      '(?i)[k-s]',
      '(?i)é',
    ],
  )
  const query = fc.record({
    mode: fc.constantFrom('content', 'content', 'files', 'count'),
    pattern,
    ignoreCase: fc.boolean(),
    multiline: fc.boolean(),
    before: fc.constantFrom(0, 0, 1, 2),
    after: fc.constantFrom(0, 0, 1, 3),
    filter: fc.constant(everyPath),
    skip: fc.constant(0),
    take: fc.constant(100_000),
    limitMs: fc.constant(20_000),
  })
  // After the last line ripgrep sees another empty one: it counts it or not, and shows what is before it.
  const isAnchor = /^\^?\$?$/
  return query.map((one) =>
    one.multiline && isAnchor.test(one.pattern) ? { ...one, mode: 'content', before: 0 } : one,
  )
}

function pagesAndFilters(): fc.Arbitrary<Pick<SearchQuery, 'skip' | 'take' | 'filter' | 'type'>> {
  const loose = fc.constantFrom(
    ...[
      '*.ts',
      '!*.ts',
      'src/**',
      '{a,b}.ts',
      'src/*.ts',
      '[ab]*',
      '?.md',
      '**',
      '*',
      'b/src/a',
      '!src/',
      '!src',
      '!a',
      '/a*',
      'src/',
      '*.{ts,md}',
    ],
  )
  const strict = fc.constantFrom(
    '*.ts',
    '**/*.ts',
    '**',
    '*',
    'src/*',
    '{src,b}/**/a*',
    '**/src/**',
    'é/*',
    '*/a',
    '?.md',
    '**/[ab]',
    'a,b',
  )
  return fc.record({
    skip: fc.constantFrom(0, 0, 1, 3, 50),
    take: fc.constantFrom(1, 2, 5, 1000),
    filter: fc.oneof(
      fc.constant(everyPath),
      fc.array(loose, { minLength: 1, maxLength: 2 }).map((globs) => ({ ...looseFilter(globs), base: '' })),
      strict.map((glob) => ({ ...strictFilter(glob), base: '' })),
    ),
    type: fc.constantFrom(undefined, undefined, undefined, 'ts', 'md', 'sh', 'nosuch'),
  })
}

/** Writes a tree into a folder in a folder; what cannot be written beside what is there already is left out. */
function plant({ files, links, outer }: Tree): string {
  const root = join(scratch, `${++n}`, 'root')
  const attempt = (path: string, write: (path: string) => void): void => {
    try {
      mkdirSync(dirname(join(root, path)), { recursive: true })
      write(join(root, path))
    } catch {}
  }
  mkdirSync(root, { recursive: true })
  writeFileSync(join(dirname(root), '.gitignore'), outer)
  for (const [path, content] of Object.entries(files)) attempt(path, (at) => writeFileSync(at, content))
  for (const [path, target] of links) attempt(path, (at) => symlinkSync(target, at))
  return root
}

function resultOf(search: () => SearchResult): SearchResult | 'refused' {
  try {
    return search()
  } catch {
    return 'refused'
  }
}

/** A line of a .gitignore that is no glob makes it fail too, and yet it searches. */
function ripgrep(root: string, args: readonly string[]): { isRefused: boolean; stdout: string } {
  const { status, stdout, stderr } = spawnSync(rgPath, [...told, ...args, '--', '.'], {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
  })
  return { isRefused: status === 2 && stderr.replace(/^.*error parsing glob.*$/gm, '').trim() !== '', stdout }
}

function filesByRipgrep(root: string): string[] {
  return ripgrep(root, ['--files', '--null']).stdout.split('\0').slice(0, -1).map(below)
}

const below = (path: string): string => path.slice('./'.length)

function resultByRipgrep(root: string, query: SearchQuery): SearchResult | 'refused' {
  const { pattern, ignoreCase, multiline, mode, before, after } = query
  const options = [
    `--regexp=${pattern}`,
    ...(ignoreCase ? ['-i'] : []),
    ...(multiline ? ['-U', '--multiline-dotall'] : []),
  ]
  const shape = {
    content: ['--json', `-B${before}`, `-A${after}`],
    files: ['-l', '--null'],
    count: ['-c', '--null'],
    list: [],
  }
  const { isRefused, stdout } = ripgrep(root, [...options, ...shape[mode]])
  if (isRefused) return 'refused'
  const entries = mode === 'content' ? linesOf(stdout) : mode === 'files' ? pathsOf(stdout) : countsOf(stdout)
  return { entries, total: entries.length, sum: entries.reduce((sum, { count = 0 }) => sum + count, 0), gaps: {} }
}

const pathsOf = (stdout: string): SearchEntry[] =>
  stdout
    .split('\0')
    .slice(0, -1)
    .map((path) => ({ path: below(path) }))

const countsOf = (stdout: string): SearchEntry[] =>
  [...stdout.matchAll(/([^\0]*)\0(\d+)\n/g)].map(([, path, count]) => ({ path: below(path!), count: Number(count) }))

interface Said {
  readonly type: 'begin' | 'match' | 'context' | 'end' | 'summary'
  readonly data: {
    readonly path: { readonly text: string }
    readonly lines: { readonly text?: string; readonly bytes?: string }
    readonly line_number: number
    readonly binary_offset: number | null
  }
}

/** Without files that turn out to be binary after a match. */
function linesOf(stdout: string): SearchEntry[] {
  const all: SearchEntry[] = []
  let some: SearchEntry[] = []
  for (const line of stdout.split('\n').slice(0, -1)) {
    const { type, data } = JSON.parse(line) as Said
    if (type === 'begin') some = []
    else if (type === 'end' && data.binary_offset === null) all.push(...some)
    else if (type === 'match' || type === 'context') {
      const text = data.lines.text ?? Buffer.from(data.lines.bytes!, 'base64').toString('utf8')
      for (const [i, one] of text.replace(/\n$/, '').split('\n').entries())
        some.push({
          path: below(data.path.text),
          line: data.line_number + i,
          text: one.slice(0, 1002),
          isMatch: type === 'match',
        })
    }
  }
  return all
}

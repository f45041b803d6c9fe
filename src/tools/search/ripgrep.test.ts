import { execFileSync } from 'node:child_process'
import { describe, expect, test } from 'vitest'
import type { ExecResult } from '../../core/execution.ts'
import type { ToolContext } from '../../core/tool.ts'
import { everyPath, looseFilter } from './path-filter.ts'
import type { SearchQuery, SearchRoot } from './query.ts'
import { ripgrepCommand, searchWithRipgrep } from './ripgrep.ts'

const query: SearchQuery = {
  mode: 'content',
  pattern: 'x',
  ignoreCase: false,
  multiline: false,
  before: 0,
  after: 0,
  filter: everyPath,
  skip: 0,
  take: 10,
  limitMs: 5000,
}
const folder: SearchRoot = { path: '/project', kind: 'folder' }

/** What the program gets, by a real shell. */
function words(asked: SearchQuery, place = folder): string[] {
  const command = ripgrepCommand('rg', asked, place).replace(/^exec rg/, `printf '%s\\0'`)
  return execFileSync('/bin/sh', ['-c', command], { encoding: 'utf8' }).split('\0').slice(0, -1)
}

describe('FS-16 no value is taken for an option', () => {
  test.each(['--pre=./helper.sh', '-f/etc/passwd', "'; exit 9; '", '$(id)', '`id`', 'a\nb', '"', '\\', '!x', ' -e'])(
    'the pattern %j',
    (pattern) => {
      expect(words({ ...query, pattern })).toContain(`--regexp=${pattern}`)
    },
  )

  test('globs, types and names of files', () => {
    const all = words({ ...query, filter: looseFilter(['-exec', '!--pre=x']) })
    expect(all).toEqual(expect.arrayContaining(['--type-add=libero:-exec', '--glob=!--pre=x']))
    expect(words({ ...query, type: '--pre=x' })).toContain('--type=--pre=x')
    expect(words(query, { path: '/project/-rf', kind: 'file' }).slice(-2)).toEqual(['--', './-rf'])
  })

  test.each(['list', 'content', 'files', 'count'] as const)(
    'FS-17 reads no settings, follows no links, and always has a path (%s)',
    (mode) => {
      const all = words({ ...query, mode })
      expect(all).toEqual(expect.arrayContaining(['--no-config', '--no-follow', '--glob=!.git']))
      expect(all.slice(-2)).toEqual(['--', '.'])
    },
  )
})

describe('how it ended', () => {
  const search = (ended: Partial<ExecResult>, asked = query, signal = new AbortController().signal) => {
    const result = { stdout: '', stderr: '', exitCode: 0, ...ended }
    const execution = { exec: async () => result }
    return searchWithRipgrep('rg', asked, folder, { execution, handle: {}, signal } as unknown as ToolContext)
  }

  test('nothing found is no failure', async () => {
    expect(await search({ exitCode: 1 })).toEqual({ entries: [], total: 0, sum: 0, gaps: {} })
  })

  test.each([
    { exitCode: 127 },
    { exitCode: 126 },
    { exitCode: 2, stderr: 'rg: unrecognized flag --no-require-git' },
    { exitCode: 2, stderr: "error: Found argument '--no-require-git' which wasn't expected" },
  ])('no such program, or too old a one: %j', async (ended) => {
    expect(await search(ended)).toBeUndefined()
  })

  test('what could not be read is counted, and the rest found', async () => {
    const stderr = 'rg: ./a: Permission denied (os error 13)\nrg: ./b: Permission denied (os error 13)\n'
    const found = await search({ exitCode: 2, stdout: './c\x001:x\n', stderr })
    expect(found).toMatchObject({ total: 1, gaps: { unreadable: 2 } })
    const odd = 'rg: /.gitignore: line 1: error parsing glob "[": unclosed\n'
    expect(await search({ exitCode: 2, stdout: './c\x001:x\n', stderr: odd })).toMatchObject({ total: 1, gaps: {} })
  })

  test('the time limit leaves what was found', async () => {
    const found = await search({ exitCode: null, timedOut: true, stdout: './c\x001:x\n' })
    expect(found).toMatchObject({ total: 1, gaps: { stopped: 'time' } })
    await expect(search({ exitCode: null, signal: 'SIGKILL' })).rejects.toThrow('SIGKILL')
  })

  test.each([
    ['rg: regex parse error:\n    (?:x()\n    ^\nerror: unclosed group\n', '"x" is no valid pattern: unclosed group'],
    ['rg: the literal "\\n" is not allowed in a regex\n\nConsider', 'set "multiline" to true'],
    ['rg: something else\nand more', 'something else'],
    ['rg: unrecognized file type: odd\n', 'there is no file type "odd"; use glob instead, such as "*.odd"'],
  ])('its complaint %j is told in words', async (stderr, told) => {
    await expect(search({ exitCode: 2, stderr }, { ...query, type: 'odd' })).rejects.toThrow(told)
  })

  test('an abort is an abort', async () => {
    await expect(search({ exitCode: null }, query, AbortSignal.abort(new Error('enough')))).rejects.toThrow('enough')
  })
})

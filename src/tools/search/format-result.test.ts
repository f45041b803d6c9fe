import { expect, test } from 'vitest'
import { formatResult } from './format-result.ts'
import { everyPath } from './path-filter.ts'
import type { SearchGaps, SearchQuery } from './query.ts'

const query: SearchQuery = {
  mode: 'files',
  pattern: 'x',
  ignoreCase: false,
  multiline: false,
  before: 0,
  after: 0,
  filter: everyPath,
  skip: 0,
  take: 250,
  limitMs: 50_000,
}
const asked = {
  query,
  path: '.',
  root: { path: '/project', kind: 'folder' },
  lineNumbers: true,
  unit: 'file',
  nothing: 'No matches found',
} as const

const found = (gaps: SearchGaps): string => formatResult({ entries: [{ path: 'a' }], total: 1, sum: 0, gaps }, asked)

test.each([
  [{}, 'a'],
  [{ unreadable: 1 }, 'a\n\n(1 file or folder could not be read)'],
  [{ unreadable: 2 }, 'a\n\n(2 files or folders could not be read)'],
  [{ tooLarge: 1 }, 'a\n\n(left out: 1 file too large to search without ripgrep)'],
  [{ stopped: 'time' }, 'a\n\n(stopped after 50 seconds, so this is not all: search a smaller folder, or by glob)'],
  [
    { stopped: 'files' },
    'a\n\n(there are too many files, and not all were searched: search a smaller folder, or by glob)',
  ],
] as const)('FT-28 %j is told', (gaps, text) => {
  expect(found(gaps)).toBe(text)
})

test('of a search that was stopped the number is the least there can be', () => {
  const result = { entries: [{ path: 'a' }], total: 9, sum: 0, gaps: { stopped: 'time' } } as const
  expect(formatResult(result, asked)).toContain('file 1 of at least 9; go on with offset=1; stopped after')
})

test('paths are shown as they were asked for', () => {
  const result = { entries: [{ path: 'b/c' }], total: 1, sum: 0, gaps: {} }
  for (const [path, text] of [
    ['.', 'b/c'],
    ['a', 'a/b/c'],
    ['a/', 'a/b/c'],
    ['/', '/b/c'],
    ['/x', '/x/b/c'],
  ])
    expect(formatResult(result, { ...asked, path: path! })).toBe(text)
})

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { everyPath, looseFilter } from './path-filter.ts'
import type { SearchQuery } from './query.ts'
import { ripgrepOutput } from './ripgrep-output.ts'

const query: SearchQuery = {
  mode: 'content',
  pattern: 'x',
  ignoreCase: false,
  multiline: false,
  before: 0,
  after: 0,
  filter: everyPath,
  skip: 0,
  take: 100,
  limitMs: 1000,
}

const content = [
  './b.ts\x003:three\n4-four\n--\n9:nine\n',
  './a\nb: x\x001:12:34\n',
  './a/z.md\x007:seven\n./a/z.md: WARNING: stopped searching binary file after match (found "\\0" byte around offset 9)\n',
  './a/c.ts\x0010:\n11:--\n',
].join('\n')

const lines = [
  { path: 'a/c.ts', line: 10, text: '', isMatch: true },
  { path: 'a/c.ts', line: 11, text: '--', isMatch: true },
  { path: 'a\nb: x', line: 1, text: '12:34', isMatch: true },
  { path: 'b.ts', line: 3, text: 'three', isMatch: true },
  { path: 'b.ts', line: 4, text: 'four', isMatch: false },
  { path: 'b.ts', line: 9, text: 'nine', isMatch: true },
]

function read(output: string, asked: SearchQuery, cuts: readonly number[] = []) {
  const reader = ripgrepOutput(asked)
  let from = 0
  for (const cut of [...cuts].sort((a, b) => a - b)) {
    reader.take(output.slice(from, cut))
    from = Math.max(from, cut)
  }
  reader.take(output.slice(from))
  return reader.result({})
}

const cuts = fc.array(fc.nat(content.length), { maxLength: 6 })

test('lines are sorted by their file, wherever the output is cut, and late binaries are left out', () => {
  fc.assert(
    fc.property(cuts, (at) => {
      expect(read(content, query, at)).toEqual({ entries: lines, total: 6, sum: 0, gaps: {} })
    }),
  )
})

test('a page is a part of all lines, whatever its size', () => {
  fc.assert(
    fc.property(cuts, fc.nat(7), fc.integer({ min: 1, max: 7 }), (at, skip, take) => {
      const page = read(content, { ...query, skip, take }, at)
      expect(page).toEqual({ entries: lines.slice(skip, skip + take), total: 6, sum: 0, gaps: {} })
    }),
  )
})

test('files that are not meant are left out', () => {
  const { entries, total } = read(content, { ...query, filter: looseFilter(['*.ts', '!b*']) })
  expect([entries.map(({ path }) => path), total]).toEqual([['a/c.ts', 'a/c.ts'], 2])
})

test('paths and counts are read wherever the output is cut', () => {
  const counts = './b\x002\n./a\n3\x0010\n./c\x001\n'
  const paths = './b\0./a\n3\0./c\0'
  fc.assert(
    fc.property(cuts, (at) => {
      const counted = read(counts, { ...query, mode: 'count', take: 2 }, at)
      expect(counted.entries).toEqual([
        { path: 'a\n3', count: 10 },
        { path: 'b', count: 2 },
      ])
      expect([counted.total, counted.sum]).toEqual([3, 13])
      const listed = read(paths, { ...query, mode: 'files', skip: 1 }, at)
      expect(listed).toEqual({ entries: [{ path: 'b' }, { path: 'c' }], total: 3, sum: 0, gaps: {} })
    }),
  )
})

test('a file that turns out to be binary is said to be', () => {
  const said = './x: binary file matches (found "\\0" byte around offset 3)\n'
  expect(read(said, query)).toEqual({ entries: [], total: 0, sum: 0, gaps: { binary: true } })
})

test('a flood from one file does not stay in memory', () => {
  const reader = ripgrepOutput({ ...query, take: 2 })
  reader.take('./a\0')
  for (let i = 1; i <= 20_000; i++) reader.take(`${i}:${'x'.repeat(100)}\n`)
  const { entries, total } = reader.result({})
  expect([entries.map(({ line }) => line), total]).toEqual([[1, 2], 20_000])
})

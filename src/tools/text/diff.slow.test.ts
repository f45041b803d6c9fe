import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { applyPatch, parsePatch } from 'diff'
import fc from 'fast-check'
import { afterAll, describe, expect } from 'vitest'
import { testInTurns } from '../../../test/soak.ts'
import { countedDiff, unifiedDiff } from './diff.ts'

const test = testInTurns(2)

const folder = mkdtempSync(join(tmpdir(), 'libero-diff-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const numbered = (count: number): string[] => Array.from({ length: count }, (_, i) => `line ${i + 1}`)
const text = (lines: readonly string[]): string => lines.map((line) => `${line}\n`).join('')

const line = fc.constantFrom('a', 'b', '', 'é😀', 'b\r', '-- a', '++ b', '@@ -1 +1 @@', '\\ no')
const end = fc.constantFrom('', '\n')
/** A text of few different lines, and what a few edits make of it, with and without a newline at the end. */
const change = fc
  .record({
    lines: fc.array(line, { maxLength: 30 }),
    edits: fc.array(fc.tuple(fc.nat(30), fc.nat(2), fc.array(line, { maxLength: 2 })), { maxLength: 3 }),
    ends: fc.tuple(end, end),
  })
  .map(({ lines, edits, ends }) => {
    const edited = edits.reduce((all, [at, count, added]) => all.toSpliced(at, count, ...added), lines)
    return [lines.join('\n') + ends[0], edited.join('\n') + ends[1]] as const
  })

describe('a unified diff', () => {
  test('shows three lines around a change, with the right numbers', async () => {
    const before = numbered(20)
    const after = before.with(9, 'changed')
    expect(await unifiedDiff('a.txt', text(before), text(after))).toBe(
      [
        '--- a.txt',
        '+++ a.txt',
        '@@ -7,7 +7,7 @@',
        ' line 7',
        ' line 8',
        ' line 9',
        '-line 10',
        '+changed',
        ' line 11',
        ' line 12',
        ' line 13',
        '',
      ].join('\n'),
    )
  })

  test('has a hunk for each place', async () => {
    const before = numbered(40)
    const after = before.with(4, 'early').toSpliced(30, 1)
    const headers = (await unifiedDiff('a', text(before), text(after))).match(/^@@.*@@$/gm)
    expect(headers).toEqual(['@@ -2,7 +2,7 @@', '@@ -28,7 +28,6 @@'])
  })

  test('says so when the last line has no newline', async () => {
    expect(await unifiedDiff('a', 'one\ntwo', 'one\ntwo\n')).toBe(
      '--- a\n+++ a\n@@ -1,2 +1,2 @@\n one\n-two\n\\ No newline at end of file\n+two\n',
    )
  })

  test('of a new and of an emptied file name the side without lines by 0', async () => {
    expect(await unifiedDiff('a', '', 'x\n')).toContain('@@ -0,0 +1,1 @@\n+x\n')
    expect(await unifiedDiff('a', 'x\n', '')).toContain('@@ -1,1 +0,0 @@\n-x\n')
  })

  test('of equal texts is empty', async () => {
    expect(await unifiedDiff('a', 'same\n', 'same\n')).toBe('')
  })

  test('applied to what was gives what is', async () => {
    await fc.assert(
      fc.asyncProperty(change, fc.integer({ min: 0, max: 4 }), async ([before, after], context) => {
        const diff = await unifiedDiff('a.txt', before, after, { context })
        expect(before === after ? before : applied(before, diff)).toBe(after)
        expect(appliedByNumbers(before, diff)).toBe(after)
      }),
      { numRuns: 2000, seed: 7 },
    )
  })

  test.skipIf(!hasPatch())('applied by GNU patch gives the same', async () => {
    const pairs = fc.sample(change, { numRuns: 60, seed: 11 })
    for (const [before, after] of pairs.filter(([before, after]) => before !== after && before !== '' && after !== ''))
      expect(patched(before, await unifiedDiff('a.txt', before, after))).toBe(after)
  })

  test('of texts that differ in too many places is one change, and still right', async () => {
    const before = `top\n${text(numbered(4000).map((one) => `old ${one}`))}end`
    const after = `top\n${text(numbered(3000).map((one) => `new ${one}`))}end`
    const diff = await unifiedDiff('a', before, after, { maxChars: 1_000_000 })
    expect(diff.match(/^@@.*@@$/gm)).toEqual(['@@ -1,4002 +1,3002 @@'])
    expect(applied(before, diff)).toBe(after)
  })

  test('is cut at a line when it is too long, with a note of what is missing', async () => {
    const diff = await unifiedDiff('a', '', text(numbered(100)), { maxChars: 200 })
    expect(diff.length).toBeLessThan(260)
    expect(diff).toMatch(/\n\+line \d+\n… \(\d+ more lines of this diff\)\n$/)
    const shown = diff.match(/^\+line/gm)!.length
    expect(diff).toContain(`(${100 - shown} more lines`)
  })

  test('T05 of lines without an end shows the beginning of each, old and new', async () => {
    const { diff, moreLines } = await countedDiff('a', `old${'a'.repeat(100_000)}\n`, `new${'b'.repeat(100_000)}\n`)
    expect(diff).toMatch(/\n-olda+… \(95908 more characters of this line\)\n\+newb+… \(95908 more characters/)
    expect(moreLines).toBeUndefined()
  })

  test('of one changed line in 10 MB needs no more than that line', async () => {
    const lines = numbered(600_000)
    const before = text(lines)
    const after = text(lines.with(300_000, 'changed'))
    expect(before.length).toBeGreaterThan(7_000_000)
    const diff = await unifiedDiff('a', before, after)
    expect(diff).toContain('@@ -299998,7 +299998,7 @@')
    expect(diff.split('\n')).toHaveLength(12)
  })

  test('of very many lines is one change, of which only the beginning is cut out', async () => {
    const [before, after] = [`top\n${'a\n'.repeat(300_000)}end`, `top\n${'b\n'.repeat(400_000)}end`]
    const diff = await unifiedDiff('a', before, after, { maxChars: 60 })
    expect(diff).toMatch(
      /^--- a\n\+\+\+ a\n@@ -1,300002 \+1,400002 @@\n top\n(-a\n)+… \(\d+ more lines of this diff\)\n$/,
    )
    const shown = diff.split('\n').length - 2
    // Three lines of headers, the two around the change, and the note that the last one has no newline.
    expect(diff).toContain(`(${3 + 2 + 700_000 + 1 - shown} more lines`)
    const whole = await unifiedDiff('a', before, after, { maxChars: 10_000_000 })
    expect(applied(before, whole) === after).toBe(true)
  })

  test('of a small change among very many lines is as fine as any', async () => {
    const before = 'a\n'.repeat(2_000_000)
    const diff = await unifiedDiff('a', before, `${before.slice(0, 2_000_000)}b\n${before.slice(2_000_000)}`)
    expect(diff).toMatch(/^--- a\n\+\+\+ a\n@@ -\d+,6 \+\d+,7 @@\n( a\n){3}\+b\n( a\n){3}$/)
  })

  test('UI-01 shows control characters in the path', async () => {
    expect(await unifiedDiff('a\x1b[2J\nb', '', 'x')).toMatch(/^--- a␛\[2J\\nb\n/)
  })
})

function applied(before: string, diff: string): string | false {
  return applyPatch(before, diff, { fuzzFactor: 0, autoConvertLineEndings: false })
}

/** Believes every number in the headers, where other programs go and look for the lines. */
function appliedByNumbers(before: string, diff: string): string {
  const old = before.split(/(?<=\n)/)
  const now: string[] = []
  let next = 0
  for (const hunk of parsePatch(diff).flatMap(({ hunks }) => hunks)) {
    now.push(...old.slice(next, hunk.oldStart - 1))
    next = hunk.oldStart - 1
    expect(now).toHaveLength(hunk.newStart - 1)
    hunk.lines.forEach((line, i) => {
      const content = line.slice(1) + (hunk.lines[i + 1]?.startsWith('\\') ? '' : '\n')
      if (line.startsWith(' ') || line.startsWith('-')) expect(old[next++]).toBe(content)
      if (line.startsWith(' ') || line.startsWith('+')) now.push(content)
    })
  }
  return [...now, ...old.slice(next)].join('')
}

function hasPatch(): boolean {
  try {
    return execFileSync('patch', ['--version'], { timeout: 10_000 }).includes('GNU')
  } catch {
    return false
  }
}

function patched(before: string, diff: string): string {
  const file = join(folder, 'a.txt')
  writeFileSync(file, before)
  execFileSync('patch', ['--binary', '--silent', '--fuzz=0', file], { input: diff, timeout: 10_000, stdio: 'pipe' })
  return readFileSync(file, 'utf8')
}

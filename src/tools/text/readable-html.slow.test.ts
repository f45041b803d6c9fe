import { expect } from 'vitest'
import { testInTurns } from '../../../test/soak.ts'
import { readableHtml } from './readable-html.ts'

// Each of them reads a large page.
const test = testInTurns(2)

test('a long page is read in a thread of its own, with the same result', async () => {
  const page = (rows: number): string =>
    `<title>Rows</title><h1>All</h1>${'<p>a row with a <a href="/x">link</a></p>'.repeat(rows)}`
  const short = await readableHtml(page(2), 'http://x.test/')
  const long = await readableHtml(page(3_000), 'http://x.test/')
  expect(short).toEqual({
    title: 'Rows',
    text: 'All\n\na row with a link (http://x.test/x)\n\na row with a link (http://x.test/x)',
  })
  expect(long.title).toBe('Rows')
  expect(long.text.startsWith(short.text)).toBe(true)
  expect(long.text.match(/a row with/g)).toHaveLength(3_000)
})

test('NET-12 a page that is made to take minutes is given up, its words are kept, and nothing else stands still', async () => {
  let ticks = 0
  const ticking = setInterval(() => ticks++, 20)
  const { text } = await readableHtml(`<p>first words</p>${'<div>'.repeat(400_000)}`, 'http://x.test/')
  clearInterval(ticking)
  expect(text).toBe('first words')
  expect(ticks).toBeGreaterThan(20)
})

test('an abort ends it at once', async () => {
  const abort = new AbortController()
  const reading = readableHtml('<div>'.repeat(400_000), 'http://x.test/', abort.signal)
  setTimeout(() => abort.abort(new Error('enough')), 50)
  await expect(reading).rejects.toThrow('enough')
})

test('a short page that would take all memory, or for ever, is read or given up, and this process goes on', async () => {
  for (const html of [
    '<p>words</p><table><tr><td colspan=100000 rowspan=100000>x</table>',
    '<p>words</p><table><tr><td colspan=99999999>x</table>',
  ])
    expect((await readableHtml(html, 'http://x.test/')).text).toContain('words')
})

test('what is left of a page that is given up is found in one pass', async () => {
  const slow = '<div>'.repeat(250_000)
  const tails = ['<'.repeat(300_000), '<script'.repeat(40_000), '\f'.repeat(300_000), '<title'.repeat(50_000)]
  let longest = 0
  let last = performance.now()
  const ticking = setInterval(() => {
    longest = Math.max(longest, performance.now() - last)
    last = performance.now()
  }, 10)
  await Promise.all(tails.map((tail) => readableHtml(`words${slow}${tail}`, 'http://x.test/')))
  clearInterval(ticking)
  expect(longest).toBeLessThan(3_000) // it was minutes
}, 60_000)

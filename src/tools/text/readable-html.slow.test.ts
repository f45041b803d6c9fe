import { expect, test } from 'vitest'
import { readableHtml } from './readable-html.ts'

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

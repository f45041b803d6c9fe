import { expect, test } from 'vitest'
import { TextFilter } from './text-filter.ts'

const texts = (from: string, count: number): string[] => Array.from({ length: count }, (_, i) => `${from}-${i}`)

test('a text that was added is always known, also after the filter was stored', () => {
  const filter = new TextFilter()
  for (const text of texts('known', 5000)) filter.add(text)
  const stored = new TextFilter(JSON.parse(JSON.stringify(filter.state)))
  expect(texts('known', 5000).every((text) => filter.mayHave(text) && stored.mayHave(text))).toBe(true)
  stored.add('later')
  expect([stored.mayHave('later'), filter.mayHave('later')]).toEqual([true, false])
})

test('hardly any other text is taken for one, whether there are 10 or 50,000', () => {
  for (const count of [10, 500, 50_000]) {
    const filter = new TextFilter()
    for (const text of texts('3f2a', count)) filter.add(text)
    expect(texts('other', 10_000).filter((text) => filter.mayHave(text)).length).toBeLessThan(300)
  }
})

test('it takes less than four characters of JSON for a text', () => {
  const filter = new TextFilter()
  for (const text of texts('key', 50_000)) filter.add(text)
  expect(JSON.stringify(filter.state).length).toBeLessThan(200_000)
  expect(new TextFilter().state).toEqual([])
})

test('a state that is damaged is refused', () => {
  expect(() => new TextFilter([[1, 'AAAA']])).toThrow('has 3 bytes, not 384')
})

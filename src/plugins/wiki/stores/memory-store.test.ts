import { describe, expect, test } from 'vitest'
import { fakeClock } from '../../../testing/fake-clock.ts'
import { knowledgeContract } from '../knowledge-contract.ts'
import type { Tiddler, Wiki } from '../knowledge-store.ts'
import { createMemoryKnowledgeStore } from './memory-store.ts'

describe('a store in memory keeps the contract:', () => {
  for (const one of knowledgeContract({ make: createMemoryKnowledgeStore })) test(one.name, one.run)
})

async function wikiOf(...tiddlers: Tiddler[]): Promise<Wiki> {
  return createMemoryKnowledgeStore({ workspaces: { w: tiddlers }, clock: fakeClock(0) }).open('w')
}

test('unknown filter operators are refused by name', async () => {
  const wiki = await wikiOf({ title: 'A', text: 'x' })
  for (const [filter, named] of [
    ['[foo[bar]]', 'foo'],
    ['[all[shadows]]', 'all[shadows]'],
    ['[tag{A}]', '{'],
    ['[tag<x>]', '<'],
    ['[search:title[x]]', 'search:title'],
    ['[regexp/x/]', '/'],
    [':map[[x]]', ':map'],
    ['=[[x]]', '='],
    ['[is[missing]]', 'is[missing]'],
    ['[limit[x]]', 'limit[x]'],
    ['[constructor[x]]', 'constructor'],
  ] as const)
    await expect(wiki.filter(filter)).rejects.toThrow(named)
})

test('a run with ~ counts only if nothing was found', async () => {
  const wiki = await wikiOf({ title: 'A', tags: ['t'] })
  expect((await wiki.filter('[tag[t]] ~[[none]]')).titles).toEqual(['A'])
  expect((await wiki.filter('[tag[u]] ~[[none]]')).titles).toEqual(['none'])
})

test('tagged pages come in the order of the list of their tag', async () => {
  const wiki = await wikiOf(
    { title: 'T', fields: { list: '[[B two]] C' } },
    ...['A', 'B two', 'C'].map((title) => ({ title, tags: ['T'] })),
  )
  expect((await wiki.filter('[tag[T]]')).titles).toEqual(['B two', 'C', 'A'])
  expect((await wiki.tagTree('T')).children.map(({ title }) => title)).toEqual(['B two', 'C', 'A'])
})

test('a read-only wiki is not changed', async () => {
  const store = createMemoryKnowledgeStore({ workspaces: { w: [{ title: 'A' }] }, readOnly: ['w'] })
  const wiki = await store.open('w')
  expect(wiki.info).toEqual({ name: 'w', isReadOnly: true })
  await expect(wiki.put({ title: 'B' })).rejects.toThrow('read-only')
  await expect(wiki.delete('A')).rejects.toThrow('read-only')
  expect((await wiki.filter('[all[tiddlers]]')).titles).toEqual(['A'])
})

test('returned values are copies', async () => {
  const wiki = await wikiOf({ title: 'A', tags: ['t'] })
  const { tags } = (await wiki.get('A'))!
  ;(tags as string[]).push('u')
  expect((await wiki.get('A'))!.tags).toEqual(['t'])
})

test('pages that multiply each other end at a bound', async () => {
  const doubling = Array.from({ length: 40 }, (_, n) => ({ title: `P${n}`, text: `{{P${n + 1}}} {{P${n + 1}}}` }))
  const wiki = await wikiOf(...doubling, { title: 'P40', text: 'end' })
  const { text, problems } = await wiki.render('P0')
  expect(text.length).toBeLessThan(1_000_200)
  expect(problems.length).toBeGreaterThan(0)
})

test('a million unclosed marks are read once each', async () => {
  const wiki = await wikiOf({ title: 'A', text: '<< <!--`` '.repeat(300_000) })
  expect((await wiki.render('A')).problems).toEqual([])
})

test('code and comments are no markup, and a field can be transcluded', async () => {
  const text = 'a {{B!!key}} `{{C}}` <!-- [[x --> ``[[y`` \n```\n<<z\n```\n<<open'
  const wiki = await wikiOf({ title: 'A', text }, { title: 'B', fields: { key: 'value' } }, { title: 'C', text: 'c' })
  const rendered = await wiki.render('A')
  expect(rendered.text).toContain('a value')
  expect(rendered.problems).toEqual([{ kind: 'syntax', message: 'The macro call "<<open" is never closed with >>' }])
})

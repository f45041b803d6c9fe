import { existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { temporary } from '../../../test/temporary.ts'
import { createAgent } from '../../index.ts'
import { call, fakeClock, scripted } from '../../testing/index.ts'
import type { PluginServices } from '../plugin.ts'
import type { KnowledgeStore, Tiddler, Wiki } from './knowledge-store.ts'
import { createMemoryKnowledgeStore } from './stores/memory-store.ts'
import { wikiSearch } from './tools/wiki-search.ts'
import { createVectorIndex, createVectorIndexes, type Embed } from './vector-search.ts'

const vocabulary = ['rose', 'red', 'thorn', 'car', 'wheel', 'road', 'sea', 'salt']

/** A bag of words, and all texts it was asked for. */
function bagOfWords(words: readonly string[] = vocabulary, model = 'bag'): Embed & { readonly asked: string[] } {
  const asked: string[] = []
  const embed = async (texts: readonly string[]) => {
    asked.push(...texts)
    return texts.map((text) => words.map((word) => text.toLowerCase().split(word).length - 1))
  }
  return Object.assign(embed, { asked, model })
}

const seed: readonly Tiddler[] = [
  { title: 'Flower', text: 'A rose is red, mind the thorn' },
  { title: 'Vehicle', text: 'A car has a wheel, it needs a road' },
  { title: 'Water', text: 'The sea has salt' },
  { title: '$:/system', text: 'rose red thorn' },
  { title: 'Picture', text: 'rose', type: 'image/png' },
]

async function wikiOf(pages: readonly Tiddler[] = seed, info: Partial<Wiki['info']> = {}): Promise<Wiki> {
  const store = createMemoryKnowledgeStore({ workspaces: { notes: pages }, clock: fakeClock() })
  const wiki = await store.open('notes')
  return { ...wiki, info: { ...wiki.info, ...info } }
}

const indexFile = (folder: string): string => join(folder, '.libero', 'vectors.json')
const titles = ({ matches }: { matches: readonly { title: string }[] }): string[] => matches.map(({ title }) => title)

test('pages are found by meaning, the nearest first, above the threshold and up to the limit', async () => {
  const index = createVectorIndex({ wiki: await wikiOf(), embed: bagOfWords() })
  expect(titles(await index.search('red rose'))).toEqual(['Flower'])
  const low = await index.search('red rose by the sea', { threshold: 0.1 })
  expect(titles(low)).toEqual(['Flower', 'Water'])
  expect(low.matches[0]!.score).toBeCloseTo(2 / 3)
  expect(titles(await index.search('red rose by the sea', { threshold: 0.1, limit: 1 }))).toEqual(['Flower'])
  const none = await index.search('red car', { threshold: 0.9 })
  expect(none).toMatchObject({ matches: [], pages: 3 })
  expect(none.best).toBeCloseTo(1 / Math.sqrt(6), 4)
})

test('the end of a long page is found too', async () => {
  const text = `${'car wheel road '.repeat(1000)} rose thorn red `.padEnd(20_000, ' rose thorn red')
  const index = createVectorIndex({ wiki: await wikiOf([{ title: 'Long', text }]), embed: bagOfWords() })
  expect(titles(await index.search('rose thorn red'))).toEqual(['Long'])
})

test('an index survives, and only changed pages are embedded again', async () => {
  const folder = await temporary('vectors-')
  const wiki = await wikiOf()
  const file = indexFile(folder)
  const first = bagOfWords()
  const before = await createVectorIndex({ wiki, embed: first, file }).search('red rose')
  expect(first.asked).toHaveLength(1 + 3)
  const second = bagOfWords()
  const index = createVectorIndex({ wiki, embed: second, file })
  expect(await index.search('red rose')).toEqual(before)
  expect(second.asked).toEqual(['red rose'])
  await wiki.put({ title: 'Water', text: 'A red rose in the sea' })
  await wiki.delete('Flower')
  expect(titles(await index.search('red rose'))).toEqual(['Water'])
  expect(second.asked.slice(2)).toEqual(['Water\n\nA red rose in the sea'])
  const third = bagOfWords()
  expect(titles(await createVectorIndex({ wiki, embed: third, file }).search('red rose'))).toEqual(['Water'])
  expect(third.asked).toHaveLength(1)
  expect(readdirSync(join(folder, '.libero'))).toEqual(['vectors.json'])
})

test.each([
  ['another model', bagOfWords(vocabulary, 'other')],
  ['another length', bagOfWords(vocabulary.slice(0, 5))],
])('vectors of %s are made anew', async (_, embed) => {
  const file = indexFile(await temporary('vectors-'))
  const wiki = await wikiOf()
  await createVectorIndex({ wiki, embed: bagOfWords(), file }).search('red rose')
  expect(titles(await createVectorIndex({ wiki, embed, file }).search('red rose'))).toEqual(['Flower'])
  expect(embed.asked).toHaveLength(1 + 3)
})

test.each([
  ['nonsense', '{"version":1,'],
  ['foreign', '{"hello":"world"}'],
  ['null', 'null'],
  ['not UTF-8', Buffer.from([0xff, 0xfe, 0x00])],
  ['wrong pages', '{"version":1,"model":"bag","dimension":8,"pages":[["Flower",1]]}'],
  ['short vectors', '{"version":1,"model":"bag","dimension":8,"pages":[["Flower","x","AAAA"]]}'],
])('a file that is %s is built anew', async (_, content) => {
  const folder = await temporary('vectors-')
  mkdirSync(join(folder, '.libero'))
  writeFileSync(indexFile(folder), content)
  const index = createVectorIndex({ wiki: await wikiOf(), embed: bagOfWords(), file: indexFile(folder) })
  expect(titles(await index.search('red rose'))).toEqual(['Flower'])
  expect(JSON.parse(readFileSync(indexFile(folder), 'utf8'))).toMatchObject({ model: 'bag', dimension: 8 })
})

test('a forged vector that is too long does not win', async () => {
  const folder = await temporary('vectors-')
  const wiki = await wikiOf()
  await createVectorIndex({ wiki, embed: bagOfWords(), file: indexFile(folder) }).search('red rose')
  const stored = JSON.parse(readFileSync(indexFile(folder), 'utf8'))
  const huge = Buffer.alloc(32)
  for (let i = 0; i < 8; i++) huge.writeFloatLE(1e6, i * 4)
  for (const entry of stored.pages) if (entry[0] === 'Water') entry[2] = huge.toString('base64')
  writeFileSync(indexFile(folder), JSON.stringify(stored))
  const index = createVectorIndex({ wiki, embed: bagOfWords(), file: indexFile(folder) })
  expect(titles(await index.search('red rose'))).toEqual(['Flower'])
})

test('a forged page with too many vectors is ignored', async () => {
  const folder = await temporary('vectors-')
  const wiki = await wikiOf()
  await createVectorIndex({ wiki, embed: bagOfWords(), file: indexFile(folder) }).search('red rose')
  const stored = JSON.parse(readFileSync(indexFile(folder), 'utf8'))
  stored.pages[0] = [...stored.pages[0], ...Array.from({ length: 200_000 }, () => stored.pages[0][2])]
  writeFileSync(indexFile(folder), JSON.stringify(stored))
  const embed = bagOfWords()
  const index = createVectorIndex({ wiki, embed, file: indexFile(folder) })
  expect(titles(await index.search('red rose'))).toEqual(['Flower'])
  expect(embed.asked).toHaveLength(1 + 3)
})

test('titles such as __proto__ are ordinary titles', async () => {
  const folder = await temporary('vectors-')
  const pages = ['__proto__', 'constructor', 'toString'].map((title) => ({ title, text: 'rose' }))
  for (let round = 0; round < 2; round++) {
    const index = createVectorIndex({ wiki: await wikiOf(pages), embed: bagOfWords(), file: indexFile(folder) })
    expect(titles(await index.search('rose')).toSorted()).toEqual(['__proto__', 'constructor', 'toString'])
  }
})

test('an embedding function that never ends is abandoned, and does not block other searches', async () => {
  const inner = bagOfWords()
  let calls = 0
  const embed: Embed = (texts, signal) => (++calls === 1 ? new Promise<never>(() => {}) : inner(texts, signal))
  const index = createVectorIndex({ wiki: await wikiOf(), embed })
  const stop = new AbortController()
  const stuck = index.search('rose', { signal: stop.signal })
  const next = index.search('red rose')
  stop.abort(new Error('enough'))
  await expect(stuck).rejects.toThrow('enough')
  expect(titles(await next)).toEqual(['Flower'])
})

test('a link in place of the file or its folder is not followed', async () => {
  const folder = await temporary('vectors-')
  const outside = await temporary('outside-')
  writeFileSync(join(outside, 'precious'), 'precious')
  symlinkSync(outside, join(folder, '.libero'))
  const wiki = await wikiOf()
  const search = () => createVectorIndex({ wiki, embed: bagOfWords(), file: indexFile(folder) }).search('red rose')
  expect(titles(await search())).toEqual(['Flower'])
  expect(readdirSync(outside)).toEqual(['precious'])

  const other = await temporary('vectors-')
  mkdirSync(join(other, '.libero'))
  symlinkSync(join(outside, 'precious'), indexFile(other))
  await createVectorIndex({ wiki, embed: bagOfWords(), file: indexFile(other) }).search('red rose')
  expect(readFileSync(join(outside, 'precious'), 'utf8')).toBe('precious')
  expect(lstatSync(indexFile(other)).isFile()).toBe(true)
})

test('nothing is written into a wiki that is read-only', async () => {
  const folder = await temporary('vectors-')
  const wiki = await wikiOf(seed, { folder, isReadOnly: true })
  expect(titles(await createVectorIndexes().of(wiki, bagOfWords()).search('red rose'))).toEqual(['Flower'])
  expect(existsSync(join(folder, '.libero'))).toBe(false)
})

test('pages that were embedded before a search was stopped are kept', async () => {
  const folder = await temporary('vectors-')
  const pages = Array.from({ length: 100 }, (_, i) => ({ title: `P${i}`, text: `rose ${i}` }))
  const wiki = await wikiOf(pages)
  const stop = new AbortController()
  const inner = bagOfWords()
  let calls = 0
  const embed: Embed = Object.assign(
    async (texts: readonly string[], signal: AbortSignal) => {
      if (++calls === 3) stop.abort(new Error('enough'))
      signal.throwIfAborted()
      return inner(texts, signal)
    },
    { model: 'bag' },
  )
  const file = indexFile(folder)
  await expect(createVectorIndex({ wiki, embed, file }).search('rose', { signal: stop.signal })).rejects.toThrow(
    'enough',
  )
  const again = bagOfWords()
  expect((await createVectorIndex({ wiki, embed: again, file }).search('rose')).pages).toBe(100)
  expect(again.asked).toHaveLength(1 + 36)
})

test('texts are sent in batches, and pages beyond the limit are left out', async () => {
  const pages = Array.from({ length: 150 }, (_, i) => ({ title: `P${String(i).padStart(3, '0')}`, text: 'rose' }))
  const inner = bagOfWords()
  const sizes: number[] = []
  const embed: Embed = (texts, signal) => {
    sizes.push(texts.length)
    return inner(texts, signal)
  }
  const index = createVectorIndex({ wiki: await wikiOf(pages), embed, mostPages: 140 })
  expect(await index.search('rose')).toMatchObject({ pages: 140, leftOut: 10 })
  expect(sizes).toEqual([1, 64, 64, 12])
})

test.each<[string, (texts: readonly string[]) => unknown, RegExp]>([
  ['too few vectors', () => [[1, 2]], /gave 1 vectors for 3 texts/],
  ['none at all', () => 'sorry', /gave no vectors for 3 texts/],
  ['other lengths', (texts) => texts.map(() => [1, 2, 3]), /a vector of 3 numbers where the others have 2/],
  ['what is no number', (texts) => texts.map(() => [1, 'x']), /something that is no number/],
  ['empty vectors', (texts) => texts.map(() => []), /no vector of 1 to/],
])('an embedding function that gives %s is named', async (_, answer, words) => {
  const embed = (async (texts: readonly string[]) => (texts.length === 1 ? [[1, 2]] : answer(texts))) as Embed
  await expect(createVectorIndex({ wiki: await wikiOf(), embed }).search('rose')).rejects.toThrow(words)
})

test('two searches at once embed a page once', async () => {
  const embed = bagOfWords()
  const index = createVectorIndex({ wiki: await wikiOf(), embed })
  await Promise.all([index.search('rose'), index.search('car')])
  expect(embed.asked).toHaveLength(2 + 3)
})

/** One call of wiki-search, as a model would make it. */
async function search(services: Partial<PluginServices>, input: Record<string, unknown>): Promise<string> {
  const setup = {
    config: {},
    entry: { id: 'w', toolId: 'wiki-search' },
    services: { agentId: 'a', clock: fakeClock(), ...services },
  }
  const [tool] = wikiSearch.tools!(setup)
  const made = { workspaceName: 'notes', searchType: 'vector', ...input }
  const agent = createAgent({ provider: scripted([call('1', 'wiki-search', made)], 'done'), tools: { tool: tool! } })
  await agent.run({ prompt: 'go' })
  const [result] = agent.turns.flatMap(({ content }) => content.filter((block) => block.type === 'tool_result'))
  await agent.destroy()
  return String(result?.output)
}

async function storeIn(folder?: string): Promise<KnowledgeStore> {
  const wiki = await wikiOf(seed, folder === undefined ? {} : { folder })
  return { workspaces: async () => [wiki.info], open: async () => wiki }
}

test('wiki-search finds by meaning if the host has an embedding function', async () => {
  const found = await search({ knowledge: await storeIn(), embed: bagOfWords() }, { query: 'red rose' })
  expect(found).toMatch(/^1 page of "notes"\n\n1\. "Flower" \(similarity 0\.82\)\n<page-text \w+>\nA rose is red/)
  const none = await search({ knowledge: await storeIn(), embed: bagOfWords() }, { query: 'red rose', threshold: 0.99 })
  expect(none).toBe('No page of "notes" was found.\n(the nearest page has 0.82, below the threshold of 0.99)')
})

test('the index is stored beside the wiki, or kept by the host', async () => {
  const folder = await temporary('vectors-')
  const knowledge = await storeIn(folder)
  const first = bagOfWords()
  await search({ knowledge, embed: first }, { query: 'red rose' })
  expect(existsSync(indexFile(folder))).toBe(true)
  await search({ knowledge, embed: first }, { query: 'red rose' })
  expect(first.asked).toHaveLength(2 + 3)

  const embed = bagOfWords()
  const services = { knowledge: await storeIn(), embed, vectors: createVectorIndexes() }
  await search(services, { query: 'red rose' })
  await search(services, { query: 'red rose' })
  expect(embed.asked).toHaveLength(2 + 3)
})

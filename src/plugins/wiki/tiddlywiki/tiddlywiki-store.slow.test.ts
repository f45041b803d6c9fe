import { cp, mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, afterEach, describe, expect } from 'vitest'
import { sampleOf, testInTurns } from '../../../../test/soak.ts'
import { knowledgeContract } from '../knowledge-contract.ts'
import type { KnowledgeStore, Tiddler, Wiki } from '../knowledge-store.ts'
import { changeFiles, FileChanged } from './change-files.ts'
import { stampOf } from './folder-reader.ts'
import { createTiddlyWikiStore } from './tiddlywiki-store.ts'

// Each test starts TiddlyWiki in a thread.
const test = testInTurns(3)

const scratch: string[] = []
afterAll(async () => {
  for (const folder of scratch) await rm(folder, { recursive: true, force: true })
})

const stores: KnowledgeStore[] = []
afterEach(async () => {
  for (const store of stores.splice(0)) await store.close?.()
})

/** Plain .tid files, as a person would write them. */
async function wikiFolder(tiddlers: readonly Tiddler[]): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'libero-wiki-'))
  scratch.push(folder)
  await writeFile(join(folder, 'tiddlywiki.info'), '{}')
  await mkdir(join(folder, 'tiddlers'))
  for (const [n, { title, text = '', tags = [], type, created, modified, fields }] of tiddlers.entries()) {
    const tagText = tags.map((tag) => `[[${tag}]]`).join(' ')
    const header = Object.entries({ title, tags: tagText || undefined, type, created, modified, ...fields })
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => `${name}: ${value}`)
    await writeFile(join(folder, 'tiddlers', `${n}.tid`), `${header.join('\n')}\n\n${text}`)
  }
  return folder
}

describe('a store on TiddlyWiki keeps the contract:', () => {
  const cases = knowledgeContract({
    async make({ workspaces, clock }) {
      const named = Object.entries(workspaces).map(async ([name, tiddlers]) => ({
        name,
        folder: await wikiFolder(tiddlers),
      }))
      return createTiddlyWikiStore({ workspaces: await Promise.all(named), clock, timeLimitMs: 60_000 })
    },
  })
  test.for(sampleOf(cases, 8))('$name', ({ run }) => run())
})

/** A wiki of files, by their names in its folder. */
async function wikiOf(
  files: Readonly<Record<string, string | Buffer>>,
): Promise<{ wiki: Wiki; folder: string; at: (name: string) => string }> {
  const folder = await wikiFolder([])
  const at = (name: string): string => join(folder, 'tiddlers', name)
  for (const [name, text] of Object.entries(files)) await writeFile(at(name), text)
  const store = createTiddlyWikiStore({ workspaces: { w: { folder } }, timeLimitMs: 60_000 })
  stores.push(store)
  return { wiki: await store.open('w'), folder, at }
}

const tid = (title: string, text: string): string => `title: ${title}\n\n${text}`

describe('a change of the folder by another program', () => {
  test('is seen by the next call: changed, new and removed files', async () => {
    const { wiki, at } = await wikiOf({ 'a.tid': tid('A', 'one'), 'b.tid': tid('B', 'two') })
    expect((await wiki.get('A'))!.text).toBe('one')
    await writeFile(at('a.tid'), tid('A', 'ONE'))
    await writeFile(at('c.tid'), tid('C', '[[A]]'))
    await rm(at('b.tid'))
    expect((await wiki.get('A'))!.text).toBe('ONE')
    expect((await wiki.filter('[all[tiddlers]!is[system]]')).titles).toEqual(['A', 'C'])
    expect((await wiki.backlinks('A')).titles).toEqual(['C'])
  })

  test('is not overwritten: a file that has changed is left alone', async () => {
    const { wiki, at } = await wikiOf({ 'a.tid': tid('A', 'one') })
    expect((await wiki.get('A'))!.text).toBe('one')
    await writeFile(at('a.tid'), tid('Other', 'of a person'))
    await wiki.put({ title: 'A', text: 'two' })
    expect(await readFile(at('a.tid'), 'utf8')).toBe(tid('Other', 'of a person'))
    expect([(await wiki.get('A'))!.text, (await wiki.get('Other'))!.text]).toEqual(['two', 'of a person'])
  })

  test('is not overwritten either when it comes between the plan and the write', async () => {
    const { folder, at } = await wikiOf({ 'a.tid': 'as planned' })
    const stamp = stampOf(at('a.tid'))!
    await writeFile(at('a.tid'), 'as it is')
    const stale = { path: at('a.tid'), text: 'x', encoding: 'utf8', stamp } as const
    await expect(changeFiles(folder, { writes: [stale], removals: [] })).rejects.toThrow(FileChanged)
    await expect(changeFiles(folder, { writes: [], removals: [stale] })).rejects.toThrow(FileChanged)
    const { stamp: _, ...asNew } = stale
    await expect(changeFiles(folder, { writes: [asNew], removals: [] })).rejects.toThrow(FileChanged)
    expect(await readFile(at('a.tid'), 'utf8')).toBe('as it is')
    expect(await readdir(at(''))).toEqual(['a.tid'])
  })

  test('two stores that write at once, to names that are the same in files, lose nothing', async () => {
    const { wiki, folder } = await wikiOf({})
    const other = createTiddlyWikiStore({ workspaces: { w: { folder } }, timeLimitMs: 60_000 })
    stores.push(other)
    const wikis = [wiki, await other.open('w')]
    await Promise.all(wikis.map((one) => one.get('warm')))
    const titles = Array.from({ length: 8 }, (_, n) => [`${n}/x`, `${n}:x`])
    await Promise.all(titles.flatMap((pair) => pair.map((title, n) => wikis[n]!.put({ title, text: `of ${title}` }))))
    for (const title of titles.flat()) expect((await wiki.get(title))?.text).toBe(`of ${title}`)
  })

  test('a missing folder is an error, and is used again when it is back', async () => {
    const { wiki, folder } = await wikiOf({ 'a.tid': tid('A', 'one') })
    await wiki.get('A')
    await rename(folder, `${folder}-away`)
    scratch.push(`${folder}-away`)
    await expect(wiki.get('A')).rejects.toThrow('tiddlywiki.info is gone')
    await expect(wiki.put({ title: 'B' })).rejects.toThrow('tiddlywiki.info is gone')
    await rename(`${folder}-away`, folder)
    expect((await wiki.get('A'))!.text).toBe('one')
  })
})

describe('files are rewritten in the form they have', () => {
  test('a .tid in place, under the name a person gave it', async () => {
    const { wiki, at } = await wikiOf({ 'my own name.tid': tid('A', 'one') })
    await wiki.put({ title: 'A', text: 'two', type: 'text/markdown' })
    expect(await readdir(at(''))).toEqual(['my own name.tid'])
    expect(await readFile(at('my own name.tid'), 'utf8')).toMatch(/^(?:[a-z]+: .*\n)+\ntwo$/)
  })

  test('a new one under the name TiddlyWiki would give it', async () => {
    const { wiki, at } = await wikiOf({})
    await wiki.put({ title: 'a/b: c?', text: 'x' })
    await wiki.put({ title: 'picture', text: 'iVBORw0KGgo=', type: 'image/png' })
    expect(await readdir(at(''))).toEqual(['a_b_ c_.tid', 'picture.png', 'picture.png.meta'])
    expect((await readFile(at('picture.png'))).toString('hex')).toBe('89504e470d0a1a0a')
  })

  test('one of several in a .json, with the others unchanged', async () => {
    const others = [
      { title: 'B', text: 'two', custom: ' kept ' },
      { title: 'C', tags: '[[x y]] z' },
    ]
    const { wiki, at } = await wikiOf({ 'all.json': JSON.stringify([{ title: 'A', text: 'one' }, ...others]) })
    await wiki.put({ title: 'A', text: 'ONE' })
    const [first, ...rest] = JSON.parse(await readFile(at('all.json'), 'utf8'))
    expect([first.text, rest]).toEqual(['ONE', others])
    expect(await wiki.delete('A')).toBe(true)
    expect(JSON.parse(await readFile(at('all.json'), 'utf8'))).toEqual(others)
    expect((await wiki.get('B'))!.fields).toEqual({ custom: ' kept ' })
  })

  test('a .multids is refused with an error, and stays as it is', async () => {
    const text = 'title: $:/x/\n\nA: one\nB: two\n'
    const { wiki, at } = await wikiOf({ 'some.multids': text })
    await expect(wiki.put({ title: '$:/x/A', text: 'ONE' })).rejects.toThrow('change it by hand')
    await expect(wiki.delete('$:/x/A')).rejects.toThrow('change it by hand')
    expect(await readFile(at('some.multids'), 'utf8')).toBe(text)
  })

  test('a body with its .meta, both; deleted, both', async () => {
    const { wiki, at } = await wikiOf({ 'n.txt': 'old', 'n.txt.meta': 'title: Note\ntype: text/plain' })
    await wiki.put({ title: 'Note', text: 'new', type: 'text/plain', tags: ['t'] })
    expect(await readFile(at('n.txt'), 'utf8')).toBe('new')
    expect(await readFile(at('n.txt.meta'), 'utf8')).toContain('tags: t')
    expect(await wiki.delete('Note')).toBe(true)
    expect(await readdir(at(''))).toEqual([])
  })

  test('a tiddler that does not fit its old form gets a new file, and the old one is removed', async () => {
    const { wiki, at } = await wikiOf({ 'a.tid': tid('A', 'one') })
    await wiki.put({ title: 'A', text: 'two', fields: { lines: 'x\ny' } })
    expect(await readdir(at(''))).toEqual(['A.json'])
    expect((await wiki.get('A'))!.fields).toEqual({ lines: 'x\ny' })
  })

  test('a title in two files is deleted from both', async () => {
    const { wiki, at } = await wikiOf({ 'a.tid': tid('A', 'one'), 'b.tid': tid('A', 'two') })
    expect((await wiki.get('A'))!.text).toBe('two')
    expect(await wiki.delete('A')).toBe(true)
    expect(await readdir(at(''))).toEqual([])
  })
})

describe('rendering the example wiki', () => {
  test('D035 finds each of the errors on its broken page, and none on the others', async () => {
    const folder = await wikiFolder([])
    await cp(fileURLToPath(new URL('../../../../examples/wiki', import.meta.url)), folder, { recursive: true })
    const store = createTiddlyWikiStore({ workspaces: { garden: { folder, readOnly: true, description: 'beds' } } })
    stores.push(store)
    const wiki = await store.open('garden')
    expect(wiki.info).toMatchObject({ name: 'garden', isReadOnly: true, description: 'beds', folder })
    const { titles } = await wiki.filter('[all[tiddlers]!is[system]]')
    expect(titles.length).toBeGreaterThanOrEqual(12)
    for (const title of titles.filter((one) => one !== 'Harvest table'))
      expect([title, (await wiki.render(title)).problems]).toEqual([title, []])
    const { problems } = await wiki.render('Harvest table')
    expect(problems.map(({ kind }) => kind).toSorted()).toEqual(['filter', 'missing', 'missing'])
    expect(problems.map(({ message }) => message).join()).toMatch(/Weights of last year|harvest-total/)
    expect((await wiki.render('Seed list')).text).toContain('end of March')
    expect((await wiki.tagTree('Mill Lane Garden')).children.map(({ title }) => title)).toEqual([
      'Beds',
      'People',
      'Seed list',
      'Watering plan',
    ])
    await expect(wiki.put({ title: 'x' })).rejects.toThrow('read-only')
    await expect(wiki.delete('Beds')).rejects.toThrow('read-only')
  })

  test('reports unknown widgets, and errors of filters in attributes', async () => {
    const { wiki } = await wikiOf({
      'a.tid': tid('A', '<$nosuch/> <$text text={{{ [is[nonsense]] }}}/> `<$other/>` <<list-links "[[x]]">>'),
    })
    const { problems } = await wiki.render('A')
    expect(problems.map(({ kind, message }) => `${kind} ${message}`).toSorted()).toEqual([
      "filter Filter Error: Unknown parameter for the 'is' filter operator",
      "missing Undefined widget 'nosuch'",
    ])
  })
})

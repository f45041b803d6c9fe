import type { Clock } from '../../core/clock.ts'
import { check, fails, manualClock, same } from './knowledge-contract-kit.ts'
import type { KnowledgeStore, TagNode, Tiddler, Wiki } from './knowledge-store.ts'

/**
 * The requirements for every store of wikis. Any test runner can run them: `test(one.name, one.run)`; `run` rejects with an
 * Error that says what is wrong.
 */
export function knowledgeContract({
  make,
}: {
  /** Creates a store with these workspaces and tiddlers, for each case, that uses `clock`. */
  make(given: {
    readonly workspaces: Readonly<Record<string, readonly Tiddler[]>>
    readonly clock: Clock
  }): KnowledgeStore | Promise<KnowledgeStore>
}): readonly { readonly name: string; run(): Promise<void> }[] {
  return Object.entries(cases).map(([name, prove]) => ({
    name,
    async run() {
      const clock = manualClock(Date.UTC(2026, 4, 1, 12))
      const store = await make({ workspaces: { garden, empty: [] }, clock })
      try {
        await prove({ store, wiki: await store.open('garden'), turn: clock.turn })
      } finally {
        await store.close?.()
        await store.close?.()
      }
    },
  }))
}

interface Proof {
  readonly store: KnowledgeStore
  readonly wiki: Wiki
  turn(ms: number): void
}

const day = 86_400_000

const garden: readonly Tiddler[] = [
  {
    title: 'Garden',
    text: 'Our beds: [[North bed]] and [[the south one|South bed]].',
    created: at(1),
    modified: at(1),
  },
  { title: 'North bed', text: 'Leeks. See [[Garden]].', tags: ['Garden'], created: at(2), modified: at(4) },
  { title: 'South bed', text: 'Beans, {{North bed}}', tags: ['Garden', 'sunny place'], modified: at(3) },
  { title: 'Leek', text: 'Needs little.', tags: ['North bed'], modified: at(2), fields: { sown: 'March' } },
  { title: 'Blue leek', text: 'An old kind. `[[Garden]]` is code.', tags: ['Leek'], modified: at(5) },
  { title: 'Ring A', text: 'a', tags: ['Ring B'] },
  { title: 'Ring B', text: 'b', tags: ['Ring A'] },
  { title: '水やり', text: '毎朝、[[North bed]]から。', tags: ['sunny place'], modified: at(6) },
  { title: 'Broken', text: 'Before {{Nowhere}} after', modified: at(1) },
  { title: 'Unclosed', text: 'Look: <<list-links' },
  { title: 'Mirror', text: 'in {{Mirror}}' },
  { title: '$:/config/own', text: '[[Garden]]', modified: at(9) },
]

function at(dayOfApril: number): string {
  return `202604${String(dayOfApril).padStart(2, '0')}080000000`
}

const cases: Record<string, (proof: Proof) => Promise<void>> = {
  async 'workspaces are listed by name, and an unknown one is answered with those there are'({ store }) {
    same((await store.workspaces()).map(({ name }) => name).toSorted(), ['empty', 'garden'], 'workspaces()')
    const error = await fails(store.open('attic'), 'open("attic")')
    check(/"?attic/.test(error.message) && /garden/.test(error.message), `it should name both: ${error.message}`)
  },

  async 'a tiddler is given with all its fields, and a missing one is undefined'({ wiki }) {
    const { title, text, tags, modified, fields } = (await wiki.get('Leek'))!
    const expected = {
      title: 'Leek',
      text: 'Needs little.',
      tags: ['North bed'],
      modified: at(2),
      fields: { sown: 'March' },
    }
    same({ title, text, tags, modified, fields }, expected, 'get("Leek")')
    same((await wiki.get('South bed'))!.tags, ['Garden', 'sunny place'], 'tags with spaces')
    same((await wiki.get('水やり'))!.text, '毎朝、[[North bed]]から。', 'text beyond Latin')
    same(await wiki.get('Missing'), undefined, 'a missing tiddler')
  },

  async 'filters give titles as TiddlyWiki does'({ wiki }) {
    for (const [filter, titles] of Object.entries(filters))
      same((await wiki.filter(filter)).titles, titles, `filter ${filter}`)
  },

  async 'a filter that is wrong throws, and its error is no title'({ wiki }) {
    for (const filter of ['[tag[Garden]', '[[Garden', '[tag', '[is[nonsense]]', ':nonsense[tag[Garden]]']) {
      const error = await fails(wiki.filter(filter), `filter ${filter}`)
      check(error.message.length > 20, `it should say what is wrong with ${filter}: ${error.message}`)
    }
  },

  async 'D035 a list comes in pages, with the number of all'({ wiki }) {
    const all = await wiki.filter('[all[tiddlers]!is[system]sort[title]]')
    same(all.total, 11, 'total')
    const page = await wiki.filter('[all[tiddlers]!is[system]sort[title]]', { offset: 2, limit: 3 })
    same(page, { titles: all.titles.slice(2, 5), total: 11 }, 'the second page')
    same(await wiki.filter('[tag[Garden]]', { offset: 9 }), { titles: [], total: 2 }, 'beyond the end')
    same(await wiki.filter('[tag[Garden]]', { limit: 0 }), { titles: [], total: 2 }, 'none')
    for (const wrong of [-1, 1.5, Number.NaN])
      await fails(wiki.filter('[tag[Garden]]', { limit: wrong }), `limit ${wrong}`)
  },

  async 'D035 backlinks are links, not transclusions and not code'({ wiki }) {
    same(await wiki.backlinks('North bed'), { titles: ['Garden', '水やり'], total: 2 }, 'backlinks of North bed')
    same((await wiki.backlinks('South bed')).titles, ['Garden'], 'a link with a text')
    const found = await wiki.backlinks('Garden')
    check(found.titles.includes('North bed') && !found.titles.includes('Blue leek'), `found ${found.titles.join()}`)
    const { titles, total } = await wiki.backlinks('North bed', { limit: 1 })
    same({ count: titles.length, total }, { count: 1, total: 2 }, 'limit')
    same(await wiki.backlinks('Missing'), { titles: [], total: 0 }, 'backlinks of what is not there')
  },

  async 'D035 the tag tree has the given depth and counts what it leaves out'({ wiki }) {
    same(shapeOf(await wiki.tagTree('Garden', { depth: 1 })), 'Garden 2(North bed 1, South bed 0)', 'depth 1')
    same(shapeOf(await wiki.tagTree('Garden', { depth: 0 })), 'Garden 2', 'depth 0')
    const whole = 'Garden 2(North bed 1(Leek 1(Blue leek 0)), South bed 0)'
    same(shapeOf(await wiki.tagTree('Garden', { depth: 9 })), whole, 'depth 9')
    same(shapeOf(await wiki.tagTree('Garden')), whole, 'three levels, unless said otherwise')
    same(shapeOf(await wiki.tagTree('Missing')), 'Missing 0', 'an unused tag')
  },

  async 'D035 a tag that is its own ancestor is shown once more and followed no further'({ wiki }) {
    same(shapeOf(await wiki.tagTree('Ring A', { depth: 9 })), 'Ring A 1(Ring B 1(Ring A 1 again))', 'a ring')
  },

  async 'D035 recent gives the newest first, without texts and without system tiddlers'({ wiki }) {
    const newest = await wiki.recent({ limit: 3 })
    same(
      newest.map(({ title }) => title),
      ['水やり', 'Blue leek', 'North bed'],
      'the newest three',
    )
    check(
      newest.every((tiddler) => tiddler.text === undefined),
      'a list has no texts',
    )
    const since = await wiki.recent({ since: new Date(Date.UTC(2026, 3, 5)) })
    same(
      since.map(({ title }) => title),
      ['水やり', 'Blue leek'],
      'since the fifth',
    )
  },

  async 'D035 rendering gives the text with what it transcludes'({ wiki }) {
    const { text, problems } = await wiki.render('South bed')
    same(text.replace(/\s+/g, ' ').trim(), 'Beans, Leeks. See Garden.', 'the text')
    same(problems, [], 'its problems')
    await fails(wiki.render('Missing'), 'rendering what is not there')
  },

  async 'D035 rendering reports missing, unclosed and recursive markup'({ wiki }) {
    const missing = await wiki.render('Broken')
    same(
      missing.problems.map(({ kind }) => kind),
      ['missing'],
      'kinds in Broken',
    )
    check(missing.problems[0]!.message.includes('Nowhere'), `it should name it: ${missing.problems[0]!.message}`)
    check(/Before\s+after/.test(missing.text), `the rest is rendered: ${missing.text}`)
    same(
      (await wiki.render('Mirror')).problems.map(({ kind }) => kind),
      ['recursion'],
      'kinds in Mirror',
    )
    same(
      (await wiki.render('Unclosed')).problems.map(({ kind }) => kind),
      ['syntax'],
      'kinds in Unclosed',
    )
  },

  async 'a tiddler that is put is there, with its times set'({ wiki, turn }) {
    const put = await wiki.put({
      title: 'Tool shed',
      text: 'Spades.\n\nRakes.',
      tags: ['Garden', 'sunny place'],
      fields: { key: 'under the pot' },
    })
    same([put.created, put.modified], ['20260501120000000', '20260501120000000'], 'the times of a new one')
    same(await wiki.get('Tool shed'), put, 'what is read again')
    same((await wiki.filter('[tag[Garden]]')).total, 3, 'it is found by its tag')
    turn(day)
    const again = await wiki.put({ title: 'Tool shed', text: 'Empty.' })
    same([again.created, again.modified], ['20260501120000000', '20260502120000000'], 'the times of a changed one')
    same(await wiki.get('Tool shed'), again, 'it is replaced, not mixed')
    same((await wiki.filter('[tag[Garden]]')).total, 2, 'it is not found by a tag it had')
    same((await wiki.recent({ limit: 1 }))[0]!.title, 'Tool shed', 'it is the newest')
  },

  async 'texts, tags and fields of every kind come back as they were'({ wiki }) {
    for (const tiddler of odd) {
      const put = await wiki.put(tiddler)
      const { created, modified, ...read } = (await wiki.get(tiddler.title))!
      same(read, tiddler, `what is read again of ${JSON.stringify(tiddler.title)}`)
      same({ ...read, created, modified }, put, 'what put gave')
    }
    const { titles } = await wiki.filter('[prefix[odd]]')
    same(titles.length, odd.length, `each is one tiddler: ${titles.join(' / ')}`)
  },

  async 'a title or field that could be taken for something else is refused, and nothing is changed'({ wiki }) {
    const before = (await wiki.filter('[all[tiddlers]]')).total
    const wrong: unknown[] = [
      { title: '' },
      { title: ' ' },
      { title: 'a\nb' },
      { title: 'a\0b' },
      { title: 'x'.repeat(5000) },
      { title: 7 },
      { title: 'x', text: 7 },
      { title: 'x', tags: 'Garden' },
      { title: 'x', tags: ['a ]] b'] },
      { title: 'x', fields: { 'a\ntags': 'Garden' } },
      { title: 'x', fields: { title: 'y' } },
      { title: 'x', fields: { n: 1 } },
      { title: 'x', type: 'a\nb' },
      { title: 'x', created: 'yesterday' },
    ]
    for (const tiddler of wrong)
      await fails(wiki.put(tiddler as Tiddler), `put ${JSON.stringify(tiddler).slice(0, 80)}`)
    same((await wiki.filter('[all[tiddlers]]')).total, before, 'how many there are')
  },

  async 'a tiddler that is deleted is gone, and to delete it again is no error'({ wiki }) {
    same(await wiki.delete('Leek'), true, 'delete')
    same(await wiki.get('Leek'), undefined, 'get')
    same((await wiki.filter('[tag[North bed]]')).titles, [], 'its tag')
    same(await wiki.delete('Leek'), false, 'delete again')
    same(await wiki.delete('Missing'), false, 'what was never there')
  },

  async 'many puts at once are all kept'({ store, wiki }) {
    const same1 = await store.open('garden')
    const titles = Array.from({ length: 12 }, (_, n) => `Seed ${n % 6}`)
    await Promise.all(titles.map((title, n) => (n % 2 ? wiki : same1).put({ title, text: `no. ${n}`, tags: ['seed'] })))
    same((await wiki.filter('[tag[seed]]')).total, 6, 'how many there are')
    same((await wiki.get('Seed 3'))!.text, 'no. 9', 'the last one counts')
  },

  async 'a write that is based on an old reading is refused with PageChanged'({ wiki, turn }) {
    const read = (await wiki.get('Leek'))!
    turn(1000)
    const theirs = await wiki.put({ ...read, text: 'Theirs.' }, { ifSame: read })
    const late = [
      () => wiki.put({ ...read, text: 'Mine.' }, { ifSame: read }),
      () => wiki.delete('Leek', { ifSame: read }),
      () => wiki.put({ title: 'Leek' }, { ifSame: null }),
      () => wiki.put({ title: 'Gone' }, { ifSame: { title: 'Gone', text: 'was here' } }),
    ]
    for (const write of late) same((await fails(write(), 'a late write')).name, 'PageChanged', 'its name')
    same(await wiki.get('Leek'), theirs, 'the page')
    same(await wiki.get('Gone'), undefined, 'what was not there')
    await wiki.put({ title: 'New' }, { ifSame: null })
    same(await wiki.delete('Leek', { ifSame: theirs }), true, 'delete')
    same(await wiki.delete('Leek', { ifSame: null }), false, 'delete what is gone')
  },

  async 'workspaces know nothing of each other'({ store, wiki }) {
    const empty = await store.open('empty')
    same((await empty.filter('[all[tiddlers]!is[system]]')).total, 0, 'the empty one')
    await empty.put({ title: 'Alone', text: 'here' })
    same(await wiki.get('Alone'), undefined, 'in the other one')
  },

  async 'an aborted call is refused with the reason of its signal'({ wiki }) {
    const signal = AbortSignal.abort(new Error('no longer wanted'))
    const calls = [
      wiki.get('Garden', { signal }),
      wiki.filter('[tag[Garden]]', { signal }),
      wiki.put({ title: 'Late' }, { signal }),
      wiki.delete('Garden', { signal }),
    ]
    for (const call of calls) same((await fails(call, 'an aborted call')).message, 'no longer wanted', 'its reason')
    same([await wiki.get('Late'), (await wiki.get('Garden'))?.title], [undefined, 'Garden'], 'what is there')
  },
}

const filters: Readonly<Record<string, readonly string[]>> = {
  '[tag[Garden]]': ['North bed', 'South bed'],
  '[tag[sunny place]sort[modified]]': ['South bed', '水やり'],
  '[tag[Garden]!sort[title]]': ['South bed', 'North bed'],
  '[[Garden]]': ['Garden'],
  'Garden [[Not there]] "North bed"': ['Garden', 'Not there', 'North bed'],
  '[title[Garden]]': ['Garden'],
  '[[Leek]] [tag[Garden]] [[Leek]]': ['North bed', 'South bed', 'Leek'],
  '[search[OLD kind]]': ['Blue leek'],
  '[prefix[Ring]]': ['Ring A', 'Ring B'],
  '[has[sown]]': ['Leek'],
  '[field:sown[March]]': ['Leek'],
  '[tag[Garden]] -[[South bed]]': ['North bed'],
  '[all[tiddlers]!is[system]prefix[R]limit[1]]': ['Ring A'],
  '[tag[Garden]] [tag[Leek]] +[sort[title]limit[2]]': ['Blue leek', 'North bed'],
  '[is[system]has[modified]]': ['$:/config/own'],
  '[tag[missing]]': [],
  '': [],
}

const odd: readonly Tiddler[] = [
  { title: 'odd 1', text: '\n\nbegins with lines\r\n\r\nand has others\t\n' },
  { title: 'odd 2', text: 'x', fields: { spaced: '  at its ends ', lines: 'one\ntwo', 'colon:ed': 'yes' } },
  { title: 'odd 3', text: 'title: Garden\ntags: Garden\n\nlooks like a header' },
  { title: 'odd 4', tags: ['with space', '日本', 'a|b'], fields: { bag: 'of seeds', revision: '3' } },
  { title: 'odd 5: 日本語/テスト? *"<>|', text: '本文' },
  { title: 'odd 6', text: '# Title\n\ntext', type: 'text/markdown' },
  { title: 'odd 7', text: 'iVBORw0KGgo=', type: 'image/png' },
  { title: 'odd 8', text: 'this is not base64!', type: 'image/png' },
  { title: 'odd 9', text: '{"a": [1]}', type: 'application/json' },
  { title: 'odd 10', text: 'what is this', type: 'made/up' },
  { title: 'odd 11', text: '/*\\\ntags: Garden\n\\*/\nbody {}', type: 'text/css' },
  { title: 'odd 12', text: 'y'.repeat(300_000) },
]

function shapeOf({ title, count, children, isCycle }: TagNode): string {
  const below = children.length > 0 ? `(${children.map(shapeOf).join(', ')})` : ''
  return `${title} ${count}${below}${isCycle ? ' again' : ''}`
}

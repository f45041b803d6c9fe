import { expect, test } from 'vitest'
import { withPostgres } from '../../../test/postgres-kit.ts'
import type { EntryBody, LogEntry } from '../../core/log.ts'
import type { SessionPage, SessionQuery, SessionStatus, SessionStore } from '../../core/store.ts'
import { fakeClock } from '../../testing/index.ts'
import { createMemoryStore } from '../memory-store.ts'
import { parseQuery } from '../session-query.ts'
import { entriesSql, rangeValues } from './entries.ts'
import { pageQuery, pageSql } from './list.ts'
import { toList } from './values.ts'

const statuses: readonly SessionStatus[] = ['working', 'waiting', 'interrupted', 'idle', 'failed', 'parked']
const orders = ['updated', 'created', 'id'] as const
const tenants = ['acme', 'a "b" \\c', 'long'.repeat(250)]

withPostgres('lists in Postgres', (kit) => {
  test('ST02 ST03 for every query, pages are those of the store in memory', async () => {
    const clock = fakeClock(1_700_000_000_000)
    const stores = [kit.openNew({ clock, listen: false }), createMemoryStore({ clock })] as const
    const random = createRandom(7)
    const ids = ['plain', 'p"q', 'p#q', 'a\0', 'a\u0001', 'a', 'a\u0002', '\ud800x', '\ud7ff', '\ue000', '😀', '\uffff']
    for (let i = 0; i < 80; i++) ids.push(`${['s', 't', 'u/v'][random(3)]}${i}`)
    for (const [i, id] of ids.entries()) {
      const parent = i > 3 && random(4) === 0 ? ids[random(3)] : undefined
      const bodies = randomBodies(random)
      const at = clock.now() + random(5)
      const entries = bodies.map((body, i) => ({ ...body, seq: i + 1, id: `${i}`, at }) as LogEntry)
      const holder = parent ?? id
      const [ttlMs, mail] = [random(3) ? 1000 : 3_600_000, random(6)]
      for (const store of stores) {
        const { epoch } = await store.lease(holder, { owner: holder, ttlMs, create: true, takeOver: true })
        await store.append(id, entries, { epoch, head: 0, ...(parent !== undefined && { parent, holder }) })
        if (mail < 2) await store.send(id, { clientKey: 'k', mode: mail ? 'answer' : 'prompt', content: [] })
      }
      await clock.advance(random(3))
    }
    await clock.advance(2000)
    let found = 0
    for (let i = 0; i < 300; i++) found += await comparePages(stores, randomQuery(random, clock.now()))
    expect(found).toBeGreaterThan(500)
  })

  test('ST02 ST03 a page out of 1,500 reads about as many blocks as the same page out of 20', async () => {
    const sizes = [20, 1500]
    const blocks = new Map<string, number[]>()
    for (const size of sizes) {
      const store = kit.openNew({ listen: false })
      await fill(store, size)
      for (const order of orders)
        for (const [name, filter] of Object.entries(filters)) {
          const { sessions } = await store.list({ order, limit: 10, ...filter })
          expect(sessions).toHaveLength(10)
          blocks.set(`${order} ${name}`, [
            ...(blocks.get(`${order} ${name}`) ?? []),
            await blocksOf({ order, ...filter }),
          ])
        }
    }
    // An index of more sessions has one level more. For a prefix, up to 500 ids are counted to choose a way.
    for (const [name, [few = 0, many = 0]] of blocks)
      expect([name, many < 1.5 * few + (name.endsWith('commonPrefix') ? 510 : 0)]).toEqual([name, true])
  })

  test('ST06 a range of a long log reads the entries of the range and no others', async () => {
    const store = kit.openNew({ listen: false })
    const { epoch } = await store.lease('s', { owner: 'ann', ttlMs: 3_600_000, create: true })
    const entries = Array.from({ length: 3000 }, (_, i) => ({
      seq: i + 1,
      id: `${i}`,
      at: i,
      type: 'label',
      text: 'x',
    }))
    await store.append('s', entries as LogEntry[], { epoch, head: 0 })
    const fork = await store.lease('f', { owner: 'ann', ttlMs: 3_600_000, create: true })
    const more = [
      { ...entries[2000]!, id: 'own' },
      { ...entries[2001]!, id: 'own' },
    ] as LogEntry[]
    await store.append('f', more, { epoch: fork.epoch, head: 2000, base: 's' })
    const ranges = [
      [{ after: 10, limit: 5 }, [11, 15]],
      [{ before: 21, limit: 4, fromEnd: true }, [17, 20]],
      [{ after: 1998, before: 2003 }, [1999, 2002]],
      [{ limit: 2, fromEnd: true }, undefined],
      [{ after: 5000 }, undefined],
    ] as const
    for (const id of ['s', 'f'])
      for (const [range, expected] of ranges) {
        const read = (await store.read(id, range)).map(({ seq }) => seq)
        if (expected) expect([read[0], read.at(-1)]).toEqual(expected)
        expect(await rowsRead(id, range)).toBe(read.length)
      }
    expect((await store.read('f', { limit: 2, fromEnd: true })).map(({ id }) => id)).toEqual(['own', 'own'])
    expect((await store.read('f')).length).toBe(2002)
  })

  /** How many blocks Postgres looked at for a page. */
  async function blocksOf(query: SessionQuery): Promise<number> {
    const { text, values } = await pageQuery(`"${kit.schema}"`, parseQuery({ limit: 10, ...query }))
    const parameters = [text, null, toList(values)]
    let plan: Record<string, number> | undefined
    await kit.admin.begin(async (sql) => {
      for (let i = 0; i < 2; i++) [plan] = await explained(pageSql(`"${kit.schema}"`), parameters, sql) // the first one reads catalogs
    })
    return plan!['Shared Hit Blocks']! + plan!['Shared Read Blocks']!
  }

  /** How many rows of the table of entries Postgres read. */
  async function rowsRead(id: string, range: object): Promise<number> {
    const nodes = await explained(entriesSql(`"${kit.schema}"`), [id, ...rangeValues(range)])
    const scans = nodes.filter((node) => String(node['Relation Name']) === 'entry')
    return scans.reduce((sum, node) => sum + node['Actual Rows']! * node['Actual Loops']!, 0)
  }

  /** The nodes of the plan, as executed; the first contains all others. */
  async function explained(
    statement: string,
    values: readonly unknown[],
    sql: Pick<typeof kit.admin, 'unsafe'> = kit.admin,
  ): Promise<Record<string, number>[]> {
    const [row] = await sql.unsafe(`explain (analyze, buffers, format json) ${statement}`, [...values] as never[])
    const nodes: Record<string, number>[] = []
    const collect = (node: Record<string, unknown>): void => {
      nodes.push(node as Record<string, number>)
      for (const inner of (node.Plans as Record<string, unknown>[] | undefined) ?? []) collect(inner)
    }
    collect(row!['QUERY PLAN'][0].Plan)
    return nodes
  }
})

/** Each matches all sessions of `fill`, or the ten that differ. */
const filters: Record<string, SessionQuery> = {
  none: {},
  status: { status: 'interrupted' },
  idle: { status: 'idle' },
  attention: { attention: true },
  tenant: { tenant: 'acme' },
  tag: { tags: ['rare'] },
  commonTag: { tags: ['common'] },
  kind: { kind: 'rare' },
  folder: { folder: '/rare' },
  parent: { parent: 'p' },
  prefix: { prefix: 'rare' },
  commonPrefix: { prefix: '' },
}

async function fill(store: SessionStore, size: number): Promise<void> {
  const { epoch } = await store.lease('p', { owner: 'ann', ttlMs: 1, create: true })
  const write = (i: number): Promise<void> => {
    const isRare = i % (size / 10) === 0
    const word = isRare ? 'rare' : 'usual'
    const ended = { type: 'run_ended', runId: 'r', status: isRare ? 'error' : 'completed', stop: 'end' }
    const bodies = [
      { type: 'details', tenant: 'acme', kind: word, folder: `/${word}`, tags: ['common', word] },
      { type: 'run_started', runId: 'r', model: 'm' },
      ended,
    ]
    const entries = bodies.map(
      (body, k) => ({ ...body, seq: k + 1, id: `${k}`, at: 1_700_000_000_000 + i }) as LogEntry,
    )
    return store.append(`${word}${i}`, entries, { epoch, head: 0, holder: 'p', parent: 'p' })
  }
  for (let i = 0; i < size; i += 10) await Promise.all(Array.from({ length: 10 }, (_, k) => write(i + k)))
}

type Random = (below: number) => number

function createRandom(seed: number): Random {
  let state = seed
  return (below) => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31
    return Math.floor(state / 65_536) % below
  }
}

function randomBodies(random: Random): EntryBody[] {
  const pick = <Value>(...values: readonly Value[]): Value => values[random(values.length)]!
  const started: EntryBody = { type: 'run_started', runId: 'r', model: 'm' }
  const ended = (status: 'error' | 'suspended' | 'completed'): EntryBody => ({
    ...{ type: 'run_ended', runId: 'r', status, stop: 'x' },
    ...(status === 'error' && random(2) === 0 && { error: { name: 'Error', message: 'm' } }),
  })
  return [
    {
      type: 'details',
      ...(random(2) && { tenant: pick(...tenants) }),
      ...(random(2) && { kind: pick('chat', 'agent') }),
      ...(random(2) && { folder: pick('/a', '/b') }),
      ...(random(2) && { tags: ['red', 'blue', 'green'].slice(random(3)) }),
    },
    ...pick<EntryBody[]>(
      [],
      [started],
      [started, { type: 'approval_requested', callId: 'c', digest: 'd' }],
      [started, ended('error')],
      [started, ended('suspended')],
      [started, ended('completed')],
    ),
    ...(random(10) === 0 ? [{ type: 'parked', reason: 'x' } as const] : []),
  ]
}

function randomQuery(random: Random, now: number): SessionQuery {
  const pick = <Value>(...values: readonly Value[]): Value => values[random(values.length)]!
  const sometimes = <Value extends object>(value: Value): Value | undefined => (random(4) === 0 ? value : undefined)
  return {
    order: pick(...orders),
    limit: 1 + random(20),
    ...sometimes({ status: random(2) ? pick(...statuses) : statuses.slice(random(5)) }),
    ...sometimes({ attention: true as const }),
    ...sometimes({ tags: ['red', 'blue', 'green'].slice(random(3)) }),
    ...sometimes({ tenant: pick(...tenants) }),
    ...sometimes({ kind: 'chat' }),
    ...sometimes({ folder: '/a' }),
    ...sometimes({ parent: pick(null, 'plain', 'p"q', 'p#q') }),
    ...sometimes({ prefix: pick('s', 'u/', 'p', '', 'a', '\ud83d', '\ud7ff') }),
    ...sometimes({ updatedBefore: now - 2000 - random(60) }),
  }
}

/** Reads up to four pages of both stores; returns how many sessions were in them. */
async function comparePages(stores: readonly [SessionStore, SessionStore], query: SessionQuery): Promise<number> {
  let found = 0
  let cursor: string | undefined
  for (let page = 0; page < 4; page++) {
    const asked = { ...query, ...(cursor !== undefined && { cursor }) }
    const [ours, theirs] = await Promise.all(stores.map((store) => store.list(asked)))
    const withoutSizes = ({ sessions, ...page }: SessionPage): object => ({
      ...page,
      query: asked,
      sessions: sessions.map((summary) => ({ ...summary, bytes: 0 })),
    })
    expect(withoutSizes(ours!)).toEqual(withoutSizes(theirs!))
    found += ours!.sessions.length
    cursor = ours!.next
    if (cursor === undefined) break
  }
  return found
}

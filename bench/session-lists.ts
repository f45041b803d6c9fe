import type { EntryBody, LogEntry } from '../src/core/log.ts'
import type { SessionQuery, SessionStore } from '../src/core/store.ts'
import type { Result } from './measure.ts'

/** Opens a store. The same name is the same store. */
export type OpenStore = (name: string) => SessionStore

const pageSize = 50
const goal = 1.5

/**
 * How much longer a page of 50 sessions takes in a store of 10,000 than in one of 50: the worst of all filters and orders, once
 * for a filter that 50 sessions pass and once for one that thousands pass. With `isKept`, also for a store that was just
 * opened.
 */
export async function listRatios(name: string, open: OpenStore, { isKept = true } = {}): Promise<Result[]> {
  const stores = [open('small'), open('large')] as const
  await fill(stores[0], 'rare', pageSize)
  await fill(stores[1], 'rare', pageSize)
  await fill(stores[1], 'common', 10_000 - pageSize)
  const results = [report(name, await worstRatio((i) => stores[i]))]
  for (const store of stores) await store.close?.()
  if (!isKept) return results
  const reopen = (i: 0 | 1): SessionStore => open(i === 0 ? 'small' : 'large')
  return [...results, report(`${name}, just opened`, await worstRatio(reopen, { isCold: true }))]
}

function report(name: string, { ratio, query }: { ratio: number; query: SessionQuery }): Result {
  const value = Number(ratio.toFixed(2))
  const result = { name: `page of 50, 10,000 against 50 sessions, ${name}`, value, goal, ok: value <= goal }
  const worst = `worst: ${JSON.stringify(query)}`
  console.log(`${result.ok ? 'ok  ' : 'MISS'} ${result.name.padEnd(60)} ${value.toFixed(2)}x (goal ${goal}x)  ${worst}`)
  return result
}

/** Sessions that differ from those of another mark in everything that a filter can ask for. */
async function fill(store: SessionStore, mark: 'rare' | 'common', count: number): Promise<void> {
  const parent = `${mark} parent`
  const owner = 'bench'
  const top = await store.lease(parent, { owner, ttlMs: 3_600_000, create: true })
  await store.append(parent, entriesOf(mark, 0), { epoch: top.epoch, head: 0 })
  const make = async (i: number): Promise<void> => {
    const id = `${mark}-${String(i).padStart(5, '0')}`
    await store.append(id, entriesOf(mark, i), { epoch: top.epoch, head: 0, holder: parent, parent })
  }
  for (let i = 1; i <= count; i += 500)
    await Promise.all(Array.from({ length: Math.min(500, count + 1 - i) }, (_, j) => make(i + j)))
  await store.lease(parent, { owner, ttlMs: 0, epoch: top.epoch })
}

/** Times that are not in the order of the ids. */
function entriesOf(mark: 'rare' | 'common', i: number): LogEntry[] {
  const at = 1_700_000_000_000 + ((i * 7919) % 10_007) * 10
  const run = { runId: `r${i}`, model: 'm' }
  // Rare sessions failed or need attention; common ones are waiting.
  const end: EntryBody[] =
    mark === 'common'
      ? [{ type: 'run_ended', runId: run.runId, status: 'suspended', stop: 'asked' }]
      : [{ type: 'run_ended', runId: run.runId, status: 'error', stop: 'crashed' }]
  const bodies: EntryBody[] = [
    { type: 'details', title: `Session ${i}`, tags: [mark], tenant: mark, kind: mark, folder: `/projects/${mark}` },
    { type: 'run_started', ...run },
    ...end,
  ]
  return bodies.map((body, n): LogEntry => ({ seq: n + 1, id: `${mark}-${i}-${n}`, at: at + n, ...body }))
}

function queriesFor(mark: 'rare' | 'common'): SessionQuery[] {
  const filters: SessionQuery[] = [
    { status: mark === 'rare' ? 'interrupted' : 'waiting' },
    ...(mark === 'rare' ? [{ attention: true as const }] : []),
    { tags: [mark] },
    { tenant: mark },
    { kind: mark },
    { folder: `/projects/${mark}` },
    { parent: `${mark} parent` },
    { prefix: `${mark}-` },
    ...(mark === 'common' ? [{}] : []),
  ]
  return filters.flatMap((filter) => (['updated', 'created', 'id'] as const).map((order) => ({ ...filter, order })))
}

/** Pages of both stores take turns, so that a noisy machine disturbs both alike. */
async function worstRatio(storeOf: (i: 0 | 1) => SessionStore, { isCold = false } = {}) {
  const time = async (i: 0 | 1, query: SessionQuery): Promise<number> => {
    const store = storeOf(i)
    const begun = performance.now()
    const { sessions } = await store.list({ ...query, limit: pageSize })
    const ms = performance.now() - begun
    if (sessions.length !== pageSize) throw new Error(`${JSON.stringify(query)} gave ${sessions.length} sessions`)
    if (isCold) await store.close?.()
    return ms
  }
  let worst = { ratio: 0, query: {} as SessionQuery }
  for (const mark of ['rare', 'common'] as const) {
    for (const query of queriesFor(mark)) {
      const same = { ...queriesFor('rare')[0]!, order: query.order! }
      const samples: [number[], number[]] = [[], []]
      for (let round = 0; round < (isCold ? 20 : 30); round++) {
        samples[0].push(await time(0, mark === 'rare' ? query : same))
        samples[1].push(await time(1, query))
      }
      // The best of many: what else the machine does only adds to the time.
      const ratio = Math.min(...samples[1]) / Math.min(...samples[0])
      if (ratio > worst.ratio) worst = { ratio, query }
    }
  }
  return worst
}

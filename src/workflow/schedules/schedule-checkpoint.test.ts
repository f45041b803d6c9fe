import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { begin, minute, run } from '../../../test/workflow/scheduler-kit.ts'
import type { EntryBody, LogEntry } from '../../core/log.ts'
import type { SessionStore } from '../../core/store.ts'
import { createMemoryStore } from '../../sessions/memory-store.ts'
import { fakeClock } from '../../testing/fake-clock.ts'
import { createScheduleBook } from './schedule-book.ts'
import {
  checkpointEntry,
  itemOf,
  readCheckpoint,
  type ScheduleChangeMessage,
  ScheduleLedger,
  schedulesLogId,
  stateOwner,
} from './schedule-ledger.ts'
import { ScheduleReader } from './schedule-log.ts'

const schedule = (id: string) => ({
  id,
  agentId: 'a',
  message: `Do ${id}.`,
  when: { type: 'interval' as const, everySeconds: 60 },
  createdAt: begin,
})

const changed = (key: string, change: ScheduleChangeMessage): EntryBody => {
  const { clientKey, mode, content } = itemOf(key, change)
  return { type: 'input', clientKey, mode, content }
}
const added = (id: string): EntryBody => changed(`add:${id}`, { op: 'add', schedule: schedule(id) })
const ran = (id: string, runs: number): EntryBody => ({
  type: 'state',
  owner: stateOwner(id),
  value: { of: `add:${id}`, runs, lastRunAt: begin + runs * minute },
})
const runsOf = (id: string, count: number): EntryBody[] => Array.from({ length: count }, (_, i) => ran(id, i + 1))

/** A log with given entries. */
async function written(bodies: readonly EntryBody[]) {
  const clock = fakeClock(begin + 600 * 24 * 60 * minute)
  const store = createMemoryStore({ clock })
  const entries = bodies.map((body, i): LogEntry => ({ ...body, seq: i + 1, id: `e${i + 1}`, at: begin }))
  const { epoch } = await store.lease(schedulesLogId, { owner: 'writer', ttlMs: 1000, create: true })
  await store.append(schedulesLogId, entries, { epoch, head: 0 })
  await store.lease(schedulesLogId, { owner: 'writer', ttlMs: 0, epoch })
  return { clock, store, entries }
}

/** All that a log amounts to, from its first entry on. */
function foldOf(entries: readonly LogEntry[]): ScheduleLedger {
  const ledger = new ScheduleLedger()
  for (const entry of entries) ledger.apply(entry)
  return ledger
}

/** The same store, and how many entries were read of it. */
function counted(store: SessionStore) {
  const count = { entries: 0 }
  const read: SessionStore['read'] = async (id, after) => {
    const entries = await store.read(id, after)
    count.entries += entries.length
    return entries
  }
  return { count, store: { ...store, read } }
}

describe('a long log of schedules', () => {
  test('is read from its last checkpoint on, with the same result', async () => {
    const bodies = [added('x'), added('y'), ...runsOf('x', 6000)]
    const upTo = bodies.length
    const head = foldOf((await written(bodies)).entries)
    const world = await written([
      ...bodies,
      checkpointEntry({ upTo, kept: [...head.schedules.values()] }),
      ...runsOf('y', 5),
      changed('remove:1', { op: 'remove', id: 'x' }),
    ])
    const { store, count } = counted(world.store)
    expect(await createScheduleBook({ store, clock: world.clock }).list()).toMatchObject([{ id: 'y', runs: 5 }])
    expect(count.entries).toBeLessThan(2600)
  })

  test('entries between the state of a checkpoint and its writing count', async () => {
    const bodies = [added('x'), added('y'), ...runsOf('x', 3000)]
    const kept = [...foldOf((await written(bodies)).entries).schedules.values()]
    const between = [changed('remove:1', { op: 'remove', id: 'y' }), added('z'), ran('x', 3001)]
    const world = await written([...bodies, ...between, checkpointEntry({ upTo: bodies.length, kept })])
    const ledger = await new ScheduleReader(world.store).catchUp()
    expect(ledger.schedules).toEqual(foldOf(world.entries).schedules)
    expect([...ledger.schedules.keys()]).toEqual(['x', 'z'])
    expect(ledger.schedules.get('x')).toMatchObject({ runs: 3001 })
  })

  test('a late checkpoint is used only if all entries since its state are read', async () => {
    const bodies = [added('x'), added('y'), ...runsOf('x', 100)]
    const kept = [...foldOf((await written(bodies)).entries).schedules.values()]
    const point = checkpointEntry({ upTo: bodies.length, kept })
    const { store, entries } = await written([...bodies, ...runsOf('y', 3000), point, ran('x', 101)])
    expect((await new ScheduleReader(store).catchUp()).schedules).toEqual(foldOf(entries).schedules)
  })

  test('a log without checkpoints is read completely, and gets one from its owner', async () => {
    const { clock, store, entries } = await written([added('x'), ...runsOf('x', 4000)])
    expect((await new ScheduleReader(store).catchUp()).schedules).toEqual(foldOf(entries).schedules)
    await run({ clock, store }, { wake: () => {} }).start()
    await clock.advance(0)
    const points = (await store.read(schedulesLogId)).map(readCheckpoint).filter((one) => one !== undefined)
    expect(points).toMatchObject([{ upTo: 4001, kept: [{ runs: 4000 }] }])
  })

  test.each([
    ['of a version to come', { version: 2, upTo: 3001, kept: [] }],
    ['that is none', 'nonsense'],
    ['that goes further than its place', { version: 1, upTo: 9000, kept: [] }],
    ['with what is no schedule', { version: 1, upTo: 3001, kept: [{ schedule: { id: 'x' }, runs: 1 }] }],
  ])('a checkpoint %s is passed over', async (_, value) => {
    const entry: EntryBody = { type: 'state', owner: 'schedules:book', value }
    const { store, entries } = await written([added('x'), ...runsOf('x', 3000), entry])
    const { schedules: kept } = await new ScheduleReader(store).catchUp()
    expect(kept).toEqual(foldOf(entries).schedules)
    expect(kept.get('x')).toMatchObject({ runs: 3000 })
  })

  test('with checkpoints at any position, and any entries meanwhile, nothing is lost', async () => {
    const body = fc.oneof(
      { weight: 6, arbitrary: fc.record({ op: fc.constant('ran'), id: fc.constantFrom('a', 'b', 'c') }) },
      { weight: 1, arbitrary: fc.record({ op: fc.constantFrom('add', 'remove'), id: fc.constantFrom('a', 'b', 'c') }) },
      { weight: 1, arbitrary: fc.record({ op: fc.constant('point'), id: fc.constantFrom('0', '1', '7') }) },
    )
    await fc.assert(
      fc.asyncProperty(fc.array(body, { minLength: 1, maxLength: 60 }), async (steps) => {
        const bodies: EntryBody[] = [added('x'), ...runsOf('x', 2600)]
        const ledgers = [new ScheduleLedger()]
        const ledger = new ScheduleLedger()
        const put = (entry: EntryBody): void => {
          bodies.push(entry)
        }
        const asEntry = (entry: EntryBody, seq: number): LogEntry => ({ ...entry, seq, id: `e${seq}`, at: begin })
        for (const [i, { op, id }] of steps.entries()) {
          for (let seq = ledgers.length; seq <= bodies.length; seq++) {
            ledger.apply(asEntry(bodies[seq - 1]!, seq))
            ledgers.push(new ScheduleLedger(ledger))
          }
          const upTo = Math.max(0, bodies.length - Number(id))
          if (op === 'add') put(changed(`add:${id}`, { op, schedule: schedule(id) }))
          else if (op === 'remove') put(changed(`remove:${i}`, { op, id }))
          else if (op === 'ran') put(ran(id, i))
          else put(checkpointEntry({ upTo, kept: [...ledgers[upTo]!.schedules.values()] }))
        }
        const { store, entries } = await written(bodies)
        const reader = new ScheduleReader(store)
        expect([...(await reader.catchUp()).schedules]).toEqual([...foldOf(entries).schedules])
        expect(reader.head).toBe(entries.length)
      }),
      { numRuns: 30 },
    )
  })
})

describe('the owner of the schedules', () => {
  test('a checkpoint that is too large for an entry is written too, less often, and read again', async () => {
    const big = (id: string): EntryBody =>
      changed(`add:${id}`, { op: 'add', schedule: { ...schedule(id), message: 'x'.repeat(6000) } })
    const ids = Array.from({ length: 60 }, (_, i) => `s${i}`)
    const few = await written([...ids.map(big), ...runsOf('s1', 1200)])
    await run(few, { wake: () => {} }).start()
    await few.clock.advance(0)
    const longest = async ({ store }: Pick<typeof few, 'store'>): Promise<number> =>
      Math.max(...(await store.read(schedulesLogId)).map((entry) => JSON.stringify(entry).length))
    expect(await longest(few)).toBeLessThan(10_000)
    const { clock, store } = await written([...ids.map(big), ...runsOf('s1', 4000)])
    await run({ clock, store }, { wake: () => {} }).start()
    await expect.poll(() => longest({ store }), { timeout: 10_000 }).toBeGreaterThan(256 * 1024)
    const seen = counted(store)
    const { schedules: kept } = await new ScheduleReader(seen.store).catchUp()
    expect([...kept.keys()]).toEqual(ids)
    expect(kept.get('s1')!.runs).toBeGreaterThanOrEqual(4000)
    expect([...kept.values()].every(({ schedule: { message } }) => message.length === 6000)).toBe(true)
    expect(seen.count.entries).toBeLessThan(2600)
  })

  test('a change that waits in the inbox while a checkpoint is written is neither lost nor made twice', async () => {
    const { clock, store } = await written([added('x'), ...runsOf('x', 4000)])
    const { epoch } = await store.lease(schedulesLogId, { owner: 'other', ttlMs: 1000, create: true })
    const book = createScheduleBook({ store, clock })
    await book.add({ id: 'late', agentId: 'a', message: 'Late', when: { type: 'interval', everySeconds: 60 } })
    await store.lease(schedulesLogId, { owner: 'other', ttlMs: 0, epoch })
    await run({ clock, store }, { wake: () => {} }).start()
    await book.update('late', { message: 'Later' })
    await clock.advance(0)
    const after = await createScheduleBook({ store, clock }).list()
    expect(after.map(({ id, message }) => `${id}: ${message}`)).toEqual(['x: Do x.', 'late: Later'])
    const keys = (await store.read(schedulesLogId)).flatMap((one) => (one.type === 'input' ? [one.clientKey] : []))
    expect(new Set(keys).size).toBe(keys.length)
  })
})

import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, onTestFinished, vi } from 'vitest'
import { testInTurns } from '../../test/soak.ts'
import { fakeClock } from '../testing/fake-clock.ts'
import { type ContractCase, storeContract } from '../testing/index.ts'
import { entry, until, Watcher, write } from '../testing/store-contract-kit.ts'
import { Connection } from './sqlite/connection.ts'
import { createSqliteStore } from './sqlite-store.ts'

const test = testInTurns(2)

const folder = mkdtempSync(join(tmpdir(), 'libero-sqlite-'))
afterAll(() => rmSync(folder, { recursive: true }))
let files = 0

describe.each(['FULL', 'NORMAL'] as const)('the SQLite store, synchronous %s', (synchronous) => {
  const path = (): string => join(folder, `${files}.db`)
  run(
    storeContract(
      (clock) => {
        files++
        return createSqliteStore({ path: path(), synchronous, clock })
      },
      { again: (clock) => createSqliteStore({ path: path(), synchronous, clock }) },
    ),
  )
})

test('a watcher is told at once of what is written through its own store, and of other writes when it polls', async () => {
  const clock = fakeClock(1_700_000_000_000)
  const path = join(folder, 'watched.db')
  const [store, other] = [createSqliteStore({ path, clock }), createSqliteStore({ path, clock })]
  const watcher = new Watcher(store, 's')
  await clock.advance(0)
  const epoch = await write(store, 's', 1)
  await clock.advance(0)
  expect(watcher.entries).toHaveLength(1)
  await other.append('s', [entry(2)], { epoch, head: 1 })
  await clock.advance(150)
  expect(watcher.entries).toHaveLength(1)
  await clock.advance(60)
  expect(watcher.entries).toHaveLength(2)
  await watcher.stop()
  await Promise.all([store.close(), other.close()])
  expect(clock.pending).toBe(0)
})

test('ST15 a thousand idle watchers read nothing, and only the session that another store instance changed is read', async () => {
  const clock = fakeClock(1_700_000_000_000)
  const path = join(folder, 'many.db')
  const [store, other] = [createSqliteStore({ path, clock }), createSqliteStore({ path, clock })]
  const epoch = await write(store, 's7', 1)
  const watchers = Array.from({ length: 1000 }, (_, i) => new Watcher(store, `s${i}`))
  await until(
    (ms) => clock.advance(ms),
    () => watchers[7]!.entries.length > 0,
    'the first entry',
  )
  await clock.advance(1000)
  expect(clock.pending).toBe(1) // one timer for all
  const reads = vi.spyOn(Connection.prototype, 'read')
  onTestFinished(() => reads.mockRestore())
  await clock.advance(2000)
  expect(reads).not.toHaveBeenCalled()
  await other.append('s7', [entry(2)], { epoch, head: 1 })
  await until(
    (ms) => clock.advance(ms),
    () => watchers[7]!.entries.length > 1,
    'the second entry',
  )
  // One look at all, and the watcher reads until there is nothing more.
  expect(reads.mock.calls.length).toBeLessThan(5)
  await Promise.all(watchers.map((watcher) => watcher.stop()))
  await Promise.all([store.close(), other.close()])
  expect(clock.pending).toBe(0)
})

test('nothing is opened or made before the first use, and wrong options are refused at once', () => {
  const path = join(folder, 'unused/s.db')
  createSqliteStore({ path })
  expect(existsSync(join(folder, 'unused'))).toBe(false)
  expect(() => createSqliteStore({ path: '' })).toThrow('needs the path of a file')
  expect(() => createSqliteStore({ path: ':memory:' })).toThrow('needs the path of a file')
  expect(() => createSqliteStore({ path, synchronous: 'OFF' as 'FULL' })).toThrow("'FULL' or 'NORMAL'")
})

function run(cases: readonly ContractCase[]): void {
  for (const one of cases) test(one.name, () => one.run())
}

import { expect, test } from 'vitest'
import type { SessionSummary } from '../core/store.ts'
import { fakeClock } from '../testing/index.ts'
import { type OtherJob, Quarantine } from './quarantine.ts'

const summaryOf = (given: Partial<SessionSummary>): SessionSummary => ({ id: 's', ...given }) as SessionSummary

/** A run of another session, which ends when it is left. */
function otherRun(others: Set<OtherJob>): OtherJob & { isLeft: boolean } {
  const { promise, resolve } = Promise.withResolvers<void>()
  const run = {
    isRunning: true,
    canLeave: true,
    isLeft: false,
    done: promise,
    leave() {
      run.isLeft = true
      others.delete(run)
      resolve()
    },
  }
  others.add(run)
  return run
}

test('FL23 a session that was aboard two deaths runs beside others; after three without progress it runs alone', async () => {
  const clock = fakeClock()
  const others = new Set<OtherJob>()
  const run = otherRun(others)
  const quarantine = new Quarantine({ clock, onChange() {} })
  const admit = (given: Partial<SessionSummary>) => quarantine.admit(summaryOf(given), () => [...others])
  expect(await admit({})).toBe(true)
  expect(await admit({ attention: 'owner_died' })).toBe(true)
  expect(await admit({ suspicions: 1, attention: 'owner_died' })).toBe(true)
  expect(await admit({ suspicions: 2 })).toBe(true)
  const admitted = admit({ suspicions: 2, attention: 'owner_died' })
  expect(await admit({ id: 'another', suspicions: 3 })).toBe(false) // one at a time
  await clock.advance(1000)
  expect([await admitted, run.isLeft]).toEqual([true, true])
  expect(quarantine.alone).toBe('s')
  expect(await admit({ id: 'other' })).toBe(false)
  quarantine.leave('other')
  expect(quarantine.alone).toBe('s')
  quarantine.leave('s')
  expect(await admit({ id: 'other' })).toBe(true)
})

test('FL23 a worker admits a suspect within a second: its other runs may end, and are then left to other workers', async () => {
  const clock = fakeClock()
  const others = new Set<OtherJob>()
  const run = otherRun(others)
  const quarantine = new Quarantine({ clock, onChange() {} })
  const admitted = quarantine.admit(summaryOf({ suspicions: 3 }), () => [...others])
  await clock.advance(400)
  expect(quarantine.alone).toBe('s')
  expect(run.isLeft).toBe(false)
  await clock.advance(200)
  expect(run.isLeft).toBe(true)
  expect(await admitted).toBe(true)
})

test('FL79 a run that does not end when it is left does not keep a worker from its other work', async () => {
  const clock = fakeClock()
  const stuck: OtherJob = { isRunning: true, canLeave: true, done: new Promise(() => {}), leave() {} }
  let changes = 0
  const quarantine = new Quarantine({ clock, onChange: () => void changes++ })
  const admit = () => quarantine.admit(summaryOf({ suspicions: 3 }), () => [stuck])
  const admitted = admit()
  await clock.advance(5400)
  expect(quarantine.alone).toBe('s')
  await clock.advance(200)
  expect(await admitted).toBe(false) // it is looked at again later, here or by another worker
  expect([quarantine.alone, changes]).toEqual([undefined, 1])
  await clock.advance(29_000)
  expect(await admit()).toBe(false) // at once: this worker has other work
  expect(changes).toBe(1)
})

test('FL79 a suspect waits a minute for work that cannot be left, twice as long after each further death, and then runs beside it', async () => {
  const clock = fakeClock()
  const agent: OtherJob = { isRunning: true, canLeave: false, done: new Promise(() => {}), leave() {} }
  const quarantine = new Quarantine({ clock, onChange() {} })
  const waitOf = async (suspicions: number): Promise<number> => {
    const begun = clock.now()
    while (!(await quarantine.admit(summaryOf({ suspicions }), () => [agent]))) {
      expect(quarantine.alone).toBeUndefined() // the worker goes on claiming, and another one may take it
      await clock.advance(1000)
    }
    return clock.now() - begun
  }
  expect(await waitOf(3)).toBe(60_000)
  expect(await waitOf(5)).toBe(240_000)
})

test('FL79 suspects that run beside work that cannot be left begin one after the other', async () => {
  const clock = fakeClock()
  const agent: OtherJob = { isRunning: true, canLeave: false, done: new Promise(() => {}), leave() {} }
  const quarantine = new Quarantine({ clock, onChange() {} })
  const admit = async (ids: readonly string[]): Promise<string[]> => {
    const admitted = await Promise.all(
      ids.map((id) => quarantine.admit(summaryOf({ id, suspicions: 3 }), () => [agent])),
    )
    return ids.filter((_, i) => admitted[i])
  }
  expect(await admit(['a', 'b', 'c'])).toEqual([])
  await clock.advance(60_000)
  expect(await admit(['a', 'b', 'c'])).toEqual(['a'])
  await clock.advance(4000)
  expect(await admit(['b', 'c'])).toEqual([])
  await clock.advance(1000)
  expect(await admit(['b', 'c'])).toEqual(['b'])
})

test('FL79 a suspect runs beside short work that does not end, such as a delivery to a webhook', async () => {
  const clock = fakeClock()
  const job = { isRunning: false, canLeave: false, isShort: true, done: new Promise<void>(() => {}), leave() {} }
  const quarantine = new Quarantine({ clock, onChange() {} })
  const admitted = quarantine.admit(summaryOf({ suspicions: 3 }), () => [job])
  await clock.advance(600)
  expect([await admitted, quarantine.alone]).toEqual([true, 's'])
})

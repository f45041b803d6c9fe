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
  const others = new Set<OtherJob>()
  otherRun(others)
  const quarantine = new Quarantine({ clock: fakeClock(), onChange() {} })
  const admit = (given: Partial<SessionSummary>) => quarantine.admit(summaryOf(given), () => [...others])
  expect(await admit({})).toBe(true)
  expect(await admit({ attention: 'owner_died' })).toBe(true)
  expect(await admit({ suspicions: 1, attention: 'owner_died' })).toBe(true)
  expect(await admit({ suspicions: 2 })).toBe(true)
  expect(await admit({ suspicions: 2, attention: 'owner_died' })).toBe(false)
  expect(await admit({ suspicions: 3 })).toBe(false)
  others.clear()
  expect(await admit({ suspicions: 3 })).toBe(true)
  expect(quarantine.alone).toBe('s')
  expect(await admit({ id: 'other' })).toBe(false)
  quarantine.leave('other')
  expect(quarantine.alone).toBe('s')
  quarantine.leave('s')
  expect(await admit({ id: 'other' })).toBe(true)
})

test('FL23 a suspect that found no free worker makes room: others may end, and are then left to other workers', async () => {
  const clock = fakeClock()
  const others = new Set<OtherJob>()
  const run = otherRun(others)
  const quarantine = new Quarantine({ clock, onChange() {} })
  const admit = () => quarantine.admit(summaryOf({ suspicions: 3 }), () => [...others])
  for (let tries = 0; tries < 2; tries++) expect(await admit()).toBe(false)
  const admitted = admit()
  await clock.advance(2900)
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
  for (let tries = 0; tries < 2; tries++) expect(await admit()).toBe(false)
  const admitted = admit()
  await clock.advance(7900)
  expect(quarantine.alone).toBe('s')
  await clock.advance(200)
  expect(await admitted).toBe(false) // it is looked at again later, here or by another worker
  expect([quarantine.alone, changes]).toEqual([undefined, 1])
})

test('FL79 a suspect does not wait for work that cannot be left: the worker goes on claiming, and another one may take it', async () => {
  const agent: OtherJob = { isRunning: true, canLeave: false, done: new Promise(() => {}), leave() {} }
  const quarantine = new Quarantine({ clock: fakeClock(), onChange() {} })
  for (let tries = 0; tries < 5; tries++)
    expect(await quarantine.admit(summaryOf({ suspicions: 3 }), () => [agent])).toBe(false)
  expect(quarantine.alone).toBeUndefined()
})

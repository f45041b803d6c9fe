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

test('FL23 a session that was aboard of one death runs beside others; after two without progress it runs alone', async () => {
  const others = new Set<OtherJob>()
  otherRun(others)
  const quarantine = new Quarantine({ clock: fakeClock(), onChange() {} })
  const admit = (given: Partial<SessionSummary>) => quarantine.admit(summaryOf(given), () => [...others])
  expect(await admit({})).toBe(true)
  expect(await admit({ attention: 'owner_died' })).toBe(true)
  expect(await admit({ suspicions: 1 })).toBe(true)
  expect(await admit({ suspicions: 1, attention: 'owner_died' })).toBe(false)
  expect(await admit({ suspicions: 2 })).toBe(false)
  others.clear()
  expect(await admit({ suspicions: 2 })).toBe(true)
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
  const admit = () => quarantine.admit(summaryOf({ suspicions: 2 }), () => [...others])
  for (let tries = 0; tries < 3; tries++) expect(await admit()).toBe(false)
  const admitted = admit()
  await clock.advance(9000)
  expect(quarantine.alone).toBe('s')
  expect(run.isLeft).toBe(false)
  await clock.advance(2000)
  expect(run.isLeft).toBe(true)
  expect(await admitted).toBe(true)
})

import { describe, expect, test } from 'vitest'
import type { Limits } from '../../core/behavior.ts'
import { fakeClock } from '../../testing/fake-clock.ts'
import { Account, type Reservation } from './account.ts'
import { amountsOf, Meter, nothingSpent } from './meter.ts'

const meterOf = (limits: Limits, spent = nothingSpent): Meter => new Meter(limits, spent, fakeClock(100))
const accountOf = (limits: Limits): Account => new Account(meterOf(limits), undefined)
const wanted = { input: 100, output: 500, leastOutput: 256, quote: { base: 0.001, perToken: 0.00001 } }
const taken = (account: Account, more = {}): Reservation => {
  const granted = account.reserve({ ...wanted, ...more })
  if ('refused' in granted) throw new Error(`refused: ${JSON.stringify(granted)}`)
  return granted
}

describe('an account', () => {
  test('gives what fits, then less output, then nothing', () => {
    const account = accountOf({ tokens: 1500 })
    expect(taken(account).output).toBe(500)
    expect(taken(account).output).toBe(500)
    expect(account.reserve(wanted)).toMatchObject({ refused: { limit: 'tokens', spent: 0, max: 1500 }, needs: 356 })
    expect(taken(account, { leastOutput: 200 }).output).toBe(200)
  })

  test('gives back what was not used', () => {
    const account = accountOf({ tokens: 700 })
    const first = taken(account)
    expect('refused' in account.reserve(wanted)).toBe(true)
    account.release(first, amountsOf({ input: 20, output: 10 }, 1))
    expect(taken(account).output).toBe(500)
  })

  test('never lets rounding go over a limit in dollars', () => {
    for (let i = 1; i <= 200; i++) {
      const cost = i / 7919
      const quote = { base: 1 / 9973, perToken: 1 / 99_991 }
      const granted = accountOf({ cost }).reserve({ ...wanted, output: 1_000_000, leastOutput: 1, quote })
      if ('refused' in granted) continue
      expect(quote.base + quote.perToken * granted.output).toBeLessThanOrEqual(cost)
      expect(quote.base + quote.perToken * (granted.output + 2)).toBeGreaterThan(cost)
    }
  })

  test('asks every meter up to the top, and takes from all or none', () => {
    const top = accountOf({ tokens: 1000 })
    const child = new Account(meterOf({ tokens: 650 }), top)
    expect(taken(child).output).toBe(500)
    expect('refused' in child.reserve(wanted)).toBe(true)
    expect(taken(top, { leastOutput: 300 }).output).toBe(300)
  })

  test('holds one model call for each request under way', () => {
    const account = accountOf({ turns: 2 })
    const first = taken(account)
    taken(account)
    expect(account.reserve(wanted)).toMatchObject({ refused: { limit: 'turns' } })
    account.release(first, amountsOf({ input: 0, output: 0 }, 0))
    expect(taken(account).output).toBe(500)
  })

  test('knows whether waiting for others may help, and tells when it does', async () => {
    const top = accountOf({ tokens: 700 })
    const [a, b] = [new Account(undefined, top), new Account(undefined, top)]
    const first = taken(a)
    expect([a.mayGetMore, b.mayGetMore]).toEqual([false, true])
    const changed = b.change()
    a.release(first, amountsOf({ input: 1, output: 1 }, 1))
    await changed
    expect(b.mayGetMore).toBe(false)
  })

  test('knows what no waiting will change', () => {
    const top = accountOf({ tokens: 700 })
    const tight = new Account(meterOf({ tokens: 400 }), top)
    expect(tight.mostOutput(wanted)).toBe(300)
    taken(new Account(undefined, top))
    expect(tight.mostOutput(wanted)).toBe(300)
    expect(top.mostOutput(wanted)).toBe(500) // which may come back
  })

  test('says which limit a failed attempt has exceeded', () => {
    const account = accountOf({ tokens: 700 })
    taken(account)
    expect(account.countFailed(amountsOf({ input: 100, output: 0 }, 0))).toBeUndefined()
    expect(account.countFailed(amountsOf({ input: 1, output: 0 }, 0))).toMatchObject({ limit: 'tokens', spent: 101 })
  })
})

test('a meter shows each limit that is set, cached input and earlier runs included', async () => {
  const clock = fakeClock(100)
  const before = { cost: 5_000_000, tokens: 7, turns: 1, timeMs: 40, calls: new Set(['s/1']) }
  const meter = new Meter({ cost: 1, tokens: 100, timeMs: 90, toolCalls: 3 }, before, clock)
  meter.spend(amountsOf({ input: 1, output: 2, cacheRead: 3, cacheCreation: 4, cost: 0.25 }, 1))
  await clock.advance(10)
  expect(meter.states).toEqual([
    { limit: 'cost', spent: 0.255, max: 1 },
    { limit: 'tokens', spent: 17, max: 100 },
    { limit: 'timeMs', spent: 50, max: 90 },
    { limit: 'toolCalls', spent: 1, max: 3 },
  ])
})

test('a clock that is set back gives no time back', async () => {
  let now = 1000
  const meter = new Meter({ timeMs: 100 }, nothingSpent, { now: () => now, timer: () => () => {} })
  now += 30
  expect(meter.elapsed).toBe(30)
  now -= 500
  expect(meter.elapsed).toBe(30)
  now += 40
  expect(meter.state('timeMs')).toEqual({ limit: 'timeMs', spent: 70, max: 100 })
})

test('a limit that is no whole number gives whole numbers of tokens', () => {
  expect(taken(accountOf({ tokens: 400.5 }), { leastOutput: 1 }).output).toBe(300)
})

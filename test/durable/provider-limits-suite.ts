import { expect, test } from 'vitest'
import { systemClock } from '../../src/core/clock.ts'
import { limitBook } from '../../src/durable/limit-book.ts'
import type { PostgresKit } from '../postgres-kit.ts'

/** The limits of providers in Postgres. */
export function providerLimitsTests(kit: PostgresKit): void {
  test('FL43 workers on different machines share the counts of a key, in one statement each', async () => {
    const books = [kit.openNew(kit.proxied()), kit.open(kit.proxied())].map((store) => limitBook(store, systemClock))
    await Promise.all(books.map((book) => book.take('warm "up"', 1)))
    const before = kit.proxy.statements
    // Within a minute of the server, unless it ends meanwhile: then twice as many may pass.
    const taken = await Promise.all(Array.from({ length: 30 }, (_, i) => books[i % 2]!.take('k', 10)))
    expect(kit.proxy.statements - before).toBe(30)
    const passed = taken.filter(({ waitMs }) => waitMs === 0).length
    expect([10, 20]).toContain(passed)
    for (const { waitMs, isClosed } of taken) expect(waitMs <= 60_000 && !isClosed).toBe(true)
  })

  test('FL43 a key that one worker closes is closed for the others, and opens again', async () => {
    const [one, two] = [kit.openNew(), kit.open()].map((store) => limitBook(store, systemClock))
    await one!.close('k', 60_000)
    await one!.close('k', 10) // a shorter pause does not shorten it
    const { waitMs, isClosed } = await two!.take('k', Number.POSITIVE_INFINITY)
    expect({ isClosed, isLong: waitMs > 10_000 }).toEqual({ isClosed: true, isLong: true })
    expect(await two!.list()).toMatchObject([{ key: 'k', used: 0, closedUntil: expect.any(Number) }])
    await kit.admin.unsafe(`update ${kit.schema}.provider_limit set closed = closed - 60000`)
    expect(await two!.take('k', Number.POSITIVE_INFINITY)).toEqual({ waitMs: 0, isClosed: false })
  })
}

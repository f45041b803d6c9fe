import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { randomKills } from '../../crash/kills.ts'
import { checkMutants } from '../../crash/mutants.ts'
import { playScenes } from '../../crash/scenes.ts'
import { storeKinds } from '../../crash/stores.ts'
import { sweep } from '../../crash/sweep.ts'

const cache = mkdtempSync(join(tmpdir(), 'libero-crash-cache-'))
const lanes = 4
const limit = 600_000

afterAll(() => rmSync(cache, { recursive: true, force: true }))

test.each(storeKinds)(
  'no promise is broken by a crash at any of one fifth of the failpoints, on %s; npm run crash takes them all',
  {
    timeout: limit,
  },
  async (kind) => {
    const every = { step: 5, from: Math.floor(Math.random() * 5) }
    const { points, kills, found } = await sweep({ kind, cache, lanes, every })
    expect({ every, found }).toEqual({ every, found: [] })
    expect(points).toBeGreaterThan(15)
    expect(kills).toBeGreaterThanOrEqual(points) // they did die there
  },
)

test('no promise is broken by 30 random kills', { timeout: limit }, async () => {
  const seed = Math.floor(Math.random() * 1_000_000)
  const { kills, found } = await randomKills({ kinds: storeKinds, kills: 30, seed, cache, lanes })
  expect({ seed, found }).toEqual({ seed, found: [] })
  expect(kills).toBeGreaterThanOrEqual(30)
})

test('no promise is broken by a writer that was stopped, a reader that comes late, or clocks that differ', {
  timeout: limit,
}, async () => {
  expect(await playScenes(storeKinds, cache)).toEqual([])
})

test('every seeded bug still finds its place in the sources', () => {
  checkMutants()
})

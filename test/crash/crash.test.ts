import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { randomKills } from '../../crash/kills.ts'
import { checkMutants } from '../../crash/mutants.ts'
import { playScenes, sceneNames } from '../../crash/scenes.ts'
import { storeKinds } from '../../crash/stores.ts'
import { sweep } from '../../crash/sweep.ts'
import { sampleOf } from '../soak.ts'

const cache = mkdtempSync(join(tmpdir(), 'libero-crash-cache-'))
const lanes = 4
const limit = 600_000

afterAll(() => rmSync(cache, { recursive: true, force: true }))

// `npm run crash` takes every failpoint, every scene and a thousand kills.
test.each(sampleOf(storeKinds, 1))(
  'no promise is broken by a crash at one failpoint in twelve, on %s',
  { timeout: limit },
  async (kind) => {
    const every = { step: 12, from: Math.floor(Math.random() * 12) }
    const { points, kills, found } = await sweep({ kind, cache, lanes, every })
    expect({ every, found }).toEqual({ every, found: [] })
    expect(points).toBeGreaterThan(5)
    expect(kills).toBeGreaterThanOrEqual(points) // they did die there
  },
)

test('no promise is broken by 6 random kills', { timeout: limit }, async () => {
  const seed = Math.floor(Math.random() * 1_000_000)
  const { kills, found } = await randomKills({ kinds: storeKinds, kills: 6, seed, cache, lanes })
  expect({ seed, found }).toEqual({ seed, found: [] })
  expect(kills).toBeGreaterThanOrEqual(6)
})

test('no promise is broken by a writer that was stopped, a reader that comes late, or clocks that differ', {
  timeout: limit,
}, async () => {
  expect(await playScenes(sampleOf(storeKinds, 1), cache, sampleOf(sceneNames, 3))).toEqual([])
})

test('every seeded bug still finds its place in the sources', () => {
  checkMutants()
})

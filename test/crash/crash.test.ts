import { expect, test } from 'vitest'
import { randomKills } from '../../crash/kills.ts'
import { checkMutants } from '../../crash/mutants.ts'
import { playScenes, sceneNames } from '../../crash/scenes.ts'
import { storeKinds } from '../../crash/stores.ts'
import { sweep } from '../../crash/sweep.ts'
import { sampleOf } from '../soak.ts'

const cache = process.env.NODE_COMPILE_CACHE! // of vitest.config.ts
const lanes = 4
const limit = 600_000

// `npm run crash` takes every failpoint, every scene and a thousand kills.
test.each(sampleOf(storeKinds, 1))(
  'no promise is broken by a crash at one failpoint in 40, on %s',
  { timeout: limit },
  async (kind) => {
    const every = { step: 40, from: Math.floor(Math.random() * 40) }
    const { points, kills, found } = await sweep({ kind, cache, lanes, every })
    expect({ every, found }).toEqual({ every, found: [] })
    expect(points).toBeGreaterThan(1)
    expect(kills).toBeGreaterThanOrEqual(points) // they did die there
  },
)

test('no promise is broken by 3 random kills', { timeout: limit }, async () => {
  const seed = Math.floor(Math.random() * 1_000_000)
  const { kills, found } = await randomKills({ kinds: storeKinds, kills: 3, seed, cache, lanes: 2 })
  expect({ seed, found }).toEqual({ seed, found: [] })
  expect(kills).toBeGreaterThanOrEqual(3)
})

test('no promise is broken by a writer that was stopped, a reader that comes late, or clocks that differ', {
  timeout: limit,
}, async () => {
  expect(await playScenes(sampleOf(storeKinds, 1), cache, sampleOf(sceneNames, 2))).toEqual([])
})

test('every seeded bug still finds its place in the sources', () => {
  checkMutants()
})

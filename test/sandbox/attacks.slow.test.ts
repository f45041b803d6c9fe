import { expect, test } from 'vitest'
import { skipped, unavailable } from '../bubblewrap-kit.ts'
import { rounds, sampleOf } from '../soak.ts'
import type { KnownLeak } from './attack.ts'
import { attackClasses, attacks } from './attacks.ts'
import { missingPrograms } from './harness.ts'
import { isStoppedByRule, measureAttack, type PlaceName, places } from './measure.ts'
import { machinePath } from './scene.ts'

const needed = 81
const here = attacks.filter(({ needs }) => missingPrograms(needs, machinePath).length === 0)
for (const { class: kind, name, needs } of attacks.filter((attack) => !here.includes(attack)))
  console.warn(`NOT TRIED, ${kind}, ${name}: ${missingPrograms(needs, machinePath).join(', ')} is not installed`)

test(`W01 there are at least ${needed} attacks, each by another name in its class`, () => {
  expect(here.length).toBeGreaterThan(needed)
  for (const { attacks: all, name } of attackClasses)
    expect(`${name}: ${new Set(all.map((one) => one.name)).size}`).toBe(`${name}: ${all.length}`)
})

/** An attack without effect proves nothing when a sandbox stops it, so it must have one without, in the same run. */
test.skipIf(unavailable)(
  `W01 no attack of a sample gets past a sandbox or past an agent without a question, but for the known ones${skipped}`,
  { timeout: 3_600_000 },
  async () => {
    const sample = sampleOf(here, 4)
    const [dead, escaped]: [string[], string[]] = [[], []]
    const known = new Set<KnownLeak>()
    for (const attack of sample) {
      const name = `${attack.class}, ${attack.name}`
      const tried = sampleOf(Object.keys(places) as PlaceName[], rounds(3, Infinity))
      const { counts, leaks } = await measureAttack(attack, tried)
      if (!counts) dead.push(name)
      for (const [place, found] of Object.entries(leaks))
        if (attack.known) known.add(attack.known)
        else escaped.push(`${name}: ${found.join(', ')} in ${place}`)
    }
    expect(escaped).toEqual([])
    expect(known.size).toBeLessThanOrEqual(6)
    // Some depend on the kernel and on the user.
    expect(dead.length, `without effect: ${dead.join('; ')}`).toBeLessThanOrEqual(Math.max(1, sample.length * 0.1))
    expect(sample.length - dead.length).toBeGreaterThanOrEqual(rounds(1, needed))
  },
)

test.skipIf(unavailable)(
  `W01 a deny rule stops two of the six known ones${skipped}`,
  { timeout: 120_000 },
  async () => {
    const ruled = here.filter(({ hidden }) => hidden)
    expect(new Set(ruled.map(({ known }) => known)).size).toBe(2)
    for (const attack of sampleOf(ruled, 1))
      expect(`${attack.name}: ${await isStoppedByRule(attack)}`).toContain('true')
  },
)

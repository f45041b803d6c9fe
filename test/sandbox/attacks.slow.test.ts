import { expect, test } from 'vitest'
import { skipped, unavailable } from '../bubblewrap-kit.ts'
import { isSoak, sampleOf } from '../soak.ts'
import { attacksHere, neededAttacks, testAttacks } from './attack-sweep.ts'
import { attackClasses, attacks } from './attacks.ts'
import { missingPrograms } from './harness.ts'
import { isStoppedByRule } from './measure.ts'
import { machinePath } from './scene.ts'

for (const { class: kind, name, needs } of attacks.filter((attack) => !attacksHere.includes(attack)))
  console.warn(`NOT TRIED, ${kind}, ${name}: ${missingPrograms(needs, machinePath).join(', ')} is not installed`)

test(`W01 there are at least ${neededAttacks} attacks, each by another name in its class`, () => {
  expect(attacksHere.length).toBeGreaterThan(neededAttacks)
  for (const { attacks: all, name } of attackClasses)
    expect(`${name}: ${new Set(all.map((one) => one.name)).size}`).toBe(`${name}: ${all.length}`)
})

testAttacks(0, { whole: isSoak })

test.skipIf(unavailable)(
  `W01 a deny rule stops two of the six known ones${skipped}`,
  { timeout: 120_000 },
  async () => {
    const ruled = attacksHere.filter(({ hidden }) => hidden)
    expect(new Set(ruled.map(({ known }) => known)).size).toBe(2)
    for (const attack of sampleOf(ruled, 1))
      expect(`${attack.name}: ${await isStoppedByRule(attack)}`).toContain('true')
  },
)

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

test('no attack signals processes but those of its scene: it also runs without a sandbox, perhaps as root', () => {
  const scripts = attacks.flatMap(({ line, setup = '', cleanup = '', later = '' }) => [line, setup, cleanup, later])
  const wide = [
    /\bkill\b[^;&|\n]*\s-?[01]\b(?!\d)/,
    /os\.kill(pg)?\(-?[01]\b/,
    /\bkillall\b/,
    /\bpkill\b(?![^;&|\n]*@ID)/,
  ]
  for (const dangerous of [
    'kill -9 -1',
    'kill -STOP 1; true',
    'kill -- -1',
    'os.kill(-1, 9)',
    'pkill -9 node',
    'killall sh',
  ])
    expect(wide.some((pattern) => pattern.test(dangerous))).toBe(true)
  expect(scripts.filter((script) => wide.some((pattern) => pattern.test(script)))).toEqual([])
})

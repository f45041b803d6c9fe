import { expect, test } from 'vitest'
import { skipped, unavailable } from '../bubblewrap-kit.ts'
import { rounds, sampleOf } from '../soak.ts'
import type { KnownLeak } from './attack.ts'
import { attacks } from './attacks.ts'
import { missingPrograms } from './harness.ts'
import { measureAttack, type PlaceName, places } from './measure.ts'
import { machinePath } from './scene.ts'

export const neededAttacks = 81

/** The attacks whose programs this machine has. */
export const attacksHere: typeof attacks = attacks.filter(
  ({ needs }) => missingPrograms(needs, machinePath).length === 0,
)

/**
 * The attacks in two halves, each in a file of its own, so that two processes try them: one try changes the environment of its
 * process, so that a process makes one at a time.
 */
export const halvesOfAttacks: readonly (typeof attacks)[] = [0, 1].map((half) =>
  attacksHere.filter((_, i) => i % 2 === half),
)

const triesOfEach = rounds(3, Object.keys(places).length)
/** One takes about 0.1 s on a quiet machine; with much other work there, ten times that and more. */
const msOfTry = 4_000

/** An attack without effect proves nothing when a sandbox stops it, so it must have one without, in the same run. */
export function testAttacks(sample: typeof attacks): void {
  test.skipIf(unavailable)(
    `W01 no attack of a sample gets past a sandbox or past an agent without a question, but for the known ones${skipped}`,
    { timeout: 60_000 + sample.length * (triesOfEach + 1) * msOfTry },
    async () => {
      const [dead, escaped]: [string[], string[]] = [[], []]
      const known = new Set<KnownLeak>()
      for (const attack of sample) {
        const name = `${attack.class}, ${attack.name}`
        const tried = sampleOf(Object.keys(places) as PlaceName[], triesOfEach)
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
      expect(sample.length - dead.length).toBeGreaterThanOrEqual(rounds(1, neededAttacks))
    },
  )
}

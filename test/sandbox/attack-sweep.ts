import { afterAll, expect, test } from 'vitest'
import { skipped, unavailable } from '../bubblewrap-kit.ts'
import { rounds, sampleOf } from '../soak.ts'
import { attacks } from './attacks.ts'
import { missingPrograms } from './harness.ts'
import { measureAttack, type PlaceName, places } from './measure.ts'
import { machinePath } from './scene.ts'

export const neededAttacks = 81

/** The attacks whose programs this machine has. */
export const attacksHere: typeof attacks = attacks.filter(
  ({ needs }) => missingPrograms(needs, machinePath).length === 0,
)

const triesOfEach = rounds(3, Object.keys(places).length)
/** One takes about 0.1 s on a quiet machine; with much other work there, ten times that and more. */
const msOfTry = 4_000

/**
 * Tries one half of the attacks: a sample of it or, in `npm run soak`, all of it, with a test for each class. Each half
 * is a file of its own, so that two processes try them: one try changes the environment of its process, so that a process
 * makes one at a time.
 */
export function testAttacks(half: 0 | 1, { whole }: { readonly whole: boolean }): void {
  const all = attacksHere.filter((_, i) => i % 2 === half)
  if (!whole) {
    testSome('of a sample', sampleOf(all, 2))
    return
  }
  const ended: Ended[] = []
  for (const kind of new Set(all.map((attack) => attack.class)))
    testSome(
      `of "${kind}"`,
      all.filter((attack) => attack.class === kind),
      ended,
    )
  const sum = (count: (one: Ended) => number): number => ended.reduce((total, one) => total + count(one), 0)
  afterAll(() => {
    const known = new Set(ended.flatMap((one) => one.known))
    const numbers = `${sum(({ tried }) => tried)} tried in ${triesOfEach} places, ${sum(({ counted }) => counted)} with an effect without a sandbox, ${sum(({ escaped }) => escaped)} escaped`
    console.log(`attacks, half ${half + 1}: ${numbers}; known: ${[...known].join(', ')}`)
  })
  test.skipIf(unavailable)(`W01 at least ${neededAttacks} attacks have an effect without a sandbox${skipped}`, () => {
    expect(sum(({ counted }) => counted)).toBeGreaterThanOrEqual(neededAttacks)
  })
}

interface Ended {
  readonly tried: number
  readonly counted: number
  readonly escaped: number
  readonly known: readonly string[]
}

/** An attack without effect proves nothing when a sandbox stops it, so it must have one without, in the same run. */
function testSome(which: string, some: typeof attacks, ended: Ended[] = []): void {
  test.skipIf(unavailable)(
    `W01 no attack ${which} gets past a sandbox or past an agent without a question, but for the known ones${skipped}`,
    { timeout: 60_000 + some.length * (triesOfEach + 1) * msOfTry },
    async () => {
      const [dead, escaped, known]: [string[], string[], string[]] = [[], [], []]
      for (const attack of some) {
        const name = `${attack.class}, ${attack.name}`
        const tried = sampleOf(Object.keys(places) as PlaceName[], triesOfEach)
        const { counts, leaks } = await measureAttack(attack, tried)
        if (!counts) dead.push(name)
        for (const [place, found] of Object.entries(leaks))
          if (attack.known) known.push(attack.known)
          else escaped.push(`${name}: ${found.join(', ')} in ${place}`)
      }
      ended.push({ tried: some.length, counted: some.length - dead.length, escaped: escaped.length, known })
      expect(escaped).toEqual([])
      // Some depend on the kernel and on the user.
      expect(dead.length, `without effect: ${dead.join('; ')}`).toBeLessThanOrEqual(Math.max(1, some.length * 0.1))
    },
  )
}

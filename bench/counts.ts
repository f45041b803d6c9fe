import type { Outcome } from '../test/damage/outcome.ts'
import type { Result } from './measure.ts'

/** So many cases of each kind, with these seeds. */
export const cases = 200
export const seedOf = (n: number): number => n * 7919

/** What is promised of a kind: none wrong, and at least so many of a hundred exact, as many as before there was a promise. */
export type Goals = Readonly<Record<string, number>>

/** Counts what becomes of each kind, and prints it. */
export function countKinds(goals: Goals, outcomeOf: (kind: string, seed: number) => Outcome): Result[] {
  console.log(`     ${'kind'.padEnd(62)}  exact  refused  wrong  (goal)`)
  return Object.entries(goals).map(([kind, goal]) => {
    const counts: Record<Outcome, number> = { exact: 0, refused: 0, wrong: 0 }
    for (let n = 0; n < cases; n++) counts[outcomeOf(kind, seedOf(n))]++
    const value = (counts.exact * 100) / cases
    const ok = counts.wrong === 0 && value >= goal
    const shown = [counts.exact, counts.refused, counts.wrong].map((count, i) => String(count).padStart([7, 9, 7][i]!))
    console.log(`${ok ? 'ok  ' : 'MISS'} ${kind.padEnd(62)}${shown.join('')}  (${(goal * cases) / 100})`)
    return { name: `exact: ${kind}`, value, goal, ok }
  })
}

import { expect, test } from 'vitest'
import type { ContractCase } from '../src/testing/index.ts'

/** A good implementation with one thing broken, and the case that must notice. */
export type Mutants<Subject> = Record<string, [noticed: string, wrap: (good: Subject) => Subject]>

/** Tests that each mutant fails the case that is there for it, in words with `message` if that is given. */
export function catches<Subject>(
  mutants: Mutants<Subject>,
  contract: (wrap: (good: Subject) => Subject) => ContractCase[],
  message: string | typeof Error = Error,
): void {
  test.concurrent.each(Object.entries(mutants))('%s', async (_, [noticed, wrap]) => {
    const one = contract(wrap).find(({ name }) => name === noticed)
    if (!one) throw new Error(`The contract has no case "${noticed}"`)
    await expect(one.run()).rejects.toThrow(message)
  })
}

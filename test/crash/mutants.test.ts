import { expect, test } from 'vitest'
import { checkMutants } from '../../crash/mutants.ts'

test('every mutant still finds its place in the source', () => {
  expect(() => checkMutants()).not.toThrow()
})

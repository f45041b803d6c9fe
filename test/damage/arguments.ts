import { isDeepStrictEqual } from 'node:util'
import type { JsonSchema } from '../../src/core/tool.ts'
import { argumentDamages } from './argument-damages.ts'
import { sample } from './arguments-samples.ts'
import type { Outcome } from './outcome.ts'
import { Random } from './random.ts'

/** The names of all kinds of damage. */
export const argumentKinds: readonly string[] = Object.keys(argumentDamages)

/** Damaged arguments, the schema of their tool, and what they should become. */
export interface ArgumentCase {
  readonly text: string
  readonly schema: JsonSchema
  readonly meant: Record<string, unknown> | undefined
}

/** One case of a kind. The seeds after this one are tried where the arguments of this one have nothing to damage. */
export function argumentCase(kind: string, seed: number): ArgumentCase {
  for (let next = seed; ; next++) {
    const random = new Random(next)
    const { value, schema } = sample(random)
    const found = argumentDamages[kind]!({ value, schema }, random)
    const damaged = typeof found === 'string' ? { text: found, meant: value } : found
    if (damaged && ('isJson' in damaged || !isJson(damaged.text))) return { schema, ...damaged }
  }
}

/** Damage that leaves JSON behind cannot be seen, whatever it did. */
function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/** Reads arguments as the engine does: `undefined` for a refusal. */
export type ReadCase = (one: Pick<ArgumentCase, 'text' | 'schema'>) => Record<string, unknown> | undefined

/** What a reader makes of a case. */
export function argumentOutcome(one: ArgumentCase, read: ReadCase): Outcome {
  const input = read(one)
  if (input === undefined) return 'refused'
  return one.meant !== undefined && isDeepStrictEqual(input, one.meant) ? 'exact' : 'wrong'
}

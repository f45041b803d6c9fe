import { Validator } from '@cfworker/json-schema'
import { longestArray } from './json-size.ts'
import { type Fault, faultText } from './schema-faults.ts'
import { readSchema } from './schema-problem.ts'
import { TookTooLong, withinTime } from './within-time.ts'

/** What is wrong with a value; undefined when it fits. `unclear`: it could not be found out within reason. */
export type SchemaCheck = (value: unknown) => { readonly error: string; readonly unclear?: true } | undefined

/** A wall clock is coarse on a busy machine, and what is meant to hang takes for ever anyway. */
const longestCheck = 500

/** Every item is compared with every other. */
const mostCompared = 500

/**
 * A check by interpretation, never by generated code; undefined for a schema that must not be used, see `schemaProblem`.
 * The value must be bounded JSON, see `json-size.ts`.
 */
export function schemaCheck(schema: unknown): SchemaCheck | undefined {
  const read = readSchema(schema)
  if ('problem' in read) return undefined
  const { checkable, draft } = read
  if (checkable === true) return () => undefined
  // It writes into what it is given, which is our own copy.
  const validatorFor = (given: unknown): Validator => new Validator(given as object, draft)
  let whole: Validator | undefined
  let withoutComparing: Validator | undefined
  return (value) => {
    try {
      const isLong = longestArray(value) > mostCompared
      if (isLong) withoutComparing ??= validatorFor(withoutUnique(checkable))
      else whole ??= validatorFor(checkable)
      const validator = (isLong ? withoutComparing : whole)!
      const { valid, errors } = withinTime(() => validator.validate(value), longestCheck)
      return valid ? undefined : { error: faultText(errors as readonly Fault[]) }
    } catch (error) {
      const why = error instanceof TookTooLong ? 'that took too long' : 'that was too much'
      return {
        error: `it could not be held against the schema: ${why}; send less, or something simpler`,
        unclear: true,
      }
    }
  }
}

function withoutUnique(schema: unknown): unknown {
  return JSON.parse(
    JSON.stringify(schema, (key, value) => (key === 'uniqueItems' && value === true ? undefined : value)),
  )
}

import { Validator } from '@cfworker/json-schema'
import { copyJson } from '../core/turn.ts'

/** One violation of a schema, in the words of the validator. */
export interface SchemaViolation {
  readonly keyword: string
  readonly instanceLocation: string
  readonly error: string
}

export interface SchemaValidatorOptions {
  readonly draft?: '7' | '2019-09' | '2020-12'
  /** Default: the violations of all parts are listed. */
  readonly stopsAtFirst?: boolean
}

/**
 * A validator for a whole JSON Schema, nested parts included. It interprets the schema and never generates code. Returns
 * the violations of a value, or undefined; throws for a schema that it cannot use. Load this file only when it is needed.
 */
export function createSchemaValidator(
  schema: object | boolean,
  { draft = '2020-12', stopsAtFirst = false }: SchemaValidatorOptions = {},
): (value: unknown) => readonly SchemaViolation[] | undefined {
  // The validator writes into the schema it is given.
  const validator = new Validator(copyJson(schema) as object, draft, stopsAtFirst)
  return (value) => {
    const { valid, errors } = validator.validate(value)
    return valid ? undefined : errors
  }
}

/** The last and most specific violation as a text. */
export function worstViolation(violations: readonly SchemaViolation[]): string {
  const worst = violations.at(-1)
  return worst ? `${worst.instanceLocation} ${worst.error}` : 'it does not match the schema'
}

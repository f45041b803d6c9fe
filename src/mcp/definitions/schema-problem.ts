import { isRecord } from '../../core/is-record.ts'
import { type Checkable, checkableSchema, UnusableSchema } from './checkable-schema.ts'
import type { PatternBudget } from './pattern-problem.ts'
import { boundsProblem } from './schema-bounds.ts'
import { checkEffort } from './schema-effort.ts'

/**
 * Why a schema of a server must not be used, as "it has more than 10000 parts"; undefined when it may be. `budget` is for
 * judging the patterns of several schemas together: each takes from it what it needs.
 */
export function schemaProblem(schema: unknown, budget?: PatternBudget): string | undefined {
  const read = readSchema(schema, budget)
  return 'problem' in read ? read.problem : undefined
}

/** A schema made ready for a validator, or why it is not. Nothing of it is run, compiled or fetched. */
export function readSchema(
  schema: unknown,
  budget: PatternBudget = { steps: mostPatternSteps },
): { readonly problem: string } | { readonly checkable: Checkable; readonly draft: Draft } {
  if (!isRecord(schema)) return { problem: 'it is not an object' }
  const problem = boundsProblem(schema)
  if (problem !== undefined) return { problem }
  const own = { steps: Math.min(budget.steps, mostPatternSteps) }
  budget.steps -= own.steps
  try {
    const checkable = checkableSchema(schema, own)
    checkEffort(checkable)
    return { checkable, draft: draftOf(schema) }
  } catch (error) {
    if (error instanceof UnusableSchema) return { problem: error.message }
    throw error
  } finally {
    budget.steps += Math.max(0, own.steps)
  }
}

/** Honest patterns take some hundreds. */
const mostPatternSteps = 100_000

export type Draft = '7' | '2019-09' | '2020-12'

/** The dialect a schema says it is written in. */
function draftOf({ $schema }: Readonly<Record<string, unknown>>): Draft {
  if (typeof $schema !== 'string') return '2020-12'
  if (/\/draft-0[467]\/schema#?$/.test($schema)) return '7'
  return /\/2019-09\/schema#?$/.test($schema) ? '2019-09' : '2020-12'
}

import { isRecord } from '../../core/is-record.ts'
import { type Checkable, checkableSchema, UnusableSchema } from './checkable-schema.ts'
import type { PatternBudget } from './pattern-problem.ts'
import { boundsProblem, type JsonBounds } from './untrusted-data.ts'

/**
 * Why a schema of a server must not be used, such as "it has more than 10000 parts"; undefined if it may be used. `budget`
 * limits the effort for the patterns of several schemas together.
 */
export function schemaProblem(schema: unknown, budget?: PatternBudget): string | undefined {
  const read = readSchema(schema, budget)
  return 'problem' in read ? read.problem : undefined
}

/** A schema prepared for the validator, or why it is refused. Nothing of it is run, compiled or fetched. */
export function readSchema(
  schema: unknown,
  budget: PatternBudget = { steps: mostPatternSteps },
): { readonly problem: string } | { readonly checkable: Checkable; readonly draft: Draft } {
  if (!isRecord(schema)) return { problem: 'it is not an object' }
  const problem = schemaBoundsProblem(schema)
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

/** Ordinary patterns take some hundreds. */
const mostPatternSteps = 100_000

type Draft = '7' | '2019-09' | '2020-12'

/** The dialect that the schema declares. */
function draftOf({ $schema }: Readonly<Record<string, unknown>>): Draft {
  if (typeof $schema !== 'string') return '2020-12'
  if (/\/draft-0[467]\/schema#?$/.test($schema)) return '7'
  return /\/2019-09\/schema#?$/.test($schema) ? '2019-09' : '2020-12'
}

/** Why a value is too large for a schema, or no JSON. */
export const schemaBoundsProblem = (value: unknown): string | undefined => boundsProblem(value, schemaBounds)

const schemaBounds: JsonBounds = {
  depth: 64,
  nodes: 10_000,
  characters: 256 * 1024,
  keyProblem: (key) => (key === '__proto__' ? '' : undefined),
  mustBeJson: true,
}

const mostBranches = 10_000
const longestChain = 200

/**
 * Throws `UnusableSchema` if one value would be checked too often: by nested choices, which multiply by `$ref`, or by a
 * `$ref` that leads back to itself without descending into the value.
 */
function checkEffort(root: Checkable): void {
  if (!isRecord(root)) return
  const targets = root.$defs as Readonly<Record<string, Checkable>>
  const known = new Map<object, Effort>()
  const open = new Set<object>()

  /** `chain` is the depth of the recursion, limited to protect the stack. */
  function effortOf(schema: unknown, chain: number): Effort {
    if (!isRecord(schema)) return { branches: 1, length: 1 }
    const before = known.get(schema)
    if (before) return before
    if (open.has(schema)) throw new UnusableSchema('it refers to itself without an end')
    if (chain > longestChain) throw tooLong()
    open.add(schema)
    let branches = 1
    let length = 0
    for (const part of partsInPlace(schema, targets)) {
      const effort = effortOf(part, chain + 1)
      branches += effort.branches
      length = Math.max(length, effort.length)
    }
    open.delete(schema)
    if (branches > mostBranches)
      throw new UnusableSchema(`it offers more than ${mostBranches} combinations for one value`)
    if (length >= longestChain) throw tooLong()
    const effort = { branches, length: length + 1 }
    known.set(schema, effort)
    return effort
  }

  const waiting: unknown[] = [root]
  for (let value = waiting.pop(); value !== undefined; value = waiting.pop()) {
    if (typeof value !== 'object' || value === null) continue
    if (isRecord(value)) effortOf(value, 0)
    waiting.push(...Object.values(value))
  }
}

interface Effort {
  /** How many schemas one value is checked against. */
  readonly branches: number
  readonly length: number
}

const tooLong = (): UnusableSchema =>
  new UnusableSchema(`it has a chain of more than ${longestChain} references or choices`)

/** The subschemas that check the same value. */
function partsInPlace(schema: Record<string, unknown>, targets: Readonly<Record<string, Checkable>>): unknown[] {
  const { $ref, not, if: condition, then, else: otherwise, allOf, anyOf, oneOf } = schema
  const parts: unknown[] = [not, condition, then, otherwise]
  if (typeof $ref === 'string') parts.push(targets[$ref.slice('#/$defs/'.length)])
  for (const list of [allOf, anyOf, oneOf]) if (Array.isArray(list)) parts.push(...list)
  if (isRecord(schema.dependentSchemas)) parts.push(...Object.values(schema.dependentSchemas))
  return parts.filter((part) => part !== undefined)
}

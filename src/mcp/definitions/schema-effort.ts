import { isRecord } from '../../core/is-record.ts'
import { type Checkable, UnusableSchema } from './checkable-schema.ts'

const mostBranches = 10_000
const longestChain = 200

/**
 * Throws `UnusableSchema` when one value would have to be looked at too often: through choices of choices, which multiply
 * by `$ref`, or through a `$ref` that comes back to itself without going into the value.
 */
export function checkEffort(root: Checkable): void {
  if (!isRecord(root)) return
  const targets = root.$defs as Readonly<Record<string, Checkable>>
  const known = new Map<object, Effort>()
  const open = new Set<object>()

  /** `chain` is how far we have come: a long one must end before the stack does. */
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
  /** Schemas that one value is held against. */
  readonly branches: number
  readonly length: number
}

const tooLong = (): UnusableSchema =>
  new UnusableSchema(`it has a chain of more than ${longestChain} references or choices`)

/** The schemas that look at the same value as this one. */
function partsInPlace(schema: Record<string, unknown>, targets: Readonly<Record<string, Checkable>>): unknown[] {
  const { $ref, not, if: condition, then, else: otherwise, allOf, anyOf, oneOf } = schema
  const parts: unknown[] = [not, condition, then, otherwise]
  if (typeof $ref === 'string') parts.push(targets[$ref.slice('#/$defs/'.length)])
  for (const list of [allOf, anyOf, oneOf]) if (Array.isArray(list)) parts.push(...list)
  if (isRecord(schema.dependentSchemas)) parts.push(...Object.values(schema.dependentSchemas))
  return parts.filter((part) => part !== undefined)
}

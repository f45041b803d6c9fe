import { isRecord } from '../../core/is-record.ts'
import { copyJson } from '../../core/turn.ts'
import { type PatternBudget, patternProblem } from './pattern-problem.ts'

/** A schema for the validator: only known keywords, with values of the expected type. */
export type Checkable = boolean | Readonly<Record<string, unknown>>

/** Thrown by `checkableSchema`; the message begins with "it". */
export class UnusableSchema extends Error {}

/**
 * A copy of a bounded schema with only what is checked. Each target of a `$ref` is moved to `$defs`. Ids are removed,
 * because a validator might follow them, and so is `format`, an annotation that can be slow to check. Throws
 * `UnusableSchema` for refs that lead outside or nowhere, and for patterns that may run forever.
 */
export function checkableSchema(root: unknown, budget: PatternBudget): Checkable {
  const find = refsOf(root)
  const names = new Map<object, string>()
  const waiting: { readonly name: string; readonly schema: object }[] = []

  function copied(schema: unknown): Checkable {
    if (typeof schema === 'boolean') return schema
    if (!isRecord(schema)) return true
    const copy: Record<string, unknown> = {}
    for (const [keyword, value] of Object.entries(schema)) {
      const kept = Object.hasOwn(readers, keyword) ? readers[keyword]!(value) : undefined
      if (kept !== undefined) copy[keyword] = kept
    }
    if (isRecord(schema.dependencies)) {
      // Draft 7 has one keyword for both.
      const [required, schemas] = partition(schema.dependencies, (one) => texts(one) !== undefined)
      copy.dependentRequired = { ...required, ...(copy.dependentRequired ?? {}) }
      copy.dependentSchemas = { ...mapped(schemas, copied), ...(copy.dependentSchemas ?? {}) }
    }
    for (const keyword of refKeywords) if (schema[keyword] !== undefined) copy.$ref = refTo(schema[keyword])
    if (typeof schema.pattern === 'string' && isUsable(schema.pattern)) copy.pattern = schema.pattern
    // With an unreadable pattern it is unknown which names it covers.
    if (isRecord(schema.patternProperties) && !Object.keys(schema.patternProperties).every(isUsable)) {
      delete copy.patternProperties
      delete copy.additionalProperties
      delete copy.unevaluatedProperties
    }
    return copy
  }

  function refTo(ref: unknown): string {
    const found = find(ref)
    if (!found) {
      const what = typeof ref === 'string' ? JSON.stringify(ref.slice(0, 100)) : typeof ref
      throw new UnusableSchema(`it refers to ${what}, which is not a part of it; nothing is fetched for a schema`)
    }
    const { target } = found
    if (!isRecord(target)) return target === false ? '#/$defs/never' : '#/$defs/always'
    const name = names.get(target) ?? `r${names.size}`
    if (!names.has(target)) {
      names.set(target, name)
      waiting.push({ name, schema: target })
    }
    return `#/$defs/${name}`
  }

  function isUsable(pattern: string): boolean {
    const problem = patternProblem(pattern, budget)
    if (problem !== undefined && problem !== 'unreadable') throw new UnusableSchema(`it has ${problem}`)
    return problem === undefined
  }

  const list = (value: unknown): unknown => (Array.isArray(value) ? value.map(copied) : undefined)
  const fullList = (value: unknown): unknown => (Array.isArray(value) && value.length > 0 ? list(value) : undefined)
  const map = (value: unknown): unknown => (isRecord(value) ? mapped(value, copied) : undefined)
  const readers: Record<string, (value: unknown) => unknown> = {
    ...plainReaders,
    ...Object.fromEntries(schemaKeywords.map((keyword) => [keyword, copied])),
    items: (value) => (Array.isArray(value) ? list(value) : copied(value)),
    prefixItems: list,
    allOf: fullList,
    anyOf: fullList,
    oneOf: fullList,
    properties: map,
    patternProperties: map,
    dependentSchemas: map,
  }

  const top = copied(root)
  if (typeof top === 'boolean') return top
  const $defs: Record<string, Checkable> = { always: true, never: false }
  for (let one = waiting.pop(); one; one = waiting.pop()) $defs[one.name] = copied(one.schema)
  return { ...top, $defs }
}

const refKeywords = ['$recursiveRef', '$dynamicRef', '$ref']

const schemaKeywords = [
  ...['additionalItems', 'unevaluatedItems', 'contains', 'additionalProperties', 'unevaluatedProperties'],
  ...['propertyNames', 'not', 'if', 'then', 'else'],
]

/** The copy has no prototype, because a property may have any name. */
function mapped(record: Record<string, unknown>, change: (value: unknown) => unknown): Record<string, unknown> {
  const copy: Record<string, unknown> = Object.create(null)
  for (const [key, value] of Object.entries(record)) copy[key] = change(value)
  return copy
}

/** The entries that pass, and the others. */
function partition(record: Record<string, unknown>, passes: (value: unknown) => boolean): [Named, Named] {
  const entries = Object.entries(record)
  return [
    Object.fromEntries(entries.filter(([, value]) => passes(value))),
    Object.fromEntries(entries.filter(([, value]) => !passes(value))),
  ]
}

type Named = Record<string, unknown>

const number = (value: unknown): unknown => (Number.isFinite(value) ? value : undefined)
const texts = (value: unknown): unknown =>
  Array.isArray(value) && value.every((one) => typeof one === 'string') ? [...value] : undefined
const isType = (value: unknown): boolean => typeof value === 'string' && types.has(value)
const types = new Set(['string', 'number', 'integer', 'boolean', 'object', 'array', 'null'])

/** A value of another type, such as `required: true` in old schemas, is left out. */
const plainReaders: Record<string, (value: unknown) => unknown> = {
  type: (value) => (isType(value) || (Array.isArray(value) && value.every(isType)) ? copyJson(value) : undefined),
  enum: (value) => (Array.isArray(value) ? copyJson(value) : undefined),
  const: copyJson,
  required: texts,
  dependentRequired: (value) => (isRecord(value) ? mapped(value, (one) => texts(one) ?? []) : undefined),
  uniqueItems: (value) => (value === true ? true : undefined),
  ...Object.fromEntries(
    [
      ...['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf', 'minLength', 'maxLength'],
      ...['minItems', 'maxItems', 'minContains', 'maxContains', 'minProperties', 'maxProperties'],
    ].map((keyword) => [keyword, number]),
  ),
}

/** Resolves the `$ref`s of a document, inside that document only. */
function refsOf(root: unknown): (ref: unknown) => { readonly target: unknown } | undefined {
  let anchors: Map<string, unknown> | undefined
  return (ref) => {
    if (typeof ref !== 'string' || !ref.startsWith('#')) return undefined
    const pointer = decoded(ref.slice(1))
    if (pointer === undefined) return undefined
    if (pointer === '') return { target: root }
    if (pointer.startsWith('/')) return follow(root, pointer)
    anchors ??= anchorsOf(root)
    return anchors.has(pointer) ? { target: anchors.get(pointer) } : undefined
  }
}

function follow(root: unknown, pointer: string): { readonly target: unknown } | undefined {
  let target = root
  for (const step of pointer.slice(1).split('/')) {
    const key = step.replaceAll('~1', '/').replaceAll('~0', '~')
    if (typeof target !== 'object' || target === null || !Object.hasOwn(target, key)) return undefined
    target = (target as Record<string, unknown>)[key]
  }
  return { target }
}

function anchorsOf(root: unknown): Map<string, unknown> {
  const anchors = new Map<string, unknown>()
  const waiting = [root]
  for (let value = waiting.pop(); value !== undefined; value = waiting.pop()) {
    if (typeof value !== 'object' || value === null) continue
    if (isRecord(value))
      for (const name of [value.$anchor, value.$dynamicAnchor])
        if (typeof name === 'string' && !anchors.has(name)) anchors.set(name, value)
    waiting.push(...Object.values(value))
  }
  return anchors
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

import { setOwn } from '../core/turn.ts'

export type SchemaNode = Readonly<Record<string, unknown>>

/** A schema that is being rewritten. It may come from a stranger, so there is only so much to spend on it. */
export interface Rewriting {
  readonly root: SchemaNode
  /** The references that are being put in place. */
  readonly inside: string[]
  /** How many schemas may still be looked at. */
  nodes: number
  /** Hears that the outcome allows more than the original. */
  onLoosened(): void
}

const mostHops = 20

/** The root as an object without alternatives, which is all that a call's arguments can be; `undefined` when it is none. */
export function objectOf(value: unknown, on: Rewriting, hops = 0): SchemaNode | undefined {
  if (isNode(value) && value.type === 'object' && isNode(value.properties) && !notAtRoot.some((key) => key in value))
    return value
  const { anyOf, oneOf, enum: literals, const: literal, not: _, ...node } = flat(value, on, hops)
  const types = typesOf(node.type)
  const isObject = types.length === 0 ? value !== false : types.includes('object')
  const only = literal !== undefined ? [literal] : literals
  if (!isObject || (Array.isArray(only) && !only.some(isNode))) return undefined
  let made: SchemaNode = node
  for (const union of [anyOf, oneOf]) {
    if (!Array.isArray(union)) continue
    const branches = union.map((branch) => objectOf(branch, on, hops + 1)).filter(isNode)
    if (branches.length === 0 && types.length === 0) return undefined
    if (branches.length === 0) continue
    if (branches.filter(({ properties }) => Object.keys(nodeOf(properties)).length > 0).length > 1) on.onLoosened()
    made = both(made, oneOfThese(branches))
  }
  return { ...made, type: 'object', properties: nodeOf(made.properties) }
}

const notAtRoot = ['$ref', 'allOf', 'anyOf', 'oneOf', 'enum', 'const', 'not']

/** The same schema with its reference and its `allOf` resolved, at its top only. */
export function flat(value: unknown, on: Rewriting, hops = 0): SchemaNode {
  if (!isNode(value) || hops > mostHops || --on.nodes < 0) return {}
  if (value.$ref !== undefined) {
    const { $ref, ...beside } = value
    const target = resolve(on.root, $ref)
    if (target === undefined) on.onLoosened()
    else on.inside.push(String($ref))
    return flat({ ...nodeOf(target), ...beside }, on, hops + 1)
  }
  if (!Array.isArray(value.allOf)) return value
  const { allOf, ...rest } = value
  return allOf.map((part) => flat(part, on, hops + 1)).reduce(both, rest)
}

/** What a local reference points to. */
export function resolve(root: SchemaNode, ref: unknown): unknown {
  if (typeof ref !== 'string' || !/^#(\/|$)/.test(ref)) return undefined
  let value: unknown = root
  for (const part of ref.split('/').slice(1)) {
    const key = unescaped(part)
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined
    value = (value as SchemaNode)[key]
  }
  return value
}

function unescaped(part: string): string {
  try {
    return decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~')
  } catch {
    return part
  }
}

/** What fits both, near enough: where they differ on a keyword the first counts. */
export function both(a: SchemaNode, b: SchemaNode): SchemaNode {
  const properties = { ...nodeOf(a.properties) }
  for (const [key, schema] of Object.entries(nodeOf(b.properties))) {
    const first = Object.hasOwn(properties, key) ? properties[key] : schema
    setOwn(properties, key, isNode(first) && isNode(schema) ? { ...schema, ...first } : first)
  }
  const required = [...new Set([...namesIn(a.required), ...namesIn(b.required)])]
  const isClosed = a.additionalProperties === false || b.additionalProperties === false
  return {
    ...b,
    ...a,
    ...((a.properties ?? b.properties) !== undefined && { properties }),
    ...(required.length > 0 && { required }),
    ...(isClosed && { additionalProperties: false }),
  }
}

/** One object for several: what any of them has, and required only what all of them require. */
function oneOfThese(branches: readonly SchemaNode[]): SchemaNode {
  const known = new Map<string, unknown[]>()
  for (const { properties } of branches)
    for (const [key, schema] of Object.entries(nodeOf(properties))) {
      const schemas = known.get(key) ?? []
      if (!schemas.some((one) => isAlike(one, schema))) schemas.push(schema)
      known.set(key, schemas)
    }
  const [first, ...others] = branches.map(({ required }) => new Set(namesIn(required)))
  const required = [...(first ?? [])].filter((key) => others.every((names) => names.has(key)))
  const properties = Object.fromEntries([...known].map(([key, schemas]) => [key, anyOfThese(schemas)]))
  return { properties, ...(required.length > 0 && { required }) }
}

function anyOfThese(schemas: readonly unknown[]): unknown {
  if (schemas.length === 1) return schemas[0]
  // The property that tells the kinds apart reads best as one list.
  const literals = schemas.map((schema) => (isNode(schema) && 'const' in schema ? [schema.const] : nodeOf(schema).enum))
  if (!literals.every(Array.isArray)) return { anyOf: schemas }
  const types = new Set(schemas.flatMap((schema) => typesOf(nodeOf(schema).type)))
  return { ...(types.size === 1 && { type: [...types][0] }), enum: [...new Set(literals.flat())] }
}

const isAlike = (a: unknown, b: unknown): boolean => a === b || (isNode(a) && isNode(b) && isSame(a, b))

/** The types that exist, however they were written. */
export function typesOf(type: unknown): string[] {
  const names = [type].flat().flatMap((name) => (typeof name === 'string' ? [name.toLowerCase()] : []))
  return [...new Set(names)].filter((name) => knownTypes.has(name))
}

const knownTypes = new Set(['object', 'array', 'string', 'number', 'integer', 'boolean', 'null'])

export const isNode = (value: unknown): value is SchemaNode =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

export const nodeOf = (value: unknown): SchemaNode => (isNode(value) ? value : {})

export const namesIn = (value: unknown): string[] =>
  Array.isArray(value) ? [...new Set(value.filter((name) => typeof name === 'string'))] : []

/** Whether two objects hold the very same values. */
export function isSame(a: SchemaNode, b: SchemaNode): boolean {
  const keys = Object.keys(a)
  return keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && a[key] === b[key])
}

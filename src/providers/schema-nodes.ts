import { isRecord } from '../core/is-record.ts'
import { setOwn } from '../core/turn.ts'

export type SchemaNode = Readonly<Record<string, unknown>>

/** The state of rewriting one schema. It may come from an untrusted server, so the work on it is limited. */
export interface RewriteBudget {
  readonly root: SchemaNode
  /** The references that are currently being replaced. */
  readonly inside: string[]
  /** How many schemas may still be visited. */
  nodes: number
  /** Called when the result allows more than the original. */
  onLoosened(): void
}

const maxHops = 20

/** The root as one object without alternatives, as the arguments of a call must be; `undefined` if it cannot be an object. */
export function asPlainObject(value: unknown, on: RewriteBudget, hops = 0): SchemaNode | undefined {
  if (isNode(value) && value.type === 'object' && isNode(value.properties) && !notAtRoot.some((key) => key in value))
    return value
  const { anyOf, oneOf, enum: literals, const: literal, not: _, ...node } = flatten(value, on, hops)
  const types = typesOf(node.type)
  const isObject = types.length === 0 ? value !== false : types.includes('object')
  const only = literal !== undefined ? [literal] : literals
  if (!isObject || (Array.isArray(only) && !only.some(isNode))) return undefined
  let object: SchemaNode = node
  for (const union of [anyOf, oneOf]) {
    if (!Array.isArray(union)) continue
    const branches = union.map((branch) => asPlainObject(branch, on, hops + 1)).filter(isNode)
    if (branches.length === 0 && types.length === 0) return undefined
    if (branches.length === 0) continue
    if (branches.filter(({ properties }) => Object.keys(nodeOf(properties)).length > 0).length > 1) on.onLoosened()
    object = intersect(object, unionOfObjects(branches))
  }
  return { ...object, type: 'object', properties: nodeOf(object.properties) }
}

const notAtRoot = ['$ref', 'allOf', 'anyOf', 'oneOf', 'enum', 'const', 'not']

/** The schema with its own `$ref` and `allOf` resolved; nested schemas are unchanged. */
export function flatten(value: unknown, on: RewriteBudget, hops = 0): SchemaNode {
  if (!isNode(value) || hops > maxHops || --on.nodes < 0) return {}
  if (value.$ref !== undefined) {
    const { $ref, ...beside } = value
    const target = resolve(on.root, $ref)
    if (target === undefined) on.onLoosened()
    else on.inside.push(String($ref))
    return flatten({ ...nodeOf(target), ...beside }, on, hops + 1)
  }
  if (!Array.isArray(value.allOf)) return value
  const { allOf, ...rest } = value
  return allOf.map((part) => flatten(part, on, hops + 1)).reduce(intersect, rest)
}

/** The target of a local reference. */
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

/** An approximate intersection: where both have a keyword, the first one wins. */
export function intersect(a: SchemaNode, b: SchemaNode): SchemaNode {
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

/** One object for several: the properties of all, of which those are required that all require. */
function unionOfObjects(branches: readonly SchemaNode[]): SchemaNode {
  const schemasByKey = new Map<string, unknown[]>()
  for (const { properties } of branches)
    for (const [key, schema] of Object.entries(nodeOf(properties))) {
      const schemas = schemasByKey.get(key) ?? []
      if (!schemas.some((other) => isAlike(other, schema))) schemas.push(schema)
      schemasByKey.set(key, schemas)
    }
  const [first, ...others] = branches.map(({ required }) => new Set(namesIn(required)))
  const required = [...(first ?? [])].filter((key) => others.every((names) => names.has(key)))
  const properties = Object.fromEntries([...schemasByKey].map(([key, schemas]) => [key, unionOfSchemas(schemas)]))
  return { properties, ...(required.length > 0 && { required }) }
}

function unionOfSchemas(schemas: readonly unknown[]): unknown {
  if (schemas.length === 1) return schemas[0]
  // A discriminator reads best as one list of values.
  const literals = schemas.map((schema) => (isNode(schema) && 'const' in schema ? [schema.const] : nodeOf(schema).enum))
  if (!literals.every(Array.isArray)) return { anyOf: schemas }
  const types = new Set(schemas.flatMap((schema) => typesOf(nodeOf(schema).type)))
  return { ...(types.size === 1 && { type: [...types][0] }), enum: [...new Set(literals.flat())] }
}

const isAlike = (a: unknown, b: unknown): boolean => a === b || (isNode(a) && isNode(b) && isSame(a, b))

/** The valid type names, in lower case. */
export function typesOf(type: unknown): string[] {
  const names = [type].flat().flatMap((name) => (typeof name === 'string' ? [name.toLowerCase()] : []))
  return [...new Set(names)].filter((name) => knownTypes.has(name))
}

const knownTypes = new Set(['object', 'array', 'string', 'number', 'integer', 'boolean', 'null'])

export const isNode = (value: unknown): value is SchemaNode => isRecord(value)

export const nodeOf = (value: unknown): SchemaNode => (isNode(value) ? value : {})

export const namesIn = (value: unknown): string[] =>
  Array.isArray(value) ? [...new Set(value.filter((name) => typeof name === 'string'))] : []

/** Whether two objects hold identical values. */
export function isSame(a: SchemaNode, b: SchemaNode): boolean {
  const keys = Object.keys(a)
  return keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && a[key] === b[key])
}

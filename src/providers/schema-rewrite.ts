import { wellFormed } from '../core/plain-json.ts'
import {
  flatten,
  intersect,
  isNode,
  namesIn,
  nodeOf,
  type RewriteBudget,
  type SchemaNode,
  typesOf,
} from './schema-nodes.ts'
import type { SchemaCount, SchemaRules } from './schema-rules.ts'

/** The state of adapting one schema. */
export interface AdaptationPass extends RewriteBudget {
  readonly rules: SchemaRules
  readonly changes: (readonly [path: string, rule: string])[]
  readonly counts: Record<SchemaCount, number>
  /** How many schemas may still be copied in place of references. */
  copies: number
  /** The service cannot be given this shape. */
  isLost: boolean
}

const maxChanges = 200

export function recordChange(pass: AdaptationPass, path: string, rule: string): void {
  if (pass.changes.length < maxChanges) pass.changes.push([path, rule])
}

export const addText = (text: unknown, more: string): string =>
  wellFormed(typeof text === 'string' && text !== '' ? `${text}\n${more}` : more)

/** Replaces old keywords by those of JSON Schema 2020-12, and keywords that the service does not read by ones it does. */
export function rewriteKeywords(node: SchemaNode, pass: AdaptationPass): SchemaNode {
  const { keywords } = pass.rules
  let rewritten = node
  if (Array.isArray(rewritten.items)) {
    const { items, additionalItems, ...rest } = rewritten
    rewritten = { ...rest, prefixItems: items, ...(additionalItems !== undefined && { items: additionalItems }) }
  }
  if (!keywords) return rewritten
  if (Array.isArray(rewritten.allOf) && rewritten.$ref === undefined) rewritten = withoutAllOf(rewritten, pass)
  if (rewritten.$ref !== undefined) return rewritten
  if (rewritten.oneOf !== undefined && !keywords.has('oneOf')) {
    const { oneOf, ...rest } = rewritten
    rewritten = { anyOf: oneOf, ...rest }
  }
  if (isNode(rewritten.properties))
    for (const union of ['anyOf', 'oneOf']) rewritten = distributeUnion(rewritten, union, pass)
  if (rewritten.prefixItems !== undefined && !keywords.has('prefixItems')) {
    const { prefixItems, items: _, ...rest } = rewritten
    rewritten = { ...rest, items: { anyOf: prefixItems } }
  }
  if (rewritten.const !== undefined && !keywords.has('const')) {
    const { const: literal, ...rest } = rewritten
    rewritten = { ...rest, enum: [literal] }
  }
  return withType(rewritten)
}

/** An `allOf` with one reference becomes that reference, with the annotations beside it. */
function withoutAllOf(node: SchemaNode, on: RewriteBudget): SchemaNode {
  const { allOf, ...rest } = node
  const [only, ...others] = allOf as unknown[]
  if (others.length === 0 && isNode(only) && typeof only.$ref === 'string' && Object.keys(only).length === 1)
    return { ...only, ...rest }
  return flatten(node, on)
}

/** Copies the common properties of an object into each branch of its union; otherwise a closed branch would forbid them. */
function distributeUnion(node: SchemaNode, union: string, pass: AdaptationPass): SchemaNode {
  const { [union]: branches, ...common } = node
  if (!Array.isArray(branches)) return node
  const kinds = branches.map((branch) => flatten(branch, pass))
  // Mostly such a union only says which properties go together.
  if (!kinds.some(({ properties }) => isNode(properties))) return common
  pass.copies -= Object.keys(nodeOf(common.properties)).length * kinds.length
  if (pass.copies < 0) {
    pass.onLoosened()
    return common
  }
  const { title, description, ...rest } = common
  return {
    ...(title !== undefined && { title }),
    ...(description !== undefined && { description }),
    [union]: kinds.map((kind) => intersect(kind, rest)),
  }
}

/** Adds the type that the schema implies: services that read few keywords need it. */
function withType(node: SchemaNode): SchemaNode {
  const declared = typesOf(node.type)
  const types = declared.length > 0 ? declared : impliedTypes(node)
  const isNullable = node.nullable === true && types.length > 0 && !types.includes('null')
  if (isNullable) return { ...node, type: [...types, 'null'] }
  if (declared.length > 0 || types.length === 0) return node
  return { ...node, type: types.length === 1 ? types[0] : types }
}

function impliedTypes(node: SchemaNode): string[] {
  if (isNode(node.properties)) return ['object']
  if (node.items !== undefined || node.prefixItems !== undefined) return ['array']
  const literals = 'const' in node ? [node.const] : Array.isArray(node.enum) ? node.enum : []
  return typesOf(literals.map((literal) => (literal === null ? 'null' : typeof literal)))
}

/** Adds, in place, what the service requires of a schema. */
export function addRequirements(
  adapted: Record<string, unknown>,
  original: SchemaNode,
  pass: AdaptationPass,
  path: string,
): void {
  const { rules } = pass
  if (rules.needsItems && adapted.items === undefined && typesOf(adapted.type).includes('array')) {
    adapted.items = {}
    recordChange(pass, path, 'items')
  }
  if (path === '' && rules.propertyName) describeOddNames(adapted, rules.propertyName, pass)
  if (!rules.keywords) return
  if (Array.isArray(adapted.enum)) rewriteEnum(adapted, adapted.enum, pass, path)
  if (Array.isArray(adapted.required)) {
    const declared = adapted.required.filter((name) => Object.hasOwn(nodeOf(adapted.properties), name))
    if (declared.length < adapted.required.length) {
      adapted.required = declared
      recordChange(pass, path, 'required')
    }
  }
  if (rules.isClosed) closeObject(adapted, original, pass, path)
}

/** Properties with names that the service refuses move into the description, so the model can still use them. */
function describeOddNames(adapted: Record<string, unknown>, pattern: RegExp, pass: AdaptationPass): void {
  const properties = nodeOf(adapted.properties)
  const odd = Object.keys(properties).filter((name) => !pattern.test(name))
  if (odd.length === 0) return
  const required = namesIn(adapted.required)
  for (const name of odd) recordChange(pass, '/properties', `property name ${JSON.stringify(name.slice(0, 100))}`)
  const described = odd.slice(0, maxDescribed).map((name) => {
    const schema = JSON.stringify(properties[name]).slice(0, 300)
    return `${JSON.stringify(name.slice(0, 200))}${required.includes(name) ? ' (required)' : ''}: ${schema}`
  })
  adapted.properties = Object.fromEntries(Object.entries(properties).filter(([name]) => pattern.test(name)))
  if (adapted.required !== undefined) adapted.required = required.filter((name) => pattern.test(name))
  delete adapted.additionalProperties
  adapted.description = addText(adapted.description, `Further properties: ${described.join('; ')}`)
}

const maxDescribed = 20

/** Describes an `enum` that the service cannot read in words; a `null` in it becomes a union. */
function rewriteEnum(
  adapted: Record<string, unknown>,
  literals: readonly unknown[],
  pass: AdaptationPass,
  path: string,
): void {
  const { isLiteral } = pass.rules
  pass.counts.literals += literals.length
  if (!isLiteral || literals.every(isLiteral)) return
  recordChange(pass, path, 'enum')
  delete adapted.enum
  const rest = literals.filter((literal) => literal !== null)
  if (rest.length > 0 && rest.every(isLiteral) && adapted.anyOf === undefined) {
    const types = typesOf(adapted.type).filter((type) => type !== 'null')
    delete adapted.type
    adapted.anyOf = [
      { ...(types.length > 0 && { type: types.length === 1 ? types[0] : types }), enum: rest },
      { type: 'null' },
    ]
  } else if (literals.every((literal) => typeof literal !== 'object' || literal === null))
    adapted.description = addText(adapted.description, `(one of: ${JSON.stringify(literals).slice(0, 1000)})`)
}

/** Closes every object. A schema that is open, or says nothing, cannot be expressed. */
function closeObject(adapted: Record<string, unknown>, original: SchemaNode, pass: AdaptationPass, path: string): void {
  const { counts, rules } = pass
  const types = typesOf(adapted.type)
  const saysNothing =
    types.length === 0 && !('const' in adapted) && adapted.enum === undefined && adapted.anyOf === undefined
  if (saysNothing || (types.includes('array') && adapted.items === undefined)) pass.onLoosened()
  if (!types.includes('object')) return
  const properties = nodeOf(adapted.properties)
  const names = Object.keys(properties)
  const isOpen =
    adapted.additionalProperties === undefined ? names.length === 0 : adapted.additionalProperties !== false
  if (isOpen || original.patternProperties !== undefined) pass.onLoosened()
  if (adapted.additionalProperties !== false) recordChange(pass, path, 'additionalProperties')
  adapted.properties ??= properties
  adapted.additionalProperties = false
  const required = new Set(namesIn(adapted.required))
  counts.properties += names.length
  counts.levels = Math.max(counts.levels, path.split('/properties/').length)
  counts.optional += names.length - required.size
  for (const name of names) {
    const { anyOf, type } = nodeOf(properties[name])
    if (anyOf !== undefined || Array.isArray(type)) counts.unions++
  }
  if (!rules.isAllRequired || required.size === names.length) return
  recordChange(pass, path, 'required')
  adapted.required = names
  adapted.properties = Object.fromEntries(
    Object.entries(properties).map(([name, schema]) => [name, required.has(name) ? schema : nullable(nodeOf(schema))]),
  )
}

function nullable(schema: SchemaNode): SchemaNode {
  const types = typesOf(schema.type)
  const { anyOf, enum: literals } = schema
  if (types.includes('null')) return schema
  if (Array.isArray(anyOf))
    return anyOf.some((one) => nodeOf(one).type === 'null')
      ? schema
      : { ...schema, anyOf: [...anyOf, { type: 'null' }] }
  if (types.length === 0 || 'const' in schema) return { anyOf: [schema, { type: 'null' }] }
  return { ...schema, type: [...types, 'null'], ...(Array.isArray(literals) && { enum: [...literals, null] }) }
}

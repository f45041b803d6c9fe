import { flawOf, maxNesting, wellFormed } from '../core/plain-json.ts'
import type { JsonSchema } from '../core/tool.ts'
import { setOwn } from '../core/turn.ts'
import { asPlainObject, isNode, isSame, namesIn, nodeOf, resolve, type SchemaNode, typesOf } from './schema-nodes.ts'
import { type AdaptationPass, addRequirements, addText, recordChange, rewriteKeywords } from './schema-rewrite.ts'
import {
  describedConstraints,
  keywordKinds,
  type SchemaCount,
  type SchemaDialect,
  type SchemaRules,
  schemaRules,
  type ToolDialect,
} from './schema-rules.ts'

/** Called for each change, with a JSON pointer and the name of the rule. */
type OnSchemaChange = (path: string, rule: string) => void

/**
 * The schema as a service accepts it; the same object if nothing had to change. What the service cannot read is loosened,
 * so the output must be checked against the original. `undefined`: the service cannot answer in this shape.
 */
export function adaptSchema(schema: JsonSchema, dialect: ToolDialect, onChange?: OnSchemaChange): JsonSchema
export function adaptSchema(
  schema: JsonSchema,
  dialect: SchemaDialect,
  onChange?: OnSchemaChange,
): JsonSchema | undefined
export function adaptSchema(
  schema: JsonSchema,
  dialect: SchemaDialect,
  onChange?: OnSchemaChange,
): JsonSchema | undefined {
  const root = isNode(schema) ? schema : noSchema
  let byDialect = adaptedSchemas.get(root)
  if (!byDialect) adaptedSchemas.set(root, (byDialect = new Map()))
  let adapted = byDialect.get(dialect)
  if (!adapted) byDialect.set(dialect, (adapted = adapt(root, schemaRules[dialect])))
  if (onChange) for (const [path, rule] of adapted.changes) onChange(path, rule)
  return adapted.schema
}

interface AdaptedSchema {
  readonly schema: JsonSchema | undefined
  readonly changes: AdaptationPass['changes']
}

const adaptedSchemas = new WeakMap<JsonSchema, Map<SchemaDialect, AdaptedSchema>>()
const noSchema: SchemaNode = Object.freeze({ type: 'nothing' })

/** Enough for ten thousand properties; a hostile schema exceeds it. */
const maxNodes = 30_000

function adapt(root: SchemaNode, rules: SchemaRules): AdaptedSchema {
  const pass: AdaptationPass = {
    ...{ rules, root, changes: [], inside: [], nodes: maxNodes, copies: 2000, isLost: false },
    counts: { properties: 0, literals: 0, levels: 0, optional: 0, unions: 0 },
    onLoosened() {
      // A tool's input is checked in any case, but the shape of an output is promised to the caller.
      if (rules.isClosed) pass.isLost = true
    },
  }
  const object = asPlainObject(root, pass)
  pass.inside.length = 0
  pass.nodes = maxNodes
  if (object !== root) recordChange(pass, '', 'root')
  const schema = adaptNode(object ?? { type: 'object', properties: {} }, pass, '', 0)
  for (const [count, max] of Object.entries(rules.limits ?? {}))
    if (pass.counts[count as SchemaCount] > max) pass.isLost = true
  return { schema: pass.isLost ? undefined : schema, changes: pass.changes }
}

function adaptNode(value: unknown, pass: AdaptationPass, path: string, depth: number): SchemaNode {
  const { rules, inside } = pass
  if (!isNode(value)) return loosened(pass, path, 'boolean', value === false && !rules.keywords ? { not: {} } : {})
  if (pass.isLost) return value // it will not be used
  const isTooMuch = depth > maxNesting || --pass.nodes < 0 || (inside.length > 0 && --pass.copies < 0)
  if (isTooMuch) return loosened(pass, path, 'too-large', {})
  const outside = inside.length
  const node = rewriteKeywords(value, pass)
  if (node !== value) recordChange(pass, path, 'rewritten')
  const adapted = node.$ref === undefined ? adaptKeywords(node, pass, path, depth) : adaptRef(node, pass, path, depth)
  inside.length = outside
  return isSame(value, adapted) ? value : adapted
}

function loosened(pass: AdaptationPass, path: string, rule: string, schema: SchemaNode): SchemaNode {
  recordChange(pass, path, rule)
  pass.onLoosened()
  return schema
}

function adaptKeywords(node: SchemaNode, pass: AdaptationPass, path: string, depth: number): SchemaNode {
  const result: Record<string, unknown> = {}
  const limits: string[] = []
  for (const [key, value] of Object.entries(node)) {
    if (value === undefined) continue
    const adapted = adaptKeyword(key, value, pass, `${path}/${pointer(key)}`, depth + 1)
    if (adapted !== undefined) setOwn(result, key, adapted)
    const isLeaf = key === 'type' || key === 'required'
    if (adapted === undefined || (isLeaf && adapted !== value)) recordChange(pass, path, key)
    if (adapted === undefined && pass.rules.keywords && describedConstraints.has(key) && typeof value !== 'object')
      limits.push(`${key}: ${String(value).slice(0, 100)}`)
  }
  if (limits.length > 0) result.description = addText(result.description, `(${limits.join(', ')})`)
  addRequirements(result, node, pass, path)
  return result
}

const pointer = (key: string): string => key.replaceAll('~', '~0').replaceAll('/', '~1')

/** The adapted value of a keyword; `undefined` if it is dropped. */
function adaptKeyword(key: string, value: unknown, pass: AdaptationPass, path: string, depth: number): unknown {
  const { keywords, formats, maxMinItems } = pass.rules
  if (keywords && !keywords.has(key)) return undefined
  if (key === 'format' && formats && !formats.has(value as string)) return undefined
  if (key === 'minItems' && maxMinItems !== undefined && (value as number) > maxMinItems) return undefined
  switch (keywordKinds[key]) {
    case 'nothing':
      return undefined
    case 'text':
      return typeof value === 'string' ? wellFormed(value) : undefined
    case 'number':
      return Number.isFinite(value) ? value : undefined
    case 'count':
      return Number.isInteger(value) && (value as number) >= 0 ? value : undefined
    case 'flag':
      return typeof value === 'boolean' ? value : undefined
    case 'list':
      return Array.isArray(value) && value.length > 0 && isWritable(value) ? value : undefined
    case 'names':
      return sameList(value, namesIn(value))
    case 'type':
      return typeof value === 'string' ? typesOf(value)[0] : sameList(value, typesOf(value))
    case 'open':
      return typeof value === 'boolean' ? value : adaptNode(value, pass, path, depth)
    case 'schema':
      return adaptNode(value, pass, path, depth)
    case 'schemas':
      if (!Array.isArray(value) || value.length === 0) return undefined
      return sameList(
        value,
        value.map((schema, i) => adaptNode(schema, pass, `${path}/${i}`, depth)),
      )
    case 'map': {
      if (!isNode(value)) return undefined
      const adapted = Object.fromEntries(
        Object.entries(value).map(([name, schema]) => [
          name,
          adaptNode(schema, pass, `${path}/${pointer(name)}`, depth),
        ]),
      )
      return isSame(value, adapted) ? value : adapted
    }
    default:
      return isWritable(value) ? value : undefined
  }
}

/** Data that is nested too deeply cannot be written as JSON. */
const isWritable = (value: unknown): boolean =>
  typeof value !== 'object' || value === null || flawOf(value) !== 'too deep'

/** The original list if it is the same; `undefined` if it is not a list, or if nothing is left of it. */
function sameList(original: unknown, adapted: readonly unknown[]): unknown {
  if (!Array.isArray(original) || (adapted.length === 0 && original.length > 0)) return undefined
  return original.length === adapted.length && adapted.every((entry, i) => entry === original[i]) ? original : adapted
}

function adaptRef(node: SchemaNode, pass: AdaptationPass, path: string, depth: number): SchemaNode {
  const { $ref: ref, ...beside } = node
  const target = resolve(pass.root, ref)
  const { besideRef } = pass.rules
  if (typeof ref !== 'string' || target === undefined) {
    recordChange(pass, path, '$ref')
    return adaptNode(beside, pass, path, depth + 1)
  }
  if (besideRef && isNode(target) && /^#(\/(\$defs|definitions)\/[^/]+)?$/.test(ref)) {
    const rest = Object.entries(beside).filter(([key]) => besideRef(key))
    if (rest.length < Object.keys(beside).length) recordChange(pass, path, 'beside $ref')
    return { $ref: ref, ...(rest.length > 0 && adaptNode(Object.fromEntries(rest), pass, path, depth + 1)) }
  }
  recordChange(pass, path, '$ref')
  if (pass.inside.includes(ref))
    return loosened(pass, path, 'recursion', nodeOf(target).type === 'object' ? { type: 'object' } : {})
  pass.inside.push(ref)
  return adaptNode(isNode(target) ? { ...target, ...beside } : target, pass, path, depth + 1)
}

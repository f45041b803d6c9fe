import { deepest, flawOf, wellFormed } from '../core/plain-json.ts'
import type { JsonSchema } from '../core/tool.ts'
import { setOwn } from '../core/turn.ts'
import { asPlainObject, isNode, isSame, namesIn, nodeOf, resolve, type SchemaNode, typesOf } from './schema-nodes.ts'
import { addRequirements, addText, type LoweringPass, recordChange, rewriteKeywords } from './schema-rewrite.ts'
import {
  describedConstraints,
  keywordKinds,
  type SchemaCount,
  type SchemaDialect,
  type SchemaRules,
  schemaRules,
  type ToolDialect,
} from './schema-rules.ts'

export type { OutputDialect, SchemaDialect, ToolDialect } from './schema-rules.ts'

/** Called for each change, with a JSON pointer and the name of the rule. */
type OnSchemaChange = (path: string, rule: string) => void

/**
 * The schema as a service accepts it; the same object if nothing had to change. What the service cannot read is loosened,
 * so the output must be checked against the original. `undefined`: the service cannot answer in this shape.
 */
export function lowerSchema(schema: JsonSchema, dialect: ToolDialect, onChange?: OnSchemaChange): JsonSchema
export function lowerSchema(
  schema: JsonSchema,
  dialect: SchemaDialect,
  onChange?: OnSchemaChange,
): JsonSchema | undefined
export function lowerSchema(
  schema: JsonSchema,
  dialect: SchemaDialect,
  onChange?: OnSchemaChange,
): JsonSchema | undefined {
  const root = isNode(schema) ? schema : noSchema
  let byDialect = lowered.get(root)
  if (!byDialect) lowered.set(root, (byDialect = new Map()))
  let kept = byDialect.get(dialect)
  if (!kept) byDialect.set(dialect, (kept = lower(root, schemaRules[dialect])))
  if (onChange) for (const [path, rule] of kept.changes) onChange(path, rule)
  return kept.schema
}

interface Lowered {
  readonly schema: JsonSchema | undefined
  readonly changes: LoweringPass['changes']
}

const lowered = new WeakMap<JsonSchema, Map<SchemaDialect, Lowered>>()
const noSchema: SchemaNode = Object.freeze({ type: 'nothing' })

/** Enough for ten thousand properties; a hostile schema exceeds it. */
const maxNodes = 30_000

function lower(root: SchemaNode, rules: SchemaRules): Lowered {
  const pass: LoweringPass = {
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
  const schema = lowerNode(object ?? { type: 'object', properties: {} }, pass, '', 0)
  for (const [count, max] of Object.entries(rules.limits ?? {}))
    if (pass.counts[count as SchemaCount] > max) pass.isLost = true
  return { schema: pass.isLost ? undefined : schema, changes: pass.changes }
}

function lowerNode(value: unknown, pass: LoweringPass, path: string, depth: number): SchemaNode {
  const { rules, inside } = pass
  if (!isNode(value)) return loosened(pass, path, 'boolean', value === false && !rules.keywords ? { not: {} } : {})
  if (pass.isLost) return value // it will not be used
  const isTooMuch = depth > deepest || --pass.nodes < 0 || (inside.length > 0 && --pass.copies < 0)
  if (isTooMuch) return loosened(pass, path, 'too-large', {})
  const outside = inside.length
  const node = rewriteKeywords(value, pass)
  if (node !== value) recordChange(pass, path, 'rewritten')
  const made = node.$ref === undefined ? lowerKeywords(node, pass, path, depth) : lowerRef(node, pass, path, depth)
  inside.length = outside
  return isSame(value, made) ? value : made
}

function loosened(pass: LoweringPass, path: string, rule: string, schema: SchemaNode): SchemaNode {
  recordChange(pass, path, rule)
  pass.onLoosened()
  return schema
}

function lowerKeywords(node: SchemaNode, pass: LoweringPass, path: string, depth: number): SchemaNode {
  const made: Record<string, unknown> = {}
  const limits: string[] = []
  for (const [key, given] of Object.entries(node)) {
    if (given === undefined) continue
    const kept = lowerKeyword(key, given, pass, `${path}/${pointer(key)}`, depth + 1)
    if (kept !== undefined) setOwn(made, key, kept)
    const isLeaf = key === 'type' || key === 'required'
    if (kept === undefined || (isLeaf && kept !== given)) recordChange(pass, path, key)
    if (kept === undefined && pass.rules.keywords && describedConstraints.has(key) && typeof given !== 'object')
      limits.push(`${key}: ${String(given).slice(0, 100)}`)
  }
  if (limits.length > 0) made.description = addText(made.description, `(${limits.join(', ')})`)
  addRequirements(made, node, pass, path)
  return made
}

const pointer = (key: string): string => key.replaceAll('~', '~0').replaceAll('/', '~1')

/** The lowered value of a keyword; `undefined` if it is dropped. */
function lowerKeyword(key: string, value: unknown, pass: LoweringPass, path: string, depth: number): unknown {
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
      return typeof value === 'boolean' ? value : lowerNode(value, pass, path, depth)
    case 'schema':
      return lowerNode(value, pass, path, depth)
    case 'schemas':
      if (!Array.isArray(value) || value.length === 0) return undefined
      return sameList(
        value,
        value.map((one, i) => lowerNode(one, pass, `${path}/${i}`, depth)),
      )
    case 'map': {
      if (!isNode(value)) return undefined
      const made = Object.fromEntries(
        Object.entries(value).map(([name, one]) => [name, lowerNode(one, pass, `${path}/${pointer(name)}`, depth)]),
      )
      return isSame(value, made) ? value : made
    }
    default:
      return isWritable(value) ? value : undefined
  }
}

/** Data that is nested too deeply cannot be written as JSON. */
const isWritable = (value: unknown): boolean =>
  typeof value !== 'object' || value === null || flawOf(value) !== 'too deep'

/** The given list if it is the same; `undefined` if it was no list, or nothing is left of it. */
function sameList(given: unknown, made: readonly unknown[]): unknown {
  if (!Array.isArray(given) || (made.length === 0 && given.length > 0)) return undefined
  return given.length === made.length && made.every((one, i) => one === given[i]) ? given : made
}

function lowerRef(node: SchemaNode, pass: LoweringPass, path: string, depth: number): SchemaNode {
  const { $ref: ref, ...beside } = node
  const target = resolve(pass.root, ref)
  const { besideRef } = pass.rules
  if (typeof ref !== 'string' || target === undefined) {
    recordChange(pass, path, '$ref')
    return lowerNode(beside, pass, path, depth + 1)
  }
  if (besideRef && isNode(target) && /^#(\/(\$defs|definitions)\/[^/]+)?$/.test(ref)) {
    const rest = Object.entries(beside).filter(([key]) => besideRef(key))
    if (rest.length < Object.keys(beside).length) recordChange(pass, path, 'beside $ref')
    return { $ref: ref, ...(rest.length > 0 && lowerNode(Object.fromEntries(rest), pass, path, depth + 1)) }
  }
  recordChange(pass, path, '$ref')
  if (pass.inside.includes(ref))
    return loosened(pass, path, 'recursion', nodeOf(target).type === 'object' ? { type: 'object' } : {})
  pass.inside.push(ref)
  return lowerNode(isNode(target) ? { ...target, ...beside } : target, pass, path, depth + 1)
}

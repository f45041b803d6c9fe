import { deepest, flawOf, wellFormed } from '../core/plain-json.ts'
import type { JsonSchema } from '../core/tool.ts'
import { setOwn } from '../core/turn.ts'
import { addText, finish, modern, type Pass, tell } from './lower-schema-fit.ts'
import { isNode, isSame, namesIn, nodeOf, objectOf, resolve, type SchemaNode, typesOf } from './lower-schema-root.ts'
import {
  keywordKinds,
  type SchemaCount,
  type SchemaDialect,
  type SchemaRules,
  schemaRules,
  type ToolDialect,
  worthTelling,
} from './lower-schema-rules.ts'

export { withoutAddedNulls } from './lower-schema-nulls.ts'
export type { OutputDialect, SchemaDialect, ToolDialect } from './lower-schema-rules.ts'
export { createToolNames, type ToolNames } from './safe-names.ts'

/** Hears what was changed: where, as a JSON pointer, and by which rule. */
export type OnSchemaChange = (path: string, rule: string) => void

/**
 * A schema as a service accepts it; the very same object when it would have accepted that. What a service cannot read is
 * loosened, so check what comes back against the original. `undefined`: the service cannot answer in this shape.
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
  readonly changes: Pass['changes']
}

const lowered = new WeakMap<JsonSchema, Map<SchemaDialect, Lowered>>()
const noSchema: SchemaNode = Object.freeze({ type: 'nothing' })

/** Ten thousand properties fit, a schema that was made to break us does not. */
const mostNodes = 30_000

function lower(root: SchemaNode, rules: SchemaRules): Lowered {
  const pass: Pass = {
    ...{ rules, root, changes: [], inside: [], nodes: mostNodes, copies: 2000, isLost: false },
    counts: { properties: 0, literals: 0, levels: 0, optional: 0, unions: 0 },
    onLoosened() {
      // Enough for a tool, whose input is checked in any case; but an answer's shape is a promise.
      if (rules.isClosed) pass.isLost = true
    },
  }
  const object = objectOf(root, pass)
  pass.inside.length = 0
  pass.nodes = mostNodes
  if (object !== root) tell(pass, '', 'root')
  const schema = lowerNode(object ?? { type: 'object', properties: {} }, pass, '', 0)
  for (const [count, most] of Object.entries(rules.most ?? {}))
    if (pass.counts[count as SchemaCount] > most) pass.isLost = true
  return { schema: pass.isLost ? undefined : schema, changes: pass.changes }
}

function lowerNode(value: unknown, pass: Pass, path: string, depth: number): SchemaNode {
  const { rules, inside } = pass
  if (!isNode(value)) return anything(pass, path, 'boolean', value === false && !rules.keywords ? { not: {} } : {})
  if (pass.isLost) return value // nobody will see it
  const isTooMuch = depth > deepest || --pass.nodes < 0 || (inside.length > 0 && --pass.copies < 0)
  if (isTooMuch) return anything(pass, path, 'too-large', {})
  const outside = inside.length
  const node = modern(value, pass)
  if (node !== value) tell(pass, path, 'rewritten')
  const made = node.$ref === undefined ? lowerKeywords(node, pass, path, depth) : lowerRef(node, pass, path, depth)
  inside.length = outside
  return isSame(value, made) ? value : made
}

function anything(pass: Pass, path: string, rule: string, schema: SchemaNode): SchemaNode {
  tell(pass, path, rule)
  pass.onLoosened()
  return schema
}

function lowerKeywords(node: SchemaNode, pass: Pass, path: string, depth: number): SchemaNode {
  const made: Record<string, unknown> = {}
  const limits: string[] = []
  for (const [key, given] of Object.entries(node)) {
    if (given === undefined) continue
    const kept = lowerKeyword(key, given, pass, `${path}/${pointer(key)}`, depth + 1)
    if (kept !== undefined) setOwn(made, key, kept)
    const isLeaf = key === 'type' || key === 'required'
    if (kept === undefined || (isLeaf && kept !== given)) tell(pass, path, key)
    if (kept === undefined && pass.rules.keywords && worthTelling.has(key) && typeof given !== 'object')
      limits.push(`${key}: ${String(given).slice(0, 100)}`)
  }
  if (limits.length > 0) made.description = addText(made.description, `(${limits.join(', ')})`)
  finish(made, node, pass, path)
  return made
}

const pointer = (key: string): string => key.replaceAll('~', '~0').replaceAll('/', '~1')

/** What is left of a keyword; `undefined` when nothing is. */
function lowerKeyword(key: string, value: unknown, pass: Pass, path: string, depth: number): unknown {
  const { keywords, formats, mostMinItems } = pass.rules
  if (keywords && !keywords.has(key)) return undefined
  if (key === 'format' && formats && !formats.has(value as string)) return undefined
  if (key === 'minItems' && mostMinItems !== undefined && (value as number) > mostMinItems) return undefined
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

/** Data that nests without end cannot be written as JSON. */
const isWritable = (value: unknown): boolean =>
  typeof value !== 'object' || value === null || flawOf(value) !== 'too deep'

/** The given list where it is the same; `undefined` where it was none, or nothing is left of it. */
function sameList(given: unknown, made: readonly unknown[]): unknown {
  if (!Array.isArray(given) || (made.length === 0 && given.length > 0)) return undefined
  return given.length === made.length && made.every((one, i) => one === given[i]) ? given : made
}

function lowerRef(node: SchemaNode, pass: Pass, path: string, depth: number): SchemaNode {
  const { $ref: ref, ...beside } = node
  const target = resolve(pass.root, ref)
  const { besideRef } = pass.rules
  if (typeof ref !== 'string' || target === undefined) {
    tell(pass, path, '$ref')
    return lowerNode(beside, pass, path, depth + 1)
  }
  if (besideRef && isNode(target) && /^#(\/(\$defs|definitions)\/[^/]+)?$/.test(ref)) {
    const rest = Object.entries(beside).filter(([key]) => besideRef(key))
    if (rest.length < Object.keys(beside).length) tell(pass, path, 'beside $ref')
    return { $ref: ref, ...(rest.length > 0 && lowerNode(Object.fromEntries(rest), pass, path, depth + 1)) }
  }
  tell(pass, path, '$ref')
  if (pass.inside.includes(ref))
    return anything(pass, path, 'recursion', nodeOf(target).type === 'object' ? { type: 'object' } : {})
  pass.inside.push(ref)
  return lowerNode(isNode(target) ? { ...target, ...beside } : target, pass, path, depth + 1)
}

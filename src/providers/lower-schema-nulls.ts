import { deepest } from '../core/plain-json.ts'
import type { JsonSchema } from '../core/tool.ts'
import { isNode, namesIn, resolve, type SchemaNode, typesOf } from './lower-schema-root.ts'

/** An answer to a strict schema, without the nulls that stand for what the original schema would have left out. */
export function withoutAddedNulls(answer: unknown, schema: JsonSchema): unknown {
  return without(answer, variants([schema], schema), schema, 0)
}

function without(value: unknown, schemas: readonly SchemaNode[], root: SchemaNode, depth: number): unknown {
  if (typeof value !== 'object' || value === null || depth > deepest) return value
  if (Array.isArray(value)) {
    const items = variants(
      schemas.flatMap(({ items, prefixItems }) => [items, prefixItems].flat()),
      root,
    )
    return value.map((one) => without(one, items, root, depth + 1))
  }
  const kept = Object.entries(value).flatMap(([key, inner]) => {
    const inside = variants(
      schemas.map(({ properties }) => own(properties, key)),
      root,
    )
    const isAdded = inner === null && inside.length > 0 && !inside.some(takesNull)
    const isWanted = schemas.some(({ required }) => namesIn(required).includes(key))
    return isAdded && !isWanted ? [] : [[key, without(inner, inside, root, depth + 1)]]
  })
  return Object.fromEntries(kept)
}

const own = (map: unknown, key: string): unknown => (isNode(map) && Object.hasOwn(map, key) ? map[key] : undefined)

/** The schemas, and all that their references and combinations lead to. */
function variants(schemas: readonly unknown[], root: SchemaNode): SchemaNode[] {
  const met = new Set<SchemaNode>(schemas.filter(isNode))
  for (const node of met) {
    if (met.size > mostVariants) break
    for (const next of [resolve(root, node.$ref), node.allOf, node.anyOf, node.oneOf].flat())
      if (isNode(next)) met.add(next)
  }
  return [...met]
}

const mostVariants = 200

function takesNull(node: SchemaNode): boolean {
  const { type, enum: literals, const: literal, $ref, allOf, anyOf, oneOf } = node
  if (type !== undefined) return typesOf(type).includes('null')
  if (Array.isArray(literals)) return literals.includes(null)
  if (literal !== undefined) return literal === null
  const isElsewhere = [$ref, allOf, anyOf, oneOf].some((more) => more !== undefined)
  return !isElsewhere && node.properties === undefined && node.items === undefined
}

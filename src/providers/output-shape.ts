import { maxNesting } from '../core/plain-json.ts'
import type { ModelEvent, ModelReply } from '../core/provider.ts'
import type { JsonSchema } from '../core/tool.ts'
import { isNode, namesIn, resolve, type SchemaNode, typesOf } from './schema-nodes.ts'

/**
 * Removes from the reply the nulls that a strict schema required: in it every property is required, so an optional one is
 * nullable instead.
 */
export async function* withoutStrictNulls(
  events: AsyncIterable<ModelEvent>,
  schema: JsonSchema,
): AsyncGenerator<ModelEvent> {
  for await (const event of events) yield event.type === 'reply' ? withoutNullsIn(event, schema) : event
}

function withoutNullsIn(reply: ModelReply, schema: JsonSchema): ModelReply {
  const content = reply.content.map((block) =>
    block.type === 'text' ? { ...block, text: withoutNulls(block.text, schema) } : block,
  )
  return { ...reply, content }
}

function withoutNulls(text: string, schema: JsonSchema): string {
  if (!text.includes('null')) return text
  try {
    return JSON.stringify(withoutAddedNulls(JSON.parse(text), schema))
  } catch {
    return text // the caller checks the output itself
  }
}

/** The output without the nulls that a strict schema required for optional properties of the original schema. */
export function withoutAddedNulls(answer: unknown, schema: JsonSchema): unknown {
  return without(answer, variants([schema], schema), schema, 0)
}

function without(value: unknown, schemas: readonly SchemaNode[], root: SchemaNode, depth: number): unknown {
  if (typeof value !== 'object' || value === null || depth > maxNesting) return value
  if (Array.isArray(value)) {
    const items = variants(
      schemas.flatMap(({ items, prefixItems }) => [items, prefixItems].flat()),
      root,
    )
    return value.map((one) => without(one, items, root, depth + 1))
  }
  const kept = Object.entries(value).flatMap(([key, inner]) => {
    const inside = variants(
      schemas.map(({ properties }) => ownProperty(properties, key)),
      root,
    )
    const isAdded = inner === null && inside.length > 0 && !inside.some(allowsNull)
    const isWanted = schemas.some(({ required }) => namesIn(required).includes(key))
    return isAdded && !isWanted ? [] : [[key, without(inner, inside, root, depth + 1)]]
  })
  return Object.fromEntries(kept)
}

const ownProperty = (map: unknown, key: string): unknown =>
  isNode(map) && Object.hasOwn(map, key) ? map[key] : undefined

/** The schemas, and all schemas that their references and unions lead to. */
function variants(schemas: readonly unknown[], root: SchemaNode): SchemaNode[] {
  const met = new Set<SchemaNode>(schemas.filter(isNode))
  for (const node of met) {
    if (met.size > maxVariants) break
    for (const next of [resolve(root, node.$ref), node.allOf, node.anyOf, node.oneOf].flat())
      if (isNode(next)) met.add(next)
  }
  return [...met]
}

const maxVariants = 200

function allowsNull(node: SchemaNode): boolean {
  const { type, enum: literals, const: literal, $ref, allOf, anyOf, oneOf } = node
  if (type !== undefined) return typesOf(type).includes('null')
  if (Array.isArray(literals)) return literals.includes(null)
  if (literal !== undefined) return literal === null
  const isElsewhere = [$ref, allOf, anyOf, oneOf].some((more) => more !== undefined)
  return !isElsewhere && node.properties === undefined && node.items === undefined
}

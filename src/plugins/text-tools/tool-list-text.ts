import { isRecord } from '../../core/is-record.ts'
import { oneLine } from '../../core/text.ts'
import type { JsonSchema, ToolSpec } from '../../core/tool.ts'
import { setOwn } from '../../core/turn.ts'
import { callText } from './written-call.ts'

/** Nested objects are described down to this level. */
const deepestLevel = 3

/** A description of tools for a prompt, made from their schemas. Equal tools give equal text. */
export function toolListText(tools: readonly ToolSpec[]): string {
  return tools.map(toolText).join('\n\n')
}

function toolText({ name, description, inputSchema }: ToolSpec): string {
  const root = isRecord(inputSchema) ? inputSchema : {}
  const { title } = root
  const heading =
    typeof title === 'string' && title !== '' && title !== name ? `## ${name} (${oneLine(title)})` : `## ${name}`
  const lines = parameterLines(shapeOf(root, root), root, 1)
  return [
    heading,
    ...(description.trim() === '' ? [] : [description.trim()]),
    ...(lines.length > 0 ? ['Parameters:', ...lines] : ['Parameters: none']),
    `Example: ${callText(name, JSON.stringify(exampleOf(root, root)))}`,
  ].join('\n')
}

function parameterLines(schema: Schema, root: JsonSchema, level: number): string[] {
  const { properties, required } = schema
  if (!isRecord(properties)) return []
  const needed = new Set(Array.isArray(required) ? required : [])
  return Object.entries(properties).flatMap(([name, given]) => {
    const shape = shapeOf(given, root)
    const line = parameterLine(name, shape, { root, isRequired: needed.has(name) })
    const inner = level < deepestLevel ? parameterLines(innerShape(shape, root), root, level + 1) : []
    return [`${'  '.repeat(level - 1)}- ${line}`, ...inner]
  })
}

/** The items of a list are described below it, like the fields of an object. */
const innerShape = (shape: Schema, root: JsonSchema): Schema =>
  shape.items === undefined ? shape : shapeOf(shape.items, root)

function parameterLine(
  name: string,
  shape: Schema,
  { root, isRequired }: { root: JsonSchema; isRequired: boolean },
): string {
  const { description, enum: values, default: usual } = shape
  const said = [
    typeof description === 'string' && description.trim() !== '' ? withStop(oneLine(description)) : '',
    Array.isArray(values) ? `One of: ${values.map((value) => JSON.stringify(value)).join(', ')}.` : '',
    usual === undefined ? '' : `Default: ${JSON.stringify(usual)}.`,
  ].filter((part) => part !== '')
  const head = `${name} (${typeOf(shape, root)}, ${isRequired ? 'required' : 'optional'})`
  return said.length > 0 ? `${head}: ${said.join(' ')}` : head
}

const withStop = (text: string): string => (/[.!?:]$/.test(text) ? text : `${text}.`)

const deepest = 5

/** A minimal value that fits a schema. */
function exampleOf(given: unknown, root: JsonSchema, level = 1): unknown {
  const schema = shapeOf(given, root)
  const known = givenValue(schema)
  if (known !== undefined) return known
  const choices = schema.anyOf ?? schema.oneOf
  if (Array.isArray(choices) && choices.length > 0 && level < deepest) return exampleOf(choices[0], root, level + 1)
  const type = Array.isArray(schema.type) ? schema.type[0] : schema.type
  if (type === 'object' || level === 1 || isRecord(schema.properties)) return objectOf(schema, root, level)
  if (type === 'array') return level < deepest ? [exampleOf(schema.items, root, level + 1)] : []
  return Object.hasOwn(simple, String(type)) ? simple[String(type)] : '…'
}

const simple: Readonly<Record<string, unknown>> = { number: 1, integer: 1, boolean: true, null: null }

function givenValue({ const: only, examples, default: usual, enum: values }: Schema): unknown {
  if (only !== undefined) return only
  if (Array.isArray(examples) && examples.length > 0) return examples[0]
  if (usual !== undefined) return usual
  return Array.isArray(values) ? values[0] : undefined
}

function objectOf({ properties, required }: Schema, root: JsonSchema, level: number): Record<string, unknown> {
  const object: Record<string, unknown> = {}
  if (!isRecord(properties) || !Array.isArray(required) || level >= deepest) return object
  for (const name of required)
    if (typeof name === 'string' && Object.hasOwn(properties, name))
      setOwn(object, name, exampleOf(properties[name], root, level + 1))
  return object
}

type Schema = Readonly<Record<string, unknown>>

/** How many references in a row are followed, and how deep types are described. */
const deepestReference = 5

/** The schema with references within the document resolved. */
function shapeOf(given: unknown, root: JsonSchema): Schema {
  let schema = given
  for (let i = 0; i < deepestReference && isRecord(schema) && typeof schema.$ref === 'string'; i++) {
    const { $ref, ...beside } = schema
    const found = lookUp(root, $ref as string)
    schema = isRecord(found) ? { ...found, ...beside } : beside
  }
  return isRecord(schema) ? schema : {}
}

/** The type of a value, in a few words. */
function typeOf(schema: Schema, root: JsonSchema, level = 1): string {
  const { type, const: only, anyOf, oneOf, items, properties } = schema
  if (only !== undefined) return JSON.stringify(only)
  const choices = anyOf ?? oneOf
  if (Array.isArray(choices) && level < deepestReference)
    return [...new Set(choices.map((choice) => typeOf(shapeOf(choice, root), root, level + 1)))].join(' or ')
  if (type === 'array' && isRecord(items) && level < deepestReference)
    return `array of ${typeOf(shapeOf(items, root), root, level + 1)}`
  if (typeof type === 'string') return type
  if (Array.isArray(type)) return type.map(String).join(' or ')
  return isRecord(properties) ? 'object' : 'any'
}

function lookUp(root: JsonSchema, ref: string): unknown {
  if (!ref.startsWith('#/')) return undefined
  let found: unknown = root
  for (const part of ref.slice(2).split('/')) {
    const key = part.replaceAll('~1', '/').replaceAll('~0', '~')
    found = isRecord(found) && Object.hasOwn(found, key) ? found[key] : undefined
  }
  return found
}

import { isRecord } from '../../core/is-record.ts'
import type { JsonSchema, ToolSpec } from '../../core/tool.ts'
import { exampleOf } from './example-of.ts'
import { type Schema, shapeOf, typeOf } from './schema-type.ts'
import { callText } from './spoken-call.ts'

/** Objects inside objects are told down to this level. */
const deepestLevel = 3

/** The tools as a model reads them in its prompt, made from their schemas. Equal tools give equal text. */
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

/** What a list is made of is told below it, like the fields of an object. */
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

const oneLine = (text: string): string => text.trim().replace(/\s+/g, ' ')

const withStop = (text: string): string => (/[.!?:]$/.test(text) ? text : `${text}.`)

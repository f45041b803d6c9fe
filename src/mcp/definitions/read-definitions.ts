import { isRecord } from '../../core/is-record.ts'
import type { JsonSchema } from '../../core/tool.ts'
import { digestOfJson } from '../../platform/canonical-json.ts'
import { digestOf } from '../../platform/digest.ts'
import { fullyVisible, withoutHidden } from '../../platform/visible-text.ts'
import type { McpServerConfig } from '../config.ts'
import type { PatternBudget } from './pattern-problem.ts'
import { schemaBoundsProblem, schemaProblem } from './schema-problem.ts'
import { cutBytes } from './untrusted-data.ts'

/** The usable part of a server's tool description. The server's hints about its own tools are left out. */
export interface McpDefinition {
  /** The server's own name for it. */
  readonly tool: string
  /** `mcp_{server}_{tool}`. */
  readonly name: string
  readonly description: string
  readonly inputSchema: JsonSchema
  readonly outputSchema?: JsonSchema
  readonly title?: string
  /** The `$schema` of the input schema, which `inputSchema` lacks. */
  readonly dialect?: string
  /** Of the whole description: any change gives another digest. */
  readonly digest: string
}

/** A definition, and whether it differs from the one that was first seen or accepted since. */
export interface SeenDefinition {
  readonly definition: McpDefinition
  readonly isChanged: boolean
}

const mostTools = 512
const longestDescription = 4096
/** For the patterns of a whole list. The tools of a hostile list that come after the limit are left out. */
const mostPatternSteps = 1_000_000

/**
 * The tools of a server's list, sorted by name, with notes on what was left out and why. Throws for a list that is too
 * long, because half of it would be an arbitrary set of tools.
 */
export function readDefinitions(
  tools: readonly unknown[],
  { name: server }: Pick<McpServerConfig, 'name'>,
): { readonly definitions: readonly McpDefinition[]; readonly notes: readonly string[] } {
  if (tools.length > mostTools)
    throw new Error(
      `The MCP server "${server}" lists ${tools.length} tools, where ${mostTools} are allowed; have it offer fewer`,
    )
  const notes: string[] = []
  const read: McpDefinition[] = []
  const budget = { steps: mostPatternSteps }
  for (const [i, tool] of tools.entries()) {
    const definition = readDefinition(tool, { server, i, budget, note: (text) => notes.push(text) })
    if (definition) read.push(definition)
  }
  const definitions = withoutDuplicates(read, notes).sort((a, b) => (a.name < b.name ? -1 : 1))
  return { definitions, notes }
}

interface Reading {
  readonly server: string
  readonly i: number
  readonly budget: PatternBudget
  readonly note: (text: string) => void
}

function readDefinition(tool: unknown, { server, i, budget, note }: Reading): McpDefinition | undefined {
  if (!isRecord(tool)) return void note(`Tool ${i + 1} was left out: it is not an object`)
  const { name, inputSchema } = tool
  if (!isToolName(name))
    return void note(
      `Tool ${i + 1} was left out: its name ${quoted(name)} is not 1 to 64 letters, digits, "_", "-", "." and "/"`,
    )
  const leaveOut = (why: string) => void note(`The tool "${name}" was left out: ${why}`)
  const problem = isRecord(inputSchema) ? schemaProblem(inputSchema, budget) : 'it is not an object'
  if (problem !== undefined || !isRecord(inputSchema)) return leaveOut(`its input schema cannot be used: ${problem}`)
  if (inputSchema.type !== undefined && inputSchema.type !== 'object')
    return leaveOut(`its input schema must be of the type "object", not ${quoted(inputSchema.type)}`)

  const outputProblem = tool.outputSchema === undefined ? undefined : schemaProblem(tool.outputSchema, budget)
  if (outputProblem !== undefined)
    note(`The output of the tool "${name}" is not checked: its output schema cannot be used: ${outputProblem}`)
  const rawOutput = outputProblem === undefined && isRecord(tool.outputSchema) ? tool.outputSchema : undefined
  const input = schemaForModel({ type: 'object', ...inputSchema })
  const output = rawOutput && schemaForModel(rawOutput)
  if (input.isTainted || output?.isTainted)
    return leaveOut('names or values in its schema have invisible characters, which cannot be taken out of them')

  const shown = withoutHidden(text(tool.description))
  const title = withoutHidden(text(tool.title))
  const description = cutBytes(shown.text, longestDescription)
  if (description !== shown.text)
    note(`The description of the tool "${name}" was cut after ${longestDescription} bytes`)
  const hidden = shown.hidden + title.hidden + input.hidden + (output?.hidden ?? 0)
  if (hidden > 0) note(`${hidden} invisible characters were taken out of what the tool "${name}" says of itself`)
  return {
    tool: name,
    name: toolName(server, name),
    description,
    inputSchema: input.schema,
    ...(output && { outputSchema: output.schema }),
    ...(title.text !== '' && { title: cutBytes(fullyVisible(title.text), 200) }),
    ...(typeof inputSchema.$schema === 'string' && { dialect: inputSchema.$schema }),
    digest: digestOfJson({
      name,
      title: text(tool.title),
      description: text(tool.description),
      inputSchema,
      outputSchema: rawOutput,
      annotations: schemaBoundsProblem(tool.annotations) === undefined ? tool.annotations : undefined,
    }),
  }
}

/**
 * Of several tools with one name, keeps the one whose own name matches exactly: a server that adds `a.b` later must not
 * replace `a_b`. If none or several match, all are left out, because a call would be ambiguous.
 */
function withoutDuplicates(definitions: readonly McpDefinition[], notes: string[]): McpDefinition[] {
  const byName = Map.groupBy(definitions, ({ name }) => name)
  return [...byName].flatMap(([name, same]) => {
    if (same.length === 1) return same
    const exact = same.filter(({ tool }) => name.endsWith(`_${tool}`))
    const kept = exact.length === 1 ? exact : []
    const left = same.filter((one) => !kept.includes(one)).map(({ tool }) => `"${tool}"`)
    notes.push(`The tools ${left.join(', ')} were left out: several would be called "${name}"`)
    return kept
  })
}

const text = (value: unknown): string => (typeof value === 'string' ? value : '')

function quoted(value: unknown): string {
  if (typeof value !== 'string') return `(${value === null ? 'null' : typeof value})`
  return `"${fullyVisible(value.slice(0, 80))}"${value.length > 80 ? `… (${value.length} characters)` : ''}`
}

/**
 * A bounded schema for models: a copy without `$schema`, which some services refuse, and without invisible characters.
 * In a name or a value they cannot be removed without changing the meaning; `isTainted` reports them.
 */
function schemaForModel(schema: Readonly<Record<string, unknown>>): SchemaForModel {
  let hidden = 0
  let isTainted = false

  function cleaned(value: unknown, keyword: string): unknown {
    if (typeof value === 'string') {
      if (literalKeywords.has(keyword)) {
        isTainted ||= hiddenCharacters.test(value)
        return value
      }
      const clean = withoutHidden(value)
      hidden += clean.hidden
      return cutBytes(clean.text, longestSchemaText)
    }
    if (Array.isArray(value)) return value.map((one) => cleaned(one, keyword))
    if (!isRecord(value)) return value
    const entries = Object.entries(value).map(([key, inner]) => {
      isTainted ||= hiddenCharacters.test(key)
      return [key, cleaned(inner, keywordFor(inner, key, keyword))]
    })
    return Object.fromEntries(entries)
  }

  const { $schema: _, ...rest } = schema
  return { schema: cleaned(rest, '') as JsonSchema, hidden, isTainted }
}

interface SchemaForModel {
  readonly schema: JsonSchema
  readonly hidden: number
  readonly isTainted: boolean
}

/** The keyword that applies to a part. A property may be named like a keyword, such as `pattern` of a search. */
function keywordFor(part: unknown, key: string, keyword: string): string {
  if (keyword === 'dependencies') return Array.isArray(part) ? 'required' : ''
  if (keywordsWithNames.has(keyword)) return ''
  return literalKeywords.has(keyword) ? keyword : key
}

/** Keywords whose value has schemas under free names. */
const keywordsWithNames = new Set(['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas'])

/** Bytes of each text in a schema. */
const longestSchemaText = 4096

/** Keywords whose texts must not be changed, because they are compared with arguments. */
const literalKeywords = new Set([
  'enum',
  'const',
  'default',
  'pattern',
  'required',
  'dependentRequired',
  '$ref',
  '$anchor',
])

/** Tag characters, variation selectors that carry bytes, and controls of the text direction. */
const hiddenCharacters = /[\u202a-\u202e\u2066-\u2069\u{e0000}-\u{e01ef}]/u

/** Services refuse longer names. */
const longestName = 64

/** Whether a tool name is allowed. It may contain slashes, but no empty part, `.` or `..`. */
function isToolName(name: unknown): name is string {
  if (typeof name !== 'string' || !/^[A-Za-z0-9_./-]{1,64}$/.test(name)) return false
  return name.split('/').every((part) => part !== '' && part !== '.' && part !== '..')
}

/** The name of a server's tool for models. It depends on the two names only, not on other tools. */
function toolName(server: string, tool: string): string {
  const name = `mcp_${server}_${tool.replaceAll(/[./]/g, '_')}`
  if (name.length <= longestName) return name
  return `${name.slice(0, longestName - 9)}_${digestOf(`${server}\0${tool}`).slice(0, 8)}`
}

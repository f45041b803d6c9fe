import { isRecord } from '../../core/is-record.ts'
import type { JsonSchema } from '../../core/tool.ts'
import { digestOfJson } from '../../platform/canonical-json.ts'
import { digestOf } from '../../platform/digest.ts'
import { fullyVisible, withoutHidden } from '../../platform/visible-text.ts'
import type { McpServerConfig } from '../config.ts'
import type { PatternBudget } from './pattern-problem.ts'
import { boundsProblem, schemaProblem } from './schema-problem.ts'
import { shortened } from './shortened.ts'

/** A tool as a server describes it, as far as it can be used. Its hints about itself are not in here: nobody may go by them. */
export interface McpDefinition {
  /** The server's own name for it. */
  readonly tool: string
  /** `mcp_{server}_{tool}`. */
  readonly name: string
  readonly description: string
  readonly inputSchema: JsonSchema
  readonly outputSchema?: JsonSchema
  readonly title?: string
  /** The `$schema` of the input schema, which is not in there. */
  readonly dialect?: string
  /** Of everything the server says of it: another digest is another tool. */
  readonly digest: string
}

/** A definition, and whether it differs from the one that was first seen or accepted since. */
export interface SeenDefinition {
  readonly definition: McpDefinition
  readonly isChanged: boolean
}

const mostTools = 512
const longestDescription = 4096
/** For the patterns of a whole list; a list that was made to be judged for ever loses its last tools. */
const mostPatternSteps = 1_000_000

/**
 * The tools of a server's list, sorted by name, and what was left out of it and why. Throws on a list that is too long:
 * half of one would be a set of tools that nobody meant.
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
  const definitions = withoutDoubles(read, notes).sort((a, b) => (a.name < b.name ? -1 : 1))
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

  const told = withoutHidden(text(tool.description))
  const title = withoutHidden(text(tool.title))
  const description = shortened(told.text, longestDescription)
  if (description !== told.text) note(`The description of the tool "${name}" was cut after ${longestDescription} bytes`)
  const hidden = told.hidden + title.hidden + input.hidden + (output?.hidden ?? 0)
  if (hidden > 0) note(`${hidden} invisible characters were taken out of what the tool "${name}" says of itself`)
  return {
    tool: name,
    name: toolName(server, name),
    description,
    inputSchema: input.schema,
    ...(output && { outputSchema: output.schema }),
    ...(title.text !== '' && { title: shortened(fullyVisible(title.text), 200) }),
    ...(typeof inputSchema.$schema === 'string' && { dialect: inputSchema.$schema }),
    digest: digestOfJson({
      name,
      title: text(tool.title),
      description: text(tool.description),
      inputSchema,
      outputSchema: rawOutput,
      annotations: boundsProblem(tool.annotations) === undefined ? tool.annotations : undefined,
    }),
  }
}

/**
 * Of several tools with one name, the one that is really called so: a server that adds `a.b` later must not take away
 * `a_b`, nor its name. Where that is none, or more than one, all are left out: nobody could tell which is meant.
 */
function withoutDoubles(definitions: readonly McpDefinition[], notes: string[]): McpDefinition[] {
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
 * A bounded schema as models get it: a copy without `$schema`, which some services refuse, and without characters that
 * only machines read. Where those belong to a value or a name they cannot be taken out without changing what is meant;
 * `isTainted` says that there are some.
 */
export function schemaForModel(schema: Readonly<Record<string, unknown>>): ShownSchema {
  let hidden = 0
  let isTainted = false

  function shown(value: unknown, word: string): unknown {
    if (typeof value === 'string') {
      if (meant.has(word)) {
        isTainted ||= smuggled.test(value)
        return value
      }
      const clean = withoutHidden(value)
      hidden += clean.hidden
      return shortened(clean.text, longestRemark)
    }
    if (Array.isArray(value)) return value.map((one) => shown(one, word))
    if (!isRecord(value)) return value
    const entries = Object.entries(value).map(([key, inner]) => {
      isTainted ||= smuggled.test(key)
      return [key, shown(inner, wordFor(inner, key, word))]
    })
    return Object.fromEntries(entries)
  }

  const { $schema: _, ...rest } = schema
  return { schema: shown(rest, '') as JsonSchema, hidden, isTainted }
}

export interface ShownSchema {
  readonly schema: JsonSchema
  readonly hidden: number
  readonly isTainted: boolean
}

/** What a part stands under. A property may be called as a word is, and is none: `pattern` is one of many a search. */
function wordFor(part: unknown, key: string, word: string): string {
  if (word === 'dependencies') return Array.isArray(part) ? 'required' : ''
  if (named.has(word)) return ''
  return meant.has(word) ? word : key
}

/** Words with schemas under names that anybody may choose. */
const named = new Set(['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas'])

/** Of each text in it, in bytes. */
const longestRemark = 4096

/** Words whose texts are compared with what is sent. */
const meant = new Set(['enum', 'const', 'default', 'pattern', 'required', 'dependentRequired', '$ref', '$anchor'])

/** Tag characters, selectors that carry bytes, and what turns text around. */
const smuggled = /[\u202a-\u202e\u2066-\u2069\u{e0000}-\u{e01ef}]/u

/** Services refuse longer ones. */
const longestName = 64

/** Whether a server may call a tool so. Folders are a fashion among servers; ways out of them are not. */
export function isToolName(name: unknown): name is string {
  if (typeof name !== 'string' || !/^[A-Za-z0-9_./-]{1,64}$/.test(name)) return false
  return name.split('/').every((part) => part !== '' && part !== '.' && part !== '..')
}

/** What a tool of a server is called here. The same for the same two names, whatever else the server has. */
export function toolName(server: string, tool: string): string {
  const name = `mcp_${server}_${tool.replaceAll(/[./]/g, '_')}`
  if (name.length <= longestName) return name
  return `${name.slice(0, longestName - 9)}_${digestOf(`${server}\0${tool}`).slice(0, 8)}`
}

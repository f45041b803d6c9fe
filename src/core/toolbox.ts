import { show } from './behavior.ts'
import { parseSchemaTool } from './define-tool.ts'
import { memoize } from './memoize.ts'
import type { JsonSchema, ToolDef, ToolSpec } from './tool.ts'
import { copyJson, deepFreeze } from './turn.ts'

/** The tools of one run, by their canonical names. */
export class Toolbox {
  /** The tool set was chosen for this run, or for its parent's: servers and layers add no tools to it. */
  readonly isFixed: boolean
  readonly counts = new ToolCounts()
  readonly #tools = new Map<string, ToolDef>()
  readonly #depth: number
  #specs: readonly ToolSpec[] | undefined

  constructor(tools: Iterable<ToolDef>, { depth, isFixed }: { readonly depth: number; readonly isFixed: boolean }) {
    this.#depth = depth
    this.isFixed = isFixed
    for (const tool of tools) this.add(tool)
  }

  add(tool: ToolDef): void {
    const { name } = tool.spec
    if (this.#tools.has(name)) throw new TypeError(`Two tools are named "${name}"; give one of them another spec.name`)
    if (this.#depth >= (tool.maxDepth ?? Number.POSITIVE_INFINITY)) return
    this.#tools.set(name, tool)
    this.#specs = undefined
  }

  /** Adds a tool, replacing one of the same name. */
  replace(tool: ToolDef): void {
    this.remove(tool.spec.name)
    this.add(tool)
  }

  remove(name: string): void {
    if (this.#tools.delete(name)) this.#specs = undefined
  }

  get(name: string): ToolDef | undefined {
    return this.#tools.get(name)
  }

  names(): Iterable<string> {
    return this.#tools.keys()
  }

  /** The tools for the model. The list keeps its identity until the tools change, so that providers can cache it. */
  get specs(): readonly ToolSpec[] {
    this.#specs ??= Object.freeze([...this.#tools.values()].map((tool) => frozenSpec(tool.spec)))
    return this.#specs
  }
}

/** A frozen copy, so that hooks cannot change the tool; the same object each time. */
const frozenSpec = memoize(
  ({ name, description, inputSchema }: ToolSpec): ToolSpec =>
    deepFreeze({ name, description, inputSchema: copyJson(inputSchema) }),
)

/** Checks a `tools` option. Its keys do not matter: a tool has its own name. */
export function parseTools(tools: unknown, where: string): ToolDef[] {
  if (tools === undefined) return []
  if (typeof tools !== 'object' || tools === null || Array.isArray(tools))
    throw new TypeError(`${where} must be a record of tools such as { lookup }, got ${show(tools)}`)
  const seen = new Map<string, string>()
  return Object.entries(tools).map(([key, tool]) => {
    const parsed = parseTool(tool, `${where}.${key}`)
    const { name } = parsed.spec
    const other = seen.get(name)
    if (other !== undefined)
      throw new TypeError(`${where}.${other} and ${where}.${key} are both named "${name}"; give one another spec.name`)
    seen.set(name, key)
    return parsed
  })
}

/** Checks a tool and completes its schema. Throws if it is invalid; the message says what is wrong. */
export function parseTool(tool: unknown, where: string): ToolDef {
  const { spec, execute } = (tool ?? {}) as Partial<ToolDef>
  if (typeof spec !== 'object' || spec === null)
    throw new TypeError(`${where} must be a tool { spec, execute }, got ${show(tool)}`)
  if (typeof spec.name !== 'string' || spec.name.trim() === '')
    throw new TypeError(`${where}.spec.name must be a name, got ${show(spec.name)}`)
  if (typeof spec.description !== 'string')
    throw new TypeError(`${where}.spec.description must be a text for the model, got ${show(spec.description)}`)
  if (typeof execute !== 'function') throw new TypeError(`${where}.execute must be a function, got ${show(execute)}`)
  const parsed = parseSchemaTool(tool as ToolDef, `${where}.spec.inputSchema`)
  checkSchema(parsed.spec.inputSchema, `${where}.spec.inputSchema`)
  for (const [field, [isRight, wanted]] of Object.entries(declarations)) {
    const value = (tool as Record<string, unknown>)[field]
    if (value !== undefined && !isRight(value))
      throw new TypeError(`${where}.${field} must be ${wanted}, got ${show(value)}`)
  }
  return parsed
}

const isFlag = (value: unknown): boolean => typeof value === 'boolean'
const isFunction = (value: unknown): boolean => typeof value === 'function'
const isCount = (value: unknown): boolean => typeof value === 'number' && value >= 0

/** The declarations of a tool. They are checked here because a mistake might otherwise show only after a crash. */
const declarations: Record<string, readonly [isRight: (value: unknown) => boolean, wanted: string]> = {
  isConcurrencySafe: [(value) => isFlag(value) || isFunction(value), 'true, false or a function of the input'],
  replay: [(value) => value === 'pure' || value === 'keyed' || value === 'opaque', '"pure", "keyed" or "opaque"'],
  effects: [(value) => Array.isArray(value) || isFunction(value), 'a list of effects or a function of the input'],
  gated: [isFlag, 'true or false'],
  commandLine: [isFunction, 'a function of the input'],
  reaches: [isFunction, 'a function of the input'],
  deriveApprovalKey: [isFunction, 'a function of the input'],
  countEdits: [isFunction, 'a function of the input'],
  timeoutMs: [isCount, 'a number of milliseconds, 0 for none'],
  cancelsSiblings: [isFlag, 'true or false'],
  maxDepth: [isCount, 'a number of levels'],
  before: [isFunction, 'a function'],
}

function checkSchema(schema: JsonSchema, where: string): void {
  const { type, properties = {}, required = [] } = schema
  if (type !== undefined && type !== 'object')
    throw new TypeError(`${where}.type must be "object" because a tool's input is one, got ${show(type)}`)
  if (typeof properties !== 'object' || properties === null || Array.isArray(properties))
    throw new TypeError(`${where}.properties must be a record of JSON Schemas, got ${show(properties)}`)
  for (const [name, property] of Object.entries(properties))
    if (typeof property !== 'boolean' && (typeof property !== 'object' || property === null))
      throw new TypeError(`${where}.properties.${name} must be a JSON Schema, got ${show(property)}`)
  if (!Array.isArray(required) || !required.every((name) => typeof name === 'string'))
    throw new TypeError(`${where}.required must be a list of property names, got ${show(required)}`)
}

/** Calls per tool in one run. A call counts when it passes its gate, so that limits hold inside a wave. */
export class ToolCounts {
  readonly #counts = new Map<string, number>()
  #snapshot: Readonly<Record<string, number>> = Object.freeze({})
  #isStale = false

  /** The counts at the last `refresh`, for hooks. */
  get snapshot(): Readonly<Record<string, number>> {
    return this.#snapshot
  }

  /** The present count, for gates of extensions. */
  of(name: string): number {
    return this.#counts.get(name) ?? 0
  }

  add(name: string): void {
    this.#counts.set(name, this.of(name) + 1)
    this.#isStale = true
  }

  refresh(): void {
    if (!this.#isStale) return
    this.#snapshot = Object.freeze(Object.fromEntries(this.#counts))
    this.#isStale = false
  }
}

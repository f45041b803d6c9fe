import { checkBehavior, show } from '../../core/behavior.ts'
import { isRecord } from '../../core/is-record.ts'
import { didYouMean } from '../../core/nearest.ts'
import { checkMcpServers } from '../../mcp/config.ts'
import { maxPromptDepth } from '../../plugins/plugin-hooks.ts'
import type { ActiveHours } from '../../plugins/schedule.ts'
import { checkHours } from '../schedules/check-schedule.ts'
import type { AgentDefinition, InstanceConfig } from './definition.ts'

/** Throws on an invalid definition, as one from a file, and names the field and its correct form. */
export function checkDefinition(definition: unknown, where = 'definition'): asserts definition is AgentDefinition {
  const fields = record(definition, where, definitionFields)
  if (typeof fields.id !== 'string' || !/^[A-Za-z0-9][\w.-]{0,99}$/.test(fields.id))
    throw new TypeError(
      `${where}.id must be a name of letters, digits, "-", "_" and "." of at most 100 characters, got ${show(fields.id)}`,
    )
  const name = `${where} "${fields.id}"`
  for (const field of ['name', 'description', 'handlerId', 'model'] as const) text(fields[field], `${name}.${field}`)
  bool(fields.textTools, `${name}.textTools`)
  if (fields.approval !== undefined) record(fields.approval, `${name}.approval`)
  if (fields.mcpServers !== undefined) checkMcpServers(list(fields.mcpServers, `${name}.mcpServers`))
  checkBehavior(fields.behavior, `${name}.behavior`)
  if (fields.heartbeat !== undefined) checkHeartbeat(fields.heartbeat, `${name}.heartbeat`)
  if (fields.config !== undefined) checkConfig(fields.config, `${name}.config`)
}

/** The definitions of a workflow by their ids, which must be unique. */
export function readDefinitions(definitions: readonly unknown[]): Map<string, AgentDefinition> {
  const read = new Map<string, AgentDefinition>()
  for (const [i, definition] of definitions.entries()) {
    checkDefinition(definition, `definitions[${i}]`)
    if (read.has(definition.id)) throw new TypeError(`definitions[${i}]: there are two definitions "${definition.id}"`)
    read.set(definition.id, definition)
  }
  return read
}

/** Throws on invalid changes of an instance to the configuration of its definition. */
export function checkInstanceConfig(
  config: unknown,
  { id, config: { plugins = [] } = {} }: AgentDefinition,
): asserts config is InstanceConfig {
  checkConfig(config, 'config', { of: id, ids: plugins.map((entry) => entry.id) })
}

function checkConfig(config: unknown, where: string, known?: KnownEntries): void {
  const {
    prompts = [],
    plugins = [],
    maxIterations,
    contextWindowSize,
    toolResultDuration,
  } = record(config, where, configFields)
  checkPrompts(prompts, `${where}.prompts`)
  const entryIds = new Set<string>()
  for (const [i, entry] of list(plugins, `${where}.plugins`).entries()) {
    const { id: given, toolId } = record(entry, `${where}.plugins[${i}]`)
    const id = ownId(given, `${where}.plugins[${i}]`)
    checkToolId(toolId, id, `${where}.plugins[${i}]`, known)
    if (entryIds.has(id))
      throw new TypeError(`${where}.plugins[${i}].id "${id}" stands twice; instances find entries by it`)
    entryIds.add(id)
  }
  whole(maxIterations, `${where}.maxIterations`, 0)
  whole(contextWindowSize, `${where}.contextWindowSize`, 1)
  if (toolResultDuration !== null) whole(toolResultDuration, `${where}.toolResultDuration`, 0)
}

/** The entries of a definition that an instance changes. */
interface KnownEntries {
  readonly of: string
  readonly ids: readonly string[]
}

function checkToolId(toolId: unknown, id: string, where: string, known: KnownEntries | undefined): void {
  if (typeof toolId === 'string' && toolId !== '') return
  if (toolId !== undefined || !known) throw new TypeError(`${where}.toolId must name a plugin, got ${show(toolId)}`)
  if (!known.ids.includes(id))
    throw new TypeError(
      `${where}: definition "${known.of}" has no entry "${id}" to be changed, and a new one needs a toolId${didYouMean(id, known.ids)}`,
    )
}

function checkPrompts(prompts: unknown, where: string, ids = new Set<string>(), depth = 1): void {
  if (depth > maxPromptDepth)
    throw new TypeError(`${where.slice(0, 100)}… is more than ${maxPromptDepth} levels deep; flatten it`)
  for (const [i, node] of list(prompts, where).entries()) {
    const fields = record(node, `${where}[${i}]`, promptFields)
    const { role, children, enabled, tags, source, history } = fields
    const id = ownId(fields.id, `${where}[${i}]`)
    if (ids.has(id)) throw new TypeError(`${where}[${i}].id "${id}" is used twice; plugins find pieces by it`)
    ids.add(id)
    text(fields.text, `${where}[${i}].text`)
    if (role !== undefined && !['system', 'user', 'assistant'].includes(role as string))
      throw new TypeError(`${where}[${i}].role must be "system", "user" or "assistant", got ${show(role)}`)
    bool(enabled, `${where}[${i}].enabled`)
    texts(tags, `${where}[${i}].tags`)
    texts(source, `${where}[${i}].source`)
    if (history !== undefined)
      throw new TypeError(
        `${where}[${i}].history is not for definitions, got ${show(history)}; to put the conversation there, name the piece in an entry of the plugin fullReplacement: { targetId: ${show(id)}, sourceType: "historyOfSession" }`,
      )
    if (ids.size > 10_000) throw new TypeError(`${where} has more than 10,000 pieces`)
    if (children !== undefined) checkPrompts(children, `${where}[${i}].children`, ids, depth + 1)
  }
}

function checkHeartbeat(heartbeat: unknown, where: string): void {
  const { intervalSeconds, message, activeHours, enabled } = record(heartbeat, where, heartbeatFields)
  whole(intervalSeconds, `${where}.intervalSeconds`, 60)
  if (intervalSeconds === undefined) throw new TypeError(`${where}.intervalSeconds is missing; at least 60`)
  if (typeof message !== 'string' || message.trim() === '')
    throw new TypeError(`${where}.message must say what the agent is told, got ${show(message)}`)
  bool(enabled, `${where}.enabled`)
  // Checked here, as otherwise the first agent would be created without its heartbeat.
  if (activeHours !== undefined) checkHours(activeHours as ActiveHours)
}

const definitionFields: Record<keyof AgentDefinition, true> = {
  id: true,
  name: true,
  description: true,
  handlerId: true,
  config: true,
  model: true,
  textTools: true,
  approval: true,
  mcpServers: true,
  behavior: true,
  heartbeat: true,
}
const configFields = { prompts: 1, plugins: 1, maxIterations: 1, contextWindowSize: 1, toolResultDuration: 1 }
const promptFields = { id: 1, caption: 1, enabled: 1, role: 1, tags: 1, text: 1, children: 1, source: 1, history: 1 }
const heartbeatFields = { enabled: 1, intervalSeconds: 1, message: 1, activeHours: 1 }

function record(value: unknown, where: string, known?: object): Record<string, unknown> {
  if (!isRecord(value)) throw new TypeError(`${where} must be an object, got ${show(value)}`)
  for (const name of Object.keys(value))
    if (known && !Object.hasOwn(known, name))
      throw new TypeError(`${where}.${name} does not exist${didYouMean(name, Object.keys(known))}`)
  return value
}

function list(value: unknown, where: string): readonly unknown[] {
  if (!Array.isArray(value)) throw new TypeError(`${where} must be a list, got ${show(value)}`)
  return value
}

function ownId(value: unknown, where: string): string {
  if (typeof value !== 'string' || value === '') throw new TypeError(`${where}.id must be a text, got ${show(value)}`)
  return value
}

function text(value: unknown, where: string): void {
  if (value !== undefined && typeof value !== 'string')
    throw new TypeError(`${where} must be a text, got ${show(value)}`)
}

function texts(value: unknown, where: string): void {
  if (value === undefined) return
  for (const [i, one] of list(value, where).entries())
    if (typeof one !== 'string') throw new TypeError(`${where}[${i}] must be a text, got ${show(one)}`)
}

function bool(value: unknown, where: string): void {
  if (value !== undefined && typeof value !== 'boolean')
    throw new TypeError(`${where} must be true or false, got ${show(value)}`)
}

function whole(value: unknown, where: string, least: number): void {
  if (value !== undefined && !(Number.isInteger(value) && (value as number) >= least))
    throw new TypeError(`${where} must be a whole number of at least ${least}, got ${show(value)}`)
}

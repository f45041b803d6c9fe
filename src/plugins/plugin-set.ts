import type { ToolOrigin } from '../core/authority.ts'
import { show } from '../core/behavior.ts'
import { isThenable } from '../core/cancellation.ts'
import { messageOf } from '../core/errors.ts'
import { isRecord } from '../core/is-record.ts'
import { didYouMean } from '../core/nearest.ts'
import { isStandard, issuesOf } from '../core/schema.ts'
import type { ToolDef } from '../core/tool.ts'
import { validateToolArgs } from '../core/tool-input.ts'
import type { PluginApproval, PluginDefinition, PluginEntry, PluginServices, PluginSetup } from './plugin.ts'
import { withMarks } from './tool-marks.ts'

/** A plugin, set up for one agent. */
export interface SetUpPlugin {
  readonly plugin: PluginDefinition
  readonly setup: PluginSetup
  /** Its tools, without those of `llmToolSchemas`. */
  readonly tools: readonly ToolDef[]
}

/** Sets up the plugins of a definition for one agent, in their order, without those that are switched off. */
export function setUpPlugins(
  entries: readonly PluginEntry[],
  known: ReadonlyMap<string, PluginDefinition>,
  services: PluginServices,
): readonly SetUpPlugin[] {
  return entries.flatMap((entry, index) => {
    const { toolId, enabled = true } = entry
    const plugin = known.get(toolId)
    if (!plugin)
      throw new TypeError(`plugins[${index}]: there is no plugin "${toolId}"${didYouMean(toolId, [...known.keys()])}`)
    if (!enabled) return []
    const setup = { config: configOf(plugin, entry), entry, services }
    return [{ plugin, setup, tools: toolsOf(plugin, setup).map((tool) => adjusted(tool, entry)) }]
  })
}

/** Adds the name of the plugin to its errors. */
function toolsOf({ toolId, tools }: PluginDefinition, setup: PluginSetup): readonly ToolDef[] {
  let given: unknown
  try {
    given = tools?.(setup) ?? []
  } catch (error) {
    throw pluginProblem(toolId, `tools() for entry "${setup.entry.id}"`, error)
  }
  if (Array.isArray(given)) return given
  throw new TypeError(`plugin "${toolId}": tools() must give a list of tools at once, got ${show(given)}`)
}

/** The authority's rules for the tools of these plugins: the defaults of the plugin, and those of its entry. */
export function approvalsOf(plugins: readonly SetUpPlugin[]): Record<string, PluginApproval> {
  const rules: Record<string, PluginApproval> = {}
  for (const one of plugins) {
    const { plugin, setup } = one
    const { approval, timeoutMs } = setup.entry
    for (const name of toolNamesOf(one)) {
      const rule = joinApprovals(timeoutMs === undefined ? {} : { timeoutMs }, plugin.defaultApproval?.[name], approval)
      if (Object.keys(rule).length > 0) rules[name] = rule
    }
  }
  return rules
}

/** The names of a plugin's tools, in either form. */
export const toolNamesOf = ({ plugin, tools }: SetUpPlugin): readonly string[] => [
  ...tools.map(({ spec }) => spec.name),
  ...Object.keys(plugin.llmToolSchemas ?? {}),
]

/** The later rule counts, field by field, but deny patterns of all rules stay. */
export function joinApprovals(...rules: readonly (PluginApproval | undefined)[]): PluginApproval {
  const denyPatterns = rules.flatMap((rule) => rule?.denyPatterns ?? [])
  return { ...Object.assign({}, ...rules), ...(denyPatterns.length > 0 && { denyPatterns }) }
}

/** Reads the settings of a plugin, which stand under its name as it is or in camel case. */
function configOf(plugin: PluginDefinition, entry: PluginEntry): Record<string, unknown> {
  const { toolId, configSchema } = plugin
  const inCamelCase = toolId.replace(/[-_]+(\w)/g, (_, letter) => letter.toUpperCase())
  const names = [...new Set([toolId, inCamelCase])].map((one) => `${one}Param`)
  const unknown = Object.keys(entry).find((one) => !Object.hasOwn(entryFields, one) && !names.includes(one))
  if (unknown !== undefined)
    throw new TypeError(
      `plugin entry "${entry.id}" has no field "${unknown}"${didYouMean(unknown, [...Object.keys(entryFields), ...names])}`,
    )
  const name = names.find((one) => entry[one] !== undefined) ?? names.at(-1)!
  const given = entry[name] ?? {}
  const wrong = (why: string): TypeError => new TypeError(`plugin entry "${entry.id}": ${name}: ${why}`)
  if (!isRecord(given)) throw wrong(`it must be an object, got ${show(given)}`)
  if (!configSchema) return given
  if (!isStandard(configSchema)) {
    const checked = validateToolArgs(given, configSchema)
    if (!checked.valid) throw wrong(checked.error)
    const flaw = flawIn(checked.input, configSchema.properties)
    if (flaw !== undefined) throw wrong(flaw)
    return checked.input
  }
  const checked = configSchema['~standard'].validate(given)
  if (isThenable(checked)) throw wrong('its schema is async; settings need one that answers at once')
  if (checked.issues) throw wrong(issuesOf(checked.issues))
  return checked.value as Record<string, unknown>
}

const entryFields: Readonly<Record<string, true>> = {
  id: true,
  toolId: true,
  caption: true,
  content: true,
  enabled: true,
  forbidOverrides: true,
  approval: true,
  timeoutMs: true,
  toolResultDuration: true,
}

/** Finds an unknown name, or a value that is not in the `enum` of its property. */
function flawIn(config: Record<string, unknown>, properties: unknown): string | undefined {
  if (!isRecord(properties)) return undefined
  for (const [name, value] of Object.entries(config)) {
    const property = Object.hasOwn(properties, name) ? properties[name] : undefined
    if (property === undefined) return `there is no setting "${name}"${didYouMean(name, Object.keys(properties))}`
    const words = isRecord(property) && Array.isArray(property.enum) ? property.enum : undefined
    if (words && !words.includes(value)) return `${name} must be ${words.map(show).join(' or ')}, got ${show(value)}`
  }
  return undefined
}

function adjusted(tool: ToolDef, { toolId, toolResultDuration }: PluginEntry): ToolDef {
  const own = { ...tool, origin: tool.origin ?? pluginOrigin(toolId) }
  return toolResultDuration === undefined ? own : withMarks(own, { duration: toolResultDuration })
}

export const pluginOrigin = (toolId: string): ToolOrigin => Object.freeze({ layer: 'plugin', path: toolId })

/** An error with the name of the plugin and the hook. */
export function pluginProblem(toolId: string, hook: string, error: unknown): Error {
  return new Error(`plugin "${toolId}" failed at ${hook}: ${messageOf(error)}`, { cause: error })
}

import type { ToolRule } from '../authority/rules/settings.ts'
import { show } from '../core/behavior.ts'
import { didYouMean } from '../core/nearest.ts'
import type { PluginChange, PluginEntry } from '../plugins/plugin.ts'
import { checkInstanceConfig } from './definitions/check-definition.ts'
import {
  type AgentConfig,
  type AgentDefinition,
  type AgentInstance,
  configOf,
  type InstanceConfig,
} from './definitions/definition.ts'

/** What a person may change about one agent: its definition with its own changes. Prompts and parameters of plugins are left out. */
export interface AgentSettings extends Pick<AgentConfig, (typeof fields)[number]> {
  readonly name?: string
  readonly plugins: readonly PluginSettings[]
}

/** The settings of one plugin of an agent. */
export interface PluginSettings extends Pick<PluginEntry, 'id' | 'toolId' | (typeof pluginFields)[number]> {
  readonly caption?: string
  readonly enabled: boolean
  /** The definition forbids changes to this entry. */
  readonly isFixed?: true
  /** Its tools, each with the rule that counts, from this entry, the definition and the settings of the workflow. */
  readonly tools: readonly { readonly name: string; readonly rule?: ToolRule }[]
}

/**
 * A change of an agent. A field that is absent stays as it is; with `null` that of the definition counts again. Results that
 * are sent with all model calls, which `null` means in a definition, can therefore be set only there.
 */
export type AgentChange = { readonly name?: string | null } & {
  readonly [Field in (typeof fields)[number]]?: AgentConfig[Field] | null
} & {
  readonly plugins?: readonly ({ readonly id: string } & {
    readonly [Field in (typeof pluginFields)[number]]?: PluginEntry[Field] | null
  })[]
}

const fields = ['maxIterations', 'contextWindowSize', 'toolResultDuration'] as const
const pluginFields = ['enabled', 'approval', 'timeoutMs', 'toolResultDuration'] as const

/** The settings of an agent. `toolsOf` names the tools of an entry with their rules. */
export function settingsOf(
  definition: AgentDefinition,
  instance: AgentInstance,
  toolsOf: (entryId: string) => PluginSettings['tools'],
): AgentSettings {
  const { plugins = [], ...config } = configOf(definition, instance)
  return {
    ...(instance.name !== undefined && { name: instance.name }),
    ...picked(config, fields),
    plugins: plugins.map((entry) => ({
      ...{ id: entry.id, toolId: entry.toolId, enabled: true },
      ...picked(entry, ['caption', ...pluginFields]),
      ...(entry.forbidOverrides && { isFixed: true as const }),
      tools: toolsOf(entry.id),
    })),
  }
}

/** The instance with a change. Throws if the change is wrong. */
export function changedInstance(
  definition: AgentDefinition,
  instance: AgentInstance,
  { name, plugins = [], ...config }: AgentChange,
): AgentInstance {
  checkNames(config, [...fields, 'name', 'plugins'], 'a change of an agent')
  if (name !== undefined && name !== null && (typeof name !== 'string' || name.trim() === ''))
    throw new TypeError(`the name of an agent must be a text, got ${show(name)}`)
  const entries = plugins.reduce((list, change) => withEntry(definition, list, change), instance.config?.plugins ?? [])
  const changed: InstanceConfig = {
    ...without(merged({ ...instance.config }, config), 'plugins'),
    ...(entries.length > 0 && { plugins: entries }),
  }
  checkInstanceConfig(changed, definition)
  const { name: before, config: _, ...rest } = instance
  const named = name === undefined ? before : name
  return {
    ...rest,
    ...(named !== undefined && named !== null && { name: named }),
    ...(Object.keys(changed).length > 0 && { config: changed }),
  }
}

function withEntry(
  { id: of, config: { plugins: defined = [] } = {} }: AgentDefinition,
  list: readonly PluginChange[],
  { id, ...change }: NonNullable<AgentChange['plugins']>[number],
): readonly PluginChange[] {
  const known = [...defined, ...list].map((entry) => entry.id)
  if (!known.includes(id))
    throw new TypeError(`definition "${of}" has no plugin entry ${show(id)}${didYouMean(String(id), known)}`)
  if (defined.some((entry) => entry.id === id && entry.forbidOverrides))
    throw new TypeError(`definition "${of}" forbids changes to its plugin entry "${id}"`)
  checkNames(change, pluginFields, `the change of plugin entry "${id}"`)
  const before = list.find((entry) => entry.id === id)
  const entry = merged({ ...(before ?? { id }) }, change)
  const others = list.filter((one) => one.id !== id)
  // An entry without a field is no change any more.
  return Object.keys(entry).length > 1 ? [...others, entry as PluginChange] : others
}

function checkNames(change: object, known: readonly string[], what: string): void {
  const unknown = Object.keys(change).find((name) => !known.includes(name))
  if (unknown !== undefined) throw new TypeError(`${what} has no field "${unknown}"${didYouMean(unknown, known)}`)
}

/** `null` takes a field away, `undefined` changes nothing. */
function merged(target: Record<string, unknown>, change: object): Record<string, unknown> {
  for (const [name, value] of Object.entries(change)) {
    if (value === null) delete target[name]
    else if (value !== undefined) target[name] = value
  }
  return target
}

const without = (record: Record<string, unknown>, name: string): Record<string, unknown> => {
  const { [name]: _, ...rest } = record
  return rest
}

function picked<T extends object, Name extends keyof T>(value: T, names: readonly Name[]): Pick<T, Name> {
  return Object.fromEntries(names.flatMap((name) => (value[name] === undefined ? [] : [[name, value[name]]]))) as Pick<
    T,
    Name
  >
}

import { homedir } from 'node:os'
import { CodedError } from '../../core/errors.ts'
import { isRecord } from '../../core/is-record.ts'
import { didYouMean } from '../../core/nearest.ts'
import { deepFreeze } from '../../core/turn.ts'
import { checkPatterns } from './patterns.ts'
import {
  type CompiledRules,
  compileRules,
  type DecisionSettings,
  parseRule,
  type Rule,
  type RuleLayer,
  type RuleList,
  type RuleLists,
  ruleLayers,
  ruleLists,
} from './rules.ts'

/** How much needs an approval. `plan` is read-only; `yolo` asks only about irreparable damage. */
export type SecurityMode = 'plan' | 'ask' | 'allowlist' | 'yolo'

/**
 * `name` or `name:pattern` over approval keys, or an effect with an optional pattern over its target: `fs.write`,
 * `fs.write:src/*`, `exec`, `net:*.example.org`, `mcp:github.*`, `spawn`. `*` is any run of characters, all else is
 * literal, both ends are anchored. For a tool that runs shell lines a pattern is matched against the words of each
 * command: `shell:ls`, `shell:git status`.
 */
export type RuleEntry =
  | string
  | {
      readonly rule: string
      readonly why?: string
      /** Examples it must or must not match, checked when it is loaded: shell lines, or keys of the tool. */
      readonly match?: readonly string[]
      readonly notMatch?: readonly string[]
    }

/** Rules for one tool: regular expressions over the JSON of `{tool, parameters}`, ignoring case. */
export interface ToolRule {
  /** `auto` needs no approval, `confirm` always does. Default: by the security mode. */
  readonly mode?: 'auto' | 'confirm'
  readonly allowPatterns?: readonly string[]
  readonly denyPatterns?: readonly string[]
  /** For tools without a time limit of their own. 0 means none. */
  readonly timeoutMs?: number
}

/** The settings of one layer. Unknown fields are refused. */
export interface AuthoritySettings {
  readonly mode?: SecurityMode
  /** Apply in every mode except `plan`, which they cannot widen. */
  readonly allow?: readonly RuleEntry[]
  /** Ask in every mode, even where a rule allows. */
  readonly ask?: readonly RuleEntry[]
  readonly deny?: readonly RuleEntry[]
  /** Apply only in the mode `allowlist`; an error if no layer chooses it. */
  readonly allowlist?: readonly RuleEntry[]
  readonly tools?: Readonly<Record<string, ToolRule>>
  /** Whether tools that only read inside the workspace need an approval in `ask` and `allowlist`. Default `allow`: no. */
  readonly workspaceReads?: 'allow' | 'ask'
}

/** The settings of all layers, weakest first. A project may only tighten: looser settings are ignored, with a warning. */
export interface SettingsLayers {
  readonly bundled?: AuthoritySettings
  readonly global?: AuthoritySettings
  readonly project?: AuthoritySettings
  readonly launch?: AuthoritySettings
}

/** The combined settings, frozen. */
export interface ResolvedSettings extends DecisionSettings {
  readonly mode: SecurityMode
  readonly rules: CompiledRules
  /** The single rules, sorted, without duplicates. */
  readonly lists: RuleLists
  readonly warnings: readonly string[]
}

/** Combines the layers: launch over project over global over bundled over the default `ask`. Throws on invalid settings. */
export function resolveSettings(layers: SettingsLayers, { home = homedir() } = {}): ResolvedSettings {
  const warnings: string[] = []
  for (const layer of ruleLayers) if (layers[layer] !== undefined) checkSettings(layers[layer], layer)
  const mode = resolveMode(layers, warnings)
  const lists = joinLists(layers, warnings)
  const isNamed = ruleLayers.some((layer) => layers[layer]?.mode === 'allowlist')
  if (lists.allowlist.length > 0 && !isNamed)
    throw new CodedError(
      'Validation/AllowlistWithoutMode',
      `there are allowlist entries (${lists.allowlist[0]!.text}), but no layer chooses the mode "allowlist"; set it, or move them to allow`,
    )
  const reads = layers.launch?.workspaceReads ?? (layers.project?.workspaceReads === 'ask' ? 'ask' : undefined)
  if (layers.project?.workspaceReads === 'allow') warnings.push(leftOut('workspaceReads "allow"'))
  const manners: DecisionSettings = deepFreeze({
    tools: joinTools(layers, warnings),
    workspaceReads: reads ?? layers.global?.workspaceReads ?? layers.bundled?.workspaceReads ?? 'allow',
  })
  const rules = Object.freeze(compileRules(lists, { home }, manners))
  return Object.freeze({ ...manners, mode, rules, lists, warnings: Object.freeze(warnings) })
}

function leftOut(what: string): string {
  return `the project's ${what} was left out: a project can only make things stricter; put it into your own settings`
}

function resolveMode({ bundled, global, project, launch }: SettingsLayers, warnings: string[]): SecurityMode {
  const own = global?.mode ?? bundled?.mode ?? 'ask'
  const asked = project?.mode ?? own
  const isLooser = securityModes.indexOf(asked) > securityModes.indexOf(own)
  if (isLooser) warnings.push(leftOut(`mode "${asked}"`))
  return launch?.mode ?? (isLooser ? own : asked)
}

function joinLists(layers: SettingsLayers, warnings: string[]): RuleLists {
  const lists = Object.fromEntries(ruleLists.map((list) => [list, new Map<string, Rule>()])) as Record<
    RuleList,
    Map<string, Rule>
  >
  for (const layer of ruleLayers) {
    for (const list of ruleLists) {
      for (const [index, entry] of (layers[layer]?.[list] ?? []).entries()) {
        const rule = parseRule(entry, { layer, list, index })
        const isLoosening = layer === 'project' && (list === 'allow' || list === 'allowlist')
        if (isLoosening) warnings.push(leftOut(`${list} rule "${rule.text}"`))
        else lists[list].set(rule.text, rule)
      }
    }
  }
  const sorted = ruleLists.map((list) => [list, Object.freeze([...lists[list].values()].sort(byText))])
  return Object.freeze(Object.fromEntries(sorted))
}

/** Compares code units, for the same order everywhere. */
function byText(a: Rule, b: Rule): number {
  if (a.text === b.text) return 0
  return a.text < b.text ? -1 : 1
}

function joinTools(layers: SettingsLayers, warnings: string[]): Record<string, ToolRule> {
  // Without a prototype: a tool may have any name.
  const tools: Record<string, ToolRule> = Object.create(null)
  for (const layer of ruleLayers) {
    for (const [name, rule] of Object.entries(layers[layer]?.tools ?? {})) {
      checkPatterns(rule.denyPatterns ?? [], `the ${layer} settings' tools.${name}.denyPatterns`)
      checkPatterns(rule.allowPatterns ?? [], `the ${layer} settings' tools.${name}.allowPatterns`)
      const below = tools[name] ?? {}
      const own = layer === 'project' ? stricterPart(name, rule, below, warnings) : rule
      const patterns = (field: 'allowPatterns' | 'denyPatterns'): ToolRule => {
        const all = [...new Set([...(below[field] ?? []), ...(own[field] ?? [])])].sort()
        return all.length > 0 ? { [field]: all } : {}
      }
      tools[name] = { ...below, ...own, ...patterns('allowPatterns'), ...patterns('denyPatterns') }
    }
  }
  return tools
}

const defaultTimeoutMs = 30_000

function stricterPart(name: string, rule: ToolRule, below: ToolRule, warnings: string[]): ToolRule {
  const { mode, allowPatterns, timeoutMs, ...strict } = rule
  const limit = below.timeoutMs ?? defaultTimeoutMs
  const isShorter = timeoutMs !== undefined && timeoutMs > 0 && (limit === 0 || timeoutMs <= limit)
  if (mode === 'auto') warnings.push(leftOut(`tools.${name}.mode "auto"`))
  if (allowPatterns?.length) warnings.push(leftOut(`tools.${name}.allowPatterns`))
  if (timeoutMs !== undefined && !isShorter) warnings.push(leftOut(`tools.${name}.timeoutMs ${timeoutMs}`))
  return { ...strict, ...(mode === 'confirm' && { mode }), ...(isShorter && { timeoutMs }) }
}

/** From strictest to loosest. */
export const securityModes: readonly SecurityMode[] = ['plan', 'ask', 'allowlist', 'yolo']

/** Throws on invalid fields. Rules and regular expressions are checked when they are compiled. */
export function checkSettings(value: unknown, layer: RuleLayer): asserts value is AuthoritySettings {
  const where = `the ${layer} settings`
  const settings = objectIn(value, where)
  knownOnly(settings, fields, where)
  const { mode, workspaceReads, tools } = settings
  if (mode !== undefined && !securityModes.includes(mode as SecurityMode)) {
    const hint = typeof mode === 'string' ? didYouMean(mode, securityModes) : ''
    throw new CodedError(
      'Validation/InvalidSecurityMode',
      `${where} have the mode ${show(mode)}${hint || `; use ${securityModes.join(', ')}`}`,
    )
  }
  for (const list of lists) {
    if (settings[list] !== undefined && !Array.isArray(settings[list]))
      throw invalid(where, list, settings[list], 'a list of rules')
  }
  oneOf(workspaceReads, ['allow', 'ask'], where, 'workspaceReads')
  if (tools !== undefined)
    for (const [name, rule] of Object.entries(objectIn(tools, `${where}' tools`)))
      checkTool(rule, `${where}' tools.${name}`)
}

const lists = ['allow', 'ask', 'deny', 'allowlist']
const fields = ['mode', ...lists, 'tools', 'workspaceReads']
const patternFields = ['allowPatterns', 'denyPatterns']
const toolFields = ['mode', ...patternFields, 'timeoutMs']

function checkTool(value: unknown, where: string): void {
  const rule = objectIn(value, where)
  knownOnly(rule, toolFields, where)
  oneOf(rule.mode, ['auto', 'confirm'], where, 'mode')
  for (const field of patternFields) {
    const patterns = rule[field]
    const isTexts = Array.isArray(patterns) && patterns.every((pattern) => typeof pattern === 'string')
    if (patterns !== undefined && !isTexts)
      throw invalid(where, field, patterns, 'a list of regular expressions as texts')
  }
  const { timeoutMs } = rule
  if (timeoutMs !== undefined && !(Number.isInteger(timeoutMs) && (timeoutMs as number) >= 0))
    throw invalid(where, 'timeoutMs', timeoutMs, 'a whole number of milliseconds, 0 for no limit')
}

function objectIn(value: unknown, where: string): Record<string, unknown> {
  if (isRecord(value)) return value
  throw new CodedError('Validation/InvalidSetting', `${where} are ${show(value)}; write an object`)
}

function knownOnly(value: Record<string, unknown>, known: readonly string[], where: string): void {
  const unknown = Object.keys(value).find((field) => !known.includes(field))
  if (unknown === undefined) return
  const hint = didYouMean(unknown, known) || `; it knows ${known.join(', ')}`
  throw new CodedError('Validation/UnknownSetting', `${where} have an unknown field ${show(unknown)}${hint}`)
}

function oneOf(value: unknown, allowed: readonly string[], where: string, field: string): void {
  if (value !== undefined && !allowed.includes(value as string))
    throw invalid(where, field, value, allowed.map((one) => `"${one}"`).join(' or '))
}

function invalid(where: string, field: string, value: unknown, wanted: string): CodedError {
  return new CodedError('Validation/InvalidSetting', `${where} have ${field}: ${show(value)}; write ${wanted}`)
}

const show = (value: unknown): string => JSON.stringify(value)?.slice(0, 200) ?? 'undefined'

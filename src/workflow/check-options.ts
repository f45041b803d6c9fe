import type { ToolRule } from '../authority/rules/settings.ts'
import { show } from '../core/behavior.ts'
import { isRecord } from '../core/is-record.ts'
import type { Provider } from '../core/provider.ts'
import { isThinkingLevel } from '../core/thinking.ts'
import { checkOptions, clockRule, isFunction, type OptionRule, type OptionRules } from '../providers/options.ts'
import { withRetry } from '../providers/retry.ts'
import { checkSnapshotOptions } from '../snapshots/check-options.ts'
import type { NewAgent, WorkflowOptions, WorkflowSettings } from './workflow-contract.ts'

/** Throws on unknown or invalid options of a workflow. Definitions are checked one by one, later. */
export function checkWorkflowOptions(options: WorkflowOptions): void {
  checkOptions('createWorkflow', options, workflowRules)
  const { provider, definitions, handlers = {}, settings = {}, snapshots = {}, work = 'here', onWork } = options
  if (onWork && work === 'here')
    throw new TypeError(`createWorkflow option "onWork" is for work: 'elsewhere': this process works itself`)
  if (typeof provider !== 'function' && typeof provider?.stream !== 'function')
    throw new TypeError(
      `createWorkflow needs a provider, or a function of a definition that gives one, got ${show(provider)}`,
    )
  if (!Array.isArray(definitions))
    throw new TypeError(`createWorkflow needs a list of definitions, got ${show(definitions)}`)
  for (const [id, handler] of Object.entries(handlers))
    if (typeof handler !== 'function')
      throw new TypeError(`createWorkflow option "handlers": "${id}" must be a function, got ${show(handler)}`)
  checkSettingNames(settings)
  checkSnapshotOptions('createWorkflow option "snapshots"', snapshots)
}

/** Throws on unknown or invalid options of a new agent. */
export function checkNewAgent(given: NewAgent): void {
  checkOptions('workflow.createAgent', given, newAgentRules)
}

/** Throws on invalid settings. */
export async function checkSettings(settings: WorkflowSettings): Promise<void> {
  checkSettingNames(settings)
  const { approval, retry } = settings
  if (approval !== undefined) await checkRules(approval)
  if (retry !== undefined) withRetry(noProvider, retry) // it checks its options
}

/** Checks the names only: the rules are checked by the authority, which is loaded later. */
function checkSettingNames(settings: WorkflowSettings): void {
  checkOptions('settings of a workflow', settings, { approval: anObject, retry: anObject })
}

/** Throws on rules that the authority does not understand. */
export async function checkRules(tools: Readonly<Record<string, ToolRule>>): Promise<void> {
  const { resolveSettings } = await import('../authority/rules/settings.ts')
  resolveSettings({ launch: { tools } })
}

const noProvider: Provider = { meta: { name: '', defaultModel: '' }, async *stream() {} }

/** Has a check of its own, with its own error text. */
const checkedElsewhere: OptionRule = [() => true, '']

const aFunction: OptionRule = [isFunction, 'a function']
const anObject: OptionRule = [isRecord, 'an object']
const aText: OptionRule = [(value) => typeof value === 'string', 'a text']

const workflowRules: OptionRules<WorkflowOptions> = {
  provider: checkedElsewhere,
  definitions: checkedElsewhere,
  store: having('a store', 'append', 'read'),
  plugins: [Array.isArray, 'a list'],
  handlers: anObject,
  knowledge: having('a store of wikis', 'workspaces', 'open'),
  embed: aFunction,
  execution: having('an execution context', 'spawn', 'exec'),
  authority: anObject,
  settings: anObject,
  skills: anObject,
  mcpConnector: aFunction,
  extensions: [Array.isArray, 'a list'],
  thinking: [isThinkingLevel, '"off", "minimal", "low", "medium", "high" or "adaptive"'],
  withoutTools: [Array.isArray, 'a list of names'],
  snapshots: anObject,
  batchTimeoutMs: [(value) => typeof value === 'number' && value >= 0, 'a number of at least 0'],
  work: [(value) => value === 'here' || value === 'elsewhere', '"here" or "elsewhere"'],
  onWork: aFunction,
  maxIdleAgents: [(value) => Number.isInteger(value) && Number(value) >= 0, 'a whole number of at least 0'],
  clock: clockRule,
  newId: aFunction,
  onError: aFunction,
}

const newAgentRules: OptionRules<NewAgent> = {
  id: checkedElsewhere,
  name: aText,
  handlerId: aText,
  config: checkedElsewhere,
  tenant: aText,
  volatile: [(value) => typeof value === 'boolean', 'true or false'],
}

function having(what: string, ...methods: readonly string[]): OptionRule {
  const isRight = (value: unknown): boolean => isRecord(value) && methods.every((name) => isFunction(value[name]))
  return [isRight, `${what} with ${methods.map((name) => `${name}()`).join(' and ')}`]
}

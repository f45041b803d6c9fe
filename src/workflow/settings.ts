import type { ToolRule } from '../authority/rules/settings.ts'
import { isRecord } from '../core/is-record.ts'
import type { Provider } from '../core/provider.ts'
import { checkOptions, type OptionRule, type OptionRules } from '../providers/options.ts'
import { type RetryOptions, withRetry } from '../providers/retry.ts'

/** What people set for all agents. It holds from the next call on, in runs under way too. */
export interface WorkflowSettings {
  /** Rules of the authority, by the name of the tool; they come on top of those of definitions. */
  readonly approval?: Readonly<Record<string, ToolRule>>
  /** How failed requests are sent again. Without it, that is the provider's own affair. */
  readonly retry?: RetryOptions
}

/** Throws on settings that cannot be meant, before they hold for anybody. */
export async function checkSettings(settings: WorkflowSettings): Promise<void> {
  checkSettingNames(settings)
  const { approval, retry } = settings
  if (approval !== undefined) await checkRules(approval)
  if (retry !== undefined) withRetry(noProvider, retry) // it checks them when it is made
}

/** As much of it as can be told at once: what is in the rules is known to the authority, which is loaded later. */
export function checkSettingNames(settings: WorkflowSettings): void {
  checkOptions('settings of a workflow', settings, rules)
}

/** Throws on rules of tools that the authority does not understand. */
export async function checkRules(tools: Readonly<Record<string, ToolRule>>): Promise<void> {
  const { resolveSettings } = await import('../authority/rules/settings.ts')
  resolveSettings({ launch: { tools } })
}

const anObject: OptionRule = [isRecord, 'an object']
const rules: OptionRules<WorkflowSettings> = { approval: anObject, retry: anObject }

const noProvider: Provider = { meta: { name: '', defaultModel: '' }, async *stream() {} }

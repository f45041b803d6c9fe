import { CodedError } from '../../core/errors.ts'
import { isRecord } from '../../core/is-record.ts'
import { didYouMean } from '../../core/nearest.ts'
import type { RuleLayer } from './rule-entry.ts'
import type { AuthoritySettings, SecurityMode } from './settings.ts'

/** From the strictest to the loosest. */
export const securityModes: readonly SecurityMode[] = ['plan', 'ask', 'allowlist', 'yolo']

/** Refuses settings that are not what they should be, field by field; rules and regular expressions are checked where they are compiled. */
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

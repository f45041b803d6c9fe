import type { RuleEntry } from '../../authority/rules/settings.ts'
import { didYouMean } from '../../core/nearest.ts'
import { fullyVisible } from '../../platform/visible-text.ts'

/** Notices about rules that name no tool or effect, probably because of a typo: such a `deny` protects nothing. */
export function ruleTypos(rules: readonly RuleEntry[], tools: readonly string[]): string[] {
  const names = [...tools, ...effects]
  return [...new Set(rules.map((rule) => (typeof rule === 'string' ? rule : rule.rule)))].flatMap((rule) => {
    const [name = ''] = rule.split(':', 1)
    // A name that resembles none may be that of a tool added later.
    const meant = names.includes(name) ? '' : didYouMean(name, names)
    return meant === '' ? [] : [`The rule "${fullyVisible(rule).slice(0, 120)}" matches no tool${meant}`]
  })
}

const effects = ['fs.read', 'fs.write', 'exec', 'net', 'spawn', 'schedule.write', 'ask', 'unknown', 'mcp']

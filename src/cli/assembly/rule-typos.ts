import type { RuleEntry } from '../../authority/rules/settings.ts'
import { didYouMean } from '../../core/nearest.ts'
import { fullyVisible } from '../../platform/visible-text.ts'

/** Rules that are about nothing because of a slip: a `deny` of that kind only looks like protection. */
export function ruleTypos(rules: readonly RuleEntry[], tools: readonly string[]): string[] {
  const names = [...tools, ...effects]
  return [...new Set(rules.map((rule) => (typeof rule === 'string' ? rule : rule.rule)))].flatMap((rule) => {
    const [name = ''] = rule.split(':', 1)
    // A name that is like none may be that of a tool which comes later.
    const meant = names.includes(name) ? '' : didYouMean(name, names)
    return meant === '' ? [] : [`The rule "${fullyVisible(rule).slice(0, 120)}" is about no tool that is here${meant}`]
  })
}

const effects = ['fs.read', 'fs.write', 'exec', 'net', 'spawn', 'schedule.write', 'ask', 'unknown', 'mcp']

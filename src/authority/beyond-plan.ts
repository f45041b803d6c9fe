import type { DecisionContext } from './decision-context.ts'
import { type EffectFact, factsOf, type JudgedCall, type ShellFacts } from './judged-call.ts'
import { hasSandbox, whyNotConfined } from './placement.ts'
import { needsNoPermission } from './reading-line.ts'

/** What in a call is not read-only, in words; undefined if `plan` allows it. */
export function beyondPlan(call: JudgedCall, context: DecisionContext): string | undefined {
  const { effects, shell } = call
  if (shell) return lineBeyondPlan(call, shell, context)
  const beyond = effects.find(isBeyond)
  if (!beyond) return undefined
  const about = beyond.target === undefined ? '' : ` (${beyond.target})`
  return `this call ${words[beyond.effect] ?? `uses ${beyond.effect}`}${about}`
}

function lineBeyondPlan(call: JudgedCall, shell: ShellFacts, context: DecisionContext): string | undefined {
  if (call.isOutside && hasSandbox(context)) return 'this line asks to run outside any sandbox'
  if (needsNoPermission(call) || call.strict?.isStrict) return undefined
  const missing = whyNotConfined('read-only', context)
  if (missing !== undefined) return `${missing}; without one a line must be a single plain command: ${call.strict?.why}`
  if (!shell.isWhole) return 'this line could not be read whole'
  const changing = shell.commands.find(({ inside }) => inside !== 'reads')
  if (changing) {
    const why =
      changing.why ?? (shell.obstacles.length > 0 ? `it cannot be inspected: ${shell.obstacles[0]}` : undefined)
    return `${changing.command.words[0] ?? 'an assignment'} may do more${why === undefined ? '' : `: ${why}`}`
  }
  const written = factsOf(call).find(({ effect }) => effect === 'fs.write' || effect === 'schedule.write')
  return written && `this line writes${written.target === undefined ? '' : ` (${written.target})`}`
}

const isBeyond = ({ effect }: EffectFact): boolean => changing.includes(effect) || effect.startsWith('mcp:')

const changing: readonly string[] = ['fs.write', 'exec', 'schedule.write', 'unknown']

const words: Readonly<Record<string, string>> = {
  'fs.write': 'writes',
  exec: 'runs something',
  'schedule.write': 'changes when an agent is woken',
  unknown: 'does not say what it does',
}

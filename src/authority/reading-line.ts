import { type CommandFacts, type EffectFact, factsOf, type JudgedCall, type ShellFacts } from './judged-call.ts'
import type { SecurityMode } from './rules/settings.ts'

/**
 * Whether every command of a line is known to only read, or in `ask` and `allowlist` to check, and no file outside the
 * workspace is named. What else it may reach, the sandbox `read-only` withholds.
 */
export function isReadingLine({ shell, effects, origin }: JudgedCall, mode: SecurityMode): boolean {
  if (!shell?.isWhole || shell.commands.length === 0 || origin.layer === 'project' || origin.layer === 'mcp')
    return false
  const isKnown = ({ inside }: CommandFacts): boolean => inside === 'reads' || (inside === 'checks' && mode !== 'plan')
  if (!shell.commands.every(isKnown)) return false
  const ofLine = shell.commands.flatMap((command) => command.effects)
  const count = (facts: readonly EffectFact[]): number => facts.filter(isUnnamed).length
  // If the tool declares effects its line does not have, they may bypass the sandbox.
  return [...effects, ...ofLine].every(isWithheld) && count(effects) <= count(ofLine)
}

const isUnnamed = ({ effect, target }: EffectFact): boolean =>
  effect === 'unknown' || (effect === 'net' && target === undefined)

/** Whether the effect is harmless in the sandbox `read-only`: it reads in the workspace, or cannot happen. */
const isWithheld = (fact: EffectFact): boolean =>
  fact.effect === 'exec' ||
  isUnnamed(fact) ||
  (fact.effect === 'fs.read' && (fact.isOutside !== true || fact.target === undefined))

/** Whether the call only reads inside the workspace: a tool, or a line that does so wherever it may run. */
export function isWorkspaceReading(call: JudgedCall, mode: SecurityMode): boolean {
  if (!call.shell) return call.effects.every(isWorkspaceRead)
  return isReadingLine(call, mode) || (call.strict?.isStrict === true && onlyReads(call))
}

/** Whether the call needs no permission: no effect, only a question to a person, or a line such as `cd src && pwd`. */
export function needsNoPermission(call: JudgedCall): boolean {
  if (!call.shell) return call.effects.every(({ effect }) => effect === 'ask')
  return isPlainLine(call.shell) && call.shell.commands.every(({ table }) => table === 'neutral') && onlyReads(call)
}

function isPlainLine({ isWhole, obstacles, commands }: ShellFacts): boolean {
  const isKnown = isWhole && obstacles.length === 0 && commands.length > 0
  return isKnown && commands.every(({ command }) => !command.isNested)
}

const onlyReads = (call: JudgedCall): boolean =>
  factsOf(call).every((fact) => fact.effect === 'exec' || isWorkspaceRead(fact))

const isWorkspaceRead = ({ effect, isOutside }: EffectFact): boolean => effect === 'fs.read' && isOutside !== true

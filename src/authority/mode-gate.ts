import { type EffectFact, factsOf, type JudgedCall, type ShellFacts } from './judged-call.ts'

/** What of a call goes beyond looking, in words; undefined where `plan` lets it pass. */
export function beyondPlan({ effects, shell }: JudgedCall): string | undefined {
  if (shell) {
    if (!shell.isWhole) return 'this line could not be read whole'
    if (shell.obstacles.length > 0) return `this line may do more than it says: ${shell.obstacles[0]}`
    const changing = shell.commands.find(({ isReadOnly, command }) => !isReadOnly || command.isNested)
    if (changing)
      return `${changing.command.words[0] ?? 'a redirection'} may do more${changing.why ? `: ${changing.why}` : ''}`
  }
  const beyond = effects.find((fact) => isBeyond(fact) && !(shell && fact.effect === 'exec'))
  if (!beyond) return undefined
  const about = beyond.target === undefined ? '' : ` (${beyond.target})`
  return `this call ${words[beyond.effect] ?? `uses ${beyond.effect}`}${about}`
}

const isBeyond = ({ effect }: EffectFact): boolean => changing.includes(effect) || effect.startsWith('mcp:')

const changing: readonly string[] = ['fs.write', 'exec', 'schedule.write', 'unknown']

const words: Readonly<Record<string, string>> = {
  'fs.write': 'writes',
  exec: 'runs something',
  'schedule.write': 'changes when an agent is woken',
  unknown: 'does not say what it does',
}

/** Whether nothing of it is worth a question: no effect, or asking a person, or a line like `cd src && pwd`. */
export function needsNoPermission(call: JudgedCall): boolean {
  if (!call.shell) return call.effects.every(({ effect }) => effect === 'ask')
  return isPlainLine(call.shell) && call.shell.commands.every(({ table }) => table === 'neutral') && onlyReads(call)
}

/** `tool`: all it does is read inside the workspace; `line`: a shell line of which that is true. */
export function readOnlyKind(call: JudgedCall): 'tool' | 'line' | undefined {
  if (!call.shell) return call.effects.every(isWorkspaceRead) ? 'tool' : undefined
  const isLooking = isPlainLine(call.shell) && call.shell.commands.every(({ isReadOnly }) => isReadOnly)
  return isLooking && onlyReads(call) ? 'line' : undefined
}

function isPlainLine({ isWhole, obstacles, commands }: ShellFacts): boolean {
  const isKnown = isWhole && obstacles.length === 0 && commands.length > 0
  return isKnown && commands.every(({ command }) => !command.isNested)
}

const onlyReads = (call: JudgedCall): boolean =>
  factsOf(call).every((fact) => fact.effect === 'exec' || isWorkspaceRead(fact))

const isWorkspaceRead = ({ effect, isOutside }: EffectFact): boolean => effect === 'fs.read' && isOutside !== true

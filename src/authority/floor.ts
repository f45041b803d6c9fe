import type { Decision } from '../core/authority.ts'
import type { DecisionContext } from './decide.ts'
import { type EffectFact, factsOf, type JudgedCall } from './judged-call.ts'
import { type Protect, protection } from './rules/protected-paths.ts'

/** What is not allowed silently, whoever allowed it, and what whoever is asked has to know: a decision in place of `found`. */
export function floorOf(call: JudgedCall, context: DecisionContext, found: Decision): Decision | undefined {
  const hurt = whyProtected(call, context)
  if (hurt !== undefined) return floorDecision(hurt, context)
  const changed = whyChanged(call)
  const isQuiet = found.verdict === 'allow' && found.by !== 'grant'
  const doubt = changed === undefined && isQuiet ? whyUncertain(call, context) : undefined
  const why = changed ?? doubt
  if (why === undefined) return undefined
  // Whoever approved this very call saw as much of it as there is to see. It lifts what is asked here, and nothing else.
  const before = isIdentifiable(call) ? granted(context) : undefined
  if (before) return found.verdict === 'allow' ? before : undefined
  return { ...floorDecision(why, context), ...(changed !== undefined && { rule: changedDefinition }) }
}

/** The `rule` of a decision that was made only because a tool is not what was accepted. */
export const changedDefinition = 'changed definition'

function floorDecision(why: string, { floor }: DecisionContext): Decision {
  return floor === 'deny'
    ? { verdict: 'deny', by: 'floor', why: `${why}; a person would have to approve it`, code: 'ApprovalDenied' }
    : { verdict: 'ask', by: 'floor', why: `${why}; this is asked about in every mode` }
}

function whyChanged({ origin }: JudgedCall): string | undefined {
  if (origin.isChanged !== true) return undefined
  if (origin.layer !== 'mcp') return 'the tool is not what it was when it was accepted'
  return 'the server changed what this tool says about itself since it was accepted'
}

/** Without a digest nobody can tell whether an approval was given for what the tool was or for what it became. */
const isIdentifiable = ({ origin }: JudgedCall): boolean => origin.isChanged !== true || origin.digest !== undefined

/** What somebody approved before, if that still holds. */
export function granted({ grant }: DecisionContext): Decision | undefined {
  const found = grant?.()
  return found && { verdict: 'allow', by: 'grant', why: `${found.grantedBy} approved it before (${found.scope})` }
}

function whyProtected(call: JudgedCall, { protect = protection }: DecisionContext): string | undefined {
  if (call.shell?.catastrophe !== undefined) return call.shell.catastrophe
  for (const fact of factsOf(call)) {
    const found = protectedFact(fact, protect)
    if (found !== undefined) return found
  }
  return undefined
}

function protectedFact({ effect, target, isDeep }: EffectFact, protect: Protect): string | undefined {
  if (target === undefined || (effect !== 'fs.read' && effect !== 'fs.write')) return undefined
  const found = protect(target, isDeep)
  if (!found) return undefined
  if (effect === 'fs.write') return `it writes ${target}, which is protected: ${found.write}`
  return found.read === undefined ? undefined : `it reads ${target}, which is protected: ${found.read}`
}

function whyUncertain(call: JudgedCall, { rules }: DecisionContext): string | undefined {
  const doubt = rules.possibleMatch(call)
  if (!doubt) return undefined
  const unknown =
    call.shell && !call.shell.isWhole ? 'the line could not be read whole' : 'it does not say what it is about'
  return `${unknown}, so nobody can tell whether "${doubt.text}" (${doubt.layer}) holds`
}

import type { Decision } from '../core/authority.ts'
import type { DecisionContext } from './decide.ts'
import { type EffectFact, factsOf, type JudgedCall } from './judged-call.ts'
import { type Protect, protection } from './rules/protected-paths.ts'

/** What is not allowed silently, whoever allowed it: a decision in place of `allowed`, or nothing. */
export function floorOf(call: JudgedCall, context: DecisionContext, allowed: Decision): Decision | undefined {
  const why = reasonOf(call, context, allowed)
  if (why === undefined) return undefined
  return context.floor === 'deny'
    ? { verdict: 'deny', by: 'floor', why: `${why}; a person would have to approve it`, code: 'ApprovalDenied' }
    : { verdict: 'ask', by: 'floor', why: `${why}; this is asked about in every mode` }
}

function reasonOf(call: JudgedCall, context: DecisionContext, { by }: Decision): string | undefined {
  const { protect = protection, rules, grant } = context
  const { shell } = call
  if (shell?.catastrophe !== undefined) return shell.catastrophe
  for (const fact of factsOf(call)) {
    const found = protectedFact(fact, protect)
    if (found !== undefined) return found
  }
  const doubt = rules.doubt(call)
  // Whoever approved this very call saw as much of it as there is to see.
  if (!doubt || by === 'grant' || grant?.()) return undefined
  const unknown = shell && !shell.isWhole ? 'the line could not be read whole' : 'it does not say what it is about'
  return `${unknown}, so nobody can tell whether "${doubt.text}" (${doubt.layer}) holds`
}

function protectedFact({ effect, target, isDeep }: EffectFact, protect: Protect): string | undefined {
  if (target === undefined || (effect !== 'fs.read' && effect !== 'fs.write')) return undefined
  const found = protect(target, isDeep)
  if (!found) return undefined
  if (effect === 'fs.write') return `it writes ${target}, which is protected: ${found.write}`
  return found.read === undefined ? undefined : `it reads ${target}, which is protected: ${found.read}`
}

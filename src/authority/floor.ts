import { posix } from 'node:path'
import type { Decision } from '../core/authority.ts'
import { showsHistory } from '../shell/tables/git.ts'
import type { DecisionContext } from './decision-context.ts'
import { type EffectFact, factsOf, type JudgedCall } from './judged-call.ts'
import { granted, hasSandbox, hidesFiles, isFloorEnforced } from './placement.ts'
import { type Protect, protection } from './rules/protected-paths.ts'

/**
 * Finds the calls that need an approval in every mode, whatever decided before (`found`). Returns the decision in place of
 * `found`; undefined if `found` stands. Such calls are, in this order:
 * 1. those that touch protected files or destroy the workspace; no grant covers them;
 * 2. those that ask to run outside any sandbox;
 * 3. those of a tool whose definition changed since a person accepted it;
 * 4. those that are allowed although a rule may apply to them: it is uncertain what they touch.
 */
export function floorOf(call: JudgedCall, context: DecisionContext, found: Decision): Decision | undefined {
  const asksToLeave = call.isOutside === true && hasSandbox(context)
  const protectedReason = whyProtected(call, context)
  if (protectedReason !== undefined)
    return asksToLeave
      ? floorDecision(`${leaves}, and ${protectedReason}`, context, 'outside')
      : floorDecision(protectedReason, context)
  if (asksToLeave && found.by !== 'grant') return granted(call, context) ?? askedToLeave(context, found)
  const changed = whyChanged(call)
  if (changed !== undefined)
    return unlessGranted(call, context, found, { ...floorDecision(changed, context), rule: changedDefinition })
  const isAllowedWithoutQuestion = found.verdict === 'allow' && found.by !== 'grant'
  const uncertain = isAllowedWithoutQuestion ? whyUncertain(call, context, found) : undefined
  return uncertain === undefined ? undefined : unlessGranted(call, context, found, floorDecision(uncertain, context))
}

/** The question, unless a grant answers it. A grant replaces only this question: if `found` asks or denies, that stands. */
function unlessGranted(
  call: JudgedCall,
  context: DecisionContext,
  found: Decision,
  question: Decision,
): Decision | undefined {
  const grant = hasKnownDefinition(call) ? granted(call, context) : undefined
  if (!grant) return question
  return found.verdict === 'allow' ? grant : undefined
}

/** The `rule` of a decision about a call that asks to run outside any sandbox. */
export const outsideRequest = 'outside any sandbox'

const leaves = 'it asks to run outside any sandbox'

function askedToLeave(context: DecisionContext, found: Decision): Decision {
  const why = found.by === 'ask-rule' ? `${leaves}, and ${found.why}` : leaves
  return { ...floorDecision(why, context, 'outside'), rule: outsideRequest }
}

/** The `rule` of a decision made only because a tool's definition changed since it was accepted. */
export const changedDefinition = 'changed definition'

/** Asks, or denies if the settings say that the floor denies. */
function floorDecision(why: string, { floor }: DecisionContext, confinement?: 'outside'): Decision {
  if (floor === 'deny')
    return { verdict: 'deny', by: 'floor', why: `${why}; a person would have to approve it`, code: 'ApprovalDenied' }
  const asked = `${why}; this is asked about in every mode`
  return { verdict: 'ask', by: 'floor', why: asked, ...(confinement && { confinement }) }
}

function whyChanged({ origin }: JudgedCall): string | undefined {
  if (origin.isChanged !== true) return undefined
  if (origin.layer !== 'mcp') return 'the tool is not what it was when it was accepted'
  return 'the server changed what this tool says about itself since it was accepted'
}

/** Without a digest it is not known whether a grant was for the old or the new definition. */
const hasKnownDefinition = ({ origin }: JudgedCall): boolean => origin.isChanged !== true || origin.digest !== undefined

function whyProtected(call: JudgedCall, context: DecisionContext): string | undefined {
  const { protect = protection } = context
  const isEnforced = isFloorEnforced(call, context)
  if (call.shell?.catastrophe !== undefined && !(isEnforced && call.shell.isHarmlessInside))
    return call.shell.catastrophe
  for (const fact of factsOf(call)) {
    if (isEnforced && !isBelowUnprotectedTop(fact, context)) continue
    const found = protectedFact(fact, protect)
    if (found !== undefined) return found
  }
  return undefined
}

/**
 * A sandbox protects only protected names at the top of the workspace (and repositories). One in a subfolder must be
 * found in the words of the line.
 */
function isBelowUnprotectedTop(
  { effect, target, isOutside }: EffectFact,
  { root = '/', protect = protection }: DecisionContext,
): boolean {
  if (effect !== 'fs.write' || isOutside || target === undefined) return false
  const [top = ''] = posix.relative(root, posix.resolve(root, target)).split('/')
  return protect(top) === undefined
}

function protectedFact({ effect, target, isDeep }: EffectFact, protect: Protect): string | undefined {
  if (target === undefined || (effect !== 'fs.read' && effect !== 'fs.write')) return undefined
  const found = protect(target, isDeep)
  if (!found) return undefined
  if (effect === 'fs.write') return `it writes ${target}, which is protected: ${found.write}`
  return found.read === undefined ? undefined : `it reads ${target}, which is protected: ${found.read}`
}

function whyUncertain(call: JudgedCall, context: DecisionContext, found: Decision): string | undefined {
  const { rules } = context
  const isHiding = hidesFiles(call, context, found)
  const doubt = rules.possibleMatch(call, isHiding ? 'fs.read' : undefined)
  if (!doubt) return whyHistory(call, context)
  const unknown =
    call.shell && !call.shell.isWhole ? 'the line could not be read whole' : 'it does not say what it is about'
  return `${unknown}, so it is not known whether "${doubt.text}" (${doubt.layer}) applies`
}

/** A file that is hidden can still be read from the repository. */
function whyHistory({ shell }: JudgedCall, { rules }: DecisionContext): string | undefined {
  const { deniedReads, askedReads } = rules.places
  if (deniedReads.length + askedReads.length === 0) return undefined
  const shown = shell?.commands.find(
    ({ command: { words } }) => /^(.*\/)?git$/.test(words[0] ?? '') && showsHistory(words.slice(1)),
  )
  return (
    shown && `git ${shown.command.words[1]} may show files that rules deny or ask about, as the repository holds them`
  )
}

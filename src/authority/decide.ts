import type { DecidedBy, Decision } from '../core/authority.ts'
import { type EffectFact, factsOf, type JudgedCall, type ShellFacts } from './judged-call.ts'
import { type Protect, protection } from './rules/protected-paths.ts'
import type { CompiledRules, Rule } from './rules/rules.ts'
import type { SecurityMode } from './rules/settings.ts'

/** What a decision depends on besides the call. */
export interface DecisionContext {
  readonly mode: SecurityMode
  readonly rules: CompiledRules
  /** The workspace, absolute, for rules with absolute paths. */
  readonly root?: string
  readonly stage?: StageVerdict
  /** Finds a grant that covers the call. Not called where no approval is needed, as in `yolo`. */
  readonly grant?: () => { readonly scope: string; readonly grantedBy: string } | undefined
  /** Matches of the regular expressions of the tool's rule, which a thread evaluates beforehand. */
  readonly patterns?: { readonly deny?: string; readonly allow?: string } | undefined
  /** What happens to calls that always need an approval; `deny` where no person can be asked. Default `ask`. */
  readonly floor?: 'ask' | 'deny'
  /** The protected paths. Default: by name alone. */
  readonly protect?: Protect
}

/** `envelope`: the stage allows the tool. `token`: it allowed this one call. `deny`, with a code. `defer`: a person decides. */
export type StageVerdict =
  | { readonly verdict: 'envelope' | 'token' }
  | { readonly verdict: 'deny'; readonly code: string; readonly why: string }
  | { readonly verdict: 'defer' }

/** Decides about a call. The only function that does. Pure: the same call and context give the same decision and reason. */
export function decide(call: JudgedCall, context: DecisionContext): Decision {
  if (!call.gated) return allow('ungated', 'the tool needs no permission')
  const decision = deniedByRuleOrPlan(call, context) ?? decidedByStage(call, context)
  if (decision?.verdict === 'deny') return decision
  const deferred = decision?.verdict === 'ask' ? decision : undefined
  const found =
    deferred ??
    askedByRule(call, context) ??
    decision ??
    allowedByGrantOrRule(call, context) ??
    decidedByMode(call, context)
  return floorOf(call, context, found) ?? found
}

/** Denials that nothing overrides: deny rules, then the mode `plan`. */
function deniedByRuleOrPlan(call: JudgedCall, { mode, rules, root, patterns }: DecisionContext): Decision | undefined {
  const found = rules.matchDeny(call, root)
  if (found) return { ...byRules('deny', 'deny-rule', 'denied by', found), code: 'ApprovalDenied' }
  if (patterns?.deny !== undefined) {
    const why = `denied by the pattern ${patterns.deny} of the rule for ${call.tool}`
    return { verdict: 'deny', by: 'deny-rule', rule: patterns.deny, why, code: 'ApprovalDenied' }
  }
  const beyond = mode === 'plan' ? beyondPlan(call) : undefined
  if (beyond === undefined) return undefined
  return {
    verdict: 'deny',
    by: 'plan',
    why: `the mode is plan, which is read-only, and ${beyond}`,
    code: 'ApprovalDenied',
  }
}

function decidedByStage({ origin }: JudgedCall, { stage }: DecisionContext): Decision | undefined {
  switch (stage?.verdict) {
    case 'envelope':
      // The stage names a tool. A project's tool of the same name needs an approval like any other.
      if (origin.layer === 'project') return undefined
      return allow('sm-envelope', 'the current stage allows this tool')
    case 'token':
      return allow('sm-grant-token', 'the current stage granted this very call')
    case 'deny':
      return { verdict: 'deny', by: 'sm-grant-token', why: stage.why, code: stage.code }
    case 'defer':
      return { verdict: 'ask', by: 'sm-grant-token', why: 'the current stage leaves this call to a person' }
    default:
      return undefined
  }
}

function askedByRule(call: JudgedCall, context: DecisionContext): Decision | undefined {
  const found = context.rules.matchAsk(call, context.root)
  return found && (granted(context) ?? byRules('ask', 'ask-rule', 'asked about because of', found))
}

function allowedByGrantOrRule(call: JudgedCall, context: DecisionContext): Decision | undefined {
  const { mode, rules, root, patterns } = context
  // In `yolo` no approval is needed, so grants are not searched.
  const before = mode === 'yolo' ? undefined : granted(context)
  if (before) return before
  // A rule means the tool its author knew, not a project's tool of the same name.
  if (call.origin.layer === 'project') return decidedByToolRule(call, context, ['confirm'])
  const found = rules.matchAllow(call, root)
  if (found) return byRules('allow', 'allow-rule', 'allowed by', found)
  if (patterns?.allow !== undefined && isOneCommand(call)) {
    const why = `allowed by the pattern ${patterns.allow} of the rule for ${call.tool}`
    return { verdict: 'allow', by: 'allow-rule', rule: patterns.allow, why }
  }
  return decidedByToolRule(call, context, ['auto', 'confirm'])
}

/** The decision by `tools.<name>.mode`. */
function decidedByToolRule(
  call: JudgedCall,
  context: DecisionContext,
  counted: readonly string[],
): Decision | undefined {
  const { mode, rules } = context
  const own = Object.hasOwn(rules.tools, call.tool) ? rules.tools[call.tool]!.mode : undefined
  if (own === undefined || !counted.includes(own)) return undefined
  if (own === 'auto')
    return named('allow', 'allow-rule', `tools.${call.tool}.mode: auto`, `${call.tool} is set to auto`)
  const ask = named('ask', 'ask-rule', `tools.${call.tool}.mode: confirm`, `${call.tool} is set to confirm`)
  return mode === 'yolo' ? (granted(context) ?? ask) : ask
}

/** A regular expression matches a line as text, so it may allow only a single plain command. */
function isOneCommand({ shell }: JudgedCall): boolean {
  if (!shell) return true
  const { isWhole, obstacles, commands } = shell
  if (!isWhole || obstacles.length > 0 || commands.length !== 1) return false
  return (
    !commands[0]!.command.isNested && commands[0]!.command.redirects.every(({ operator }) => !operator.includes('>'))
  )
}

function decidedByMode(call: JudgedCall, { mode, rules, root }: DecisionContext): Decision {
  if (mode === 'yolo') return allow('mode-gate', 'the mode is yolo')
  if (mode === 'allowlist' && call.origin.layer !== 'project') {
    const found = rules.matchAllowlist(call, root)
    if (found) return byRules('allow', 'mode-gate', 'on the allowlist:', found)
  }
  if (needsNoPermission(call)) return allow('mode-gate', 'it changes nothing and reaches nothing')
  const kind = readOnlyKind(call)
  const isQuiet = kind === 'tool' || (kind === 'line' && mode === 'plan' && !rules.isPlanFromProject)
  if (isQuiet && rules.workspaceReads === 'allow') return allow('mode-gate', 'it only reads inside the workspace')
  const miss = mode === 'allowlist' ? 'it is not on the allowlist' : `the mode is ${mode}`
  return { verdict: 'ask', by: 'mode-gate', why: `${miss}, and no rule or approval covers it${moreAbout(call)}` }
}

/** Why no rule could cover the shell line, if the line itself is the reason. */
function moreAbout({ shell }: JudgedCall): string {
  if (!shell) return ''
  if (shell.obstacles.length > 0) return `; it cannot be inspected: ${shell.obstacles.join(', ')}`
  const refused = shell.commands.find(({ table }) => table === 'refuses')
  return refused?.why === undefined ? '' : `; ${refused.why}`
}

const allow = (by: DecidedBy, why: string): Decision => ({ verdict: 'allow', by, why })

const named = (verdict: Decision['verdict'], by: DecidedBy, rule: string, why: string): Decision => ({
  verdict,
  by,
  rule,
  why,
})

function byRules(verdict: Decision['verdict'], by: DecidedBy, words: string, rules: readonly Rule[]): Decision {
  const named = rules.map(({ text, layer, why }) => `"${text}" (${layer})${why === undefined ? '' : `: ${why}`}`)
  return { verdict, by, rule: rules.map(({ text }) => text).join(', '), why: `${words} ${named.join(', ')}` }
}

/** What in a call is not read-only, in words; undefined if `plan` allows it. */
function beyondPlan({ effects, shell }: JudgedCall): string | undefined {
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

/** Whether the call needs no permission: no effect, only a question to a person, or a line such as `cd src && pwd`. */
function needsNoPermission(call: JudgedCall): boolean {
  if (!call.shell) return call.effects.every(({ effect }) => effect === 'ask')
  return isPlainLine(call.shell) && call.shell.commands.every(({ table }) => table === 'neutral') && onlyReads(call)
}

/** Whether the call only reads inside the workspace, as a `tool` or as a shell `line`. */
function readOnlyKind(call: JudgedCall): 'tool' | 'line' | undefined {
  if (!call.shell) return call.effects.every(isWorkspaceRead) ? 'tool' : undefined
  const isReadOnly = isPlainLine(call.shell) && call.shell.commands.every((command) => command.isReadOnly)
  return isReadOnly && onlyReads(call) ? 'line' : undefined
}

function isPlainLine({ isWhole, obstacles, commands }: ShellFacts): boolean {
  const isKnown = isWhole && obstacles.length === 0 && commands.length > 0
  return isKnown && commands.every(({ command }) => !command.isNested)
}

const onlyReads = (call: JudgedCall): boolean =>
  factsOf(call).every((fact) => fact.effect === 'exec' || isWorkspaceRead(fact))

const isWorkspaceRead = ({ effect, isOutside }: EffectFact): boolean => effect === 'fs.read' && isOutside !== true

/** Calls that need an approval in every mode, whatever allowed them. Returns a decision that replaces `found`. */
function floorOf(call: JudgedCall, context: DecisionContext, found: Decision): Decision | undefined {
  const hurt = whyProtected(call, context)
  if (hurt !== undefined) return floorDecision(hurt, context)
  const changed = whyChanged(call)
  const isQuiet = found.verdict === 'allow' && found.by !== 'grant'
  const doubt = changed === undefined && isQuiet ? whyUncertain(call, context) : undefined
  const why = changed ?? doubt
  if (why === undefined) return undefined
  // A grant for this call overrides what is asked here, and nothing else: the person saw the same information.
  const before = isIdentifiable(call) ? granted(context) : undefined
  if (before) return found.verdict === 'allow' ? before : undefined
  return { ...floorDecision(why, context), ...(changed !== undefined && { rule: changedDefinition }) }
}

/** The `rule` of a decision made only because a tool's definition changed since it was accepted. */
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

/** Without a digest a grant may belong to the old or to the new definition. */
const isIdentifiable = ({ origin }: JudgedCall): boolean => origin.isChanged !== true || origin.digest !== undefined

/** The decision by a grant, if one covers the call. */
function granted({ grant }: DecisionContext): Decision | undefined {
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
  return `${unknown}, so it is not known whether "${doubt.text}" (${doubt.layer}) applies`
}

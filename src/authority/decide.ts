import type { DecidedBy, Decision } from '../core/authority.ts'
import { floorOf, granted } from './floor.ts'
import type { JudgedCall } from './judged-call.ts'
import { beyondPlan, needsNoPermission, readOnlyKind } from './mode-gate.ts'
import type { Protect } from './rules/protected-paths.ts'
import type { Rule } from './rules/rule-entry.ts'
import type { CompiledRules } from './rules/rules.ts'
import type { SecurityMode } from './rules/settings.ts'

/** What a decision depends on beside the call. */
export interface DecisionContext {
  readonly mode: SecurityMode
  /** Compiled once from all layers. */
  readonly rules: CompiledRules
  /** The workspace, absolute, for rules that are written with absolute paths. */
  readonly root?: string
  /** What the state machine, if one is attached, says about this call. */
  readonly stage?: StageVerdict
  /** Looks for an approval that was given before and still holds. Not called where no approval is needed, as in `yolo`. */
  readonly grant?: () => { readonly scope: string; readonly grantedBy: string } | undefined
  /** What the regular expressions of the tool's rule found; they are tried in a thread, beforehand. */
  readonly patterns?: { readonly deny?: string; readonly allow?: string } | undefined
  /** What becomes of what is never allowed silently; `deny` where nobody can be asked. Default `ask`. */
  readonly floor?: 'ask' | 'deny'
  /** Which paths are never written, or read, silently. Default: by name alone. */
  readonly protect?: Protect
}

/** `envelope`: the stage allows the tool; `token`: it granted this very call; `deny`, with a code; `defer`: a person decides. */
export type StageVerdict =
  | { readonly verdict: 'envelope' | 'token' }
  | { readonly verdict: 'deny'; readonly code: string; readonly why: string }
  | { readonly verdict: 'defer' }

/** The one place that decides. Pure: the same call in the same context gets the same decision, with the reason for it. */
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

/** What nothing else can lift: deny rules first, then what `plan` does not do. */
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
    why: `the mode is plan, which only looks, and ${beyond}`,
    code: 'ApprovalDenied',
  }
}

function decidedByStage({ origin }: JudgedCall, { stage }: DecisionContext): Decision | undefined {
  switch (stage?.verdict) {
    case 'envelope':
      // By its name; what a project put in the place of that tool is asked about like any other.
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
  // Where nothing would be asked, nobody looks for approvals.
  const before = mode === 'yolo' ? undefined : granted(context)
  if (before) return before
  // A rule means the tool that its author knew, not one that a project put in its place.
  if (call.origin.layer === 'project') return decidedByToolRule(call, context, ['confirm'])
  const found = rules.matchAllow(call, root)
  if (found) return byRules('allow', 'allow-rule', 'allowed by', found)
  if (patterns?.allow !== undefined && isOneCommand(call)) {
    const why = `allowed by the pattern ${patterns.allow} of the rule for ${call.tool}`
    return { verdict: 'allow', by: 'allow-rule', rule: patterns.allow, why }
  }
  return decidedByToolRule(call, context, ['auto', 'confirm'])
}

/** What is set for the tool by its name. */
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

/** A regular expression sees a line as text; it cannot vouch for what a `;` puts behind what it knows. */
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

/** What stands in the way of a rule, where it is the line itself. */
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

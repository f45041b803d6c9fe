import type { DecidedBy, Decision } from '../core/authority.ts'
import type { DecisionContext } from './decision-context.ts'
import { floorOf } from './floor.ts'
import { type EffectFact, factsOf, type JudgedCall, type ShellFacts } from './judged-call.ts'
import {
  granted,
  hasSandbox,
  isUntried,
  runsCommands,
  whyNotConfined,
  whyUnconfined,
  withConfinement,
} from './placement.ts'
import { isWorkspaceReading, needsNoPermission } from './reading-line.ts'
import type { Rule } from './rules/rules.ts'

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
  const safe = askedWithoutSandbox(call, context, found) ?? found
  return withConfinement(call, context, floorOf(call, context, safe) ?? safe)
}

/** Denials that nothing overrides: deny rules, then the mode `plan`. */
function deniedByRuleOrPlan(call: JudgedCall, context: DecisionContext): Decision | undefined {
  const { rules, root, patterns } = context
  const found = rules.matchDeny(call, root)
  if (found) return { ...byRules('deny', 'deny-rule', 'denied by', found), code: 'ApprovalDenied' }
  if (patterns?.deny !== undefined) {
    const why = `denied by the pattern ${patterns.deny} of the rule for ${call.tool}`
    return { verdict: 'deny', by: 'deny-rule', rule: patterns.deny, why, code: 'ApprovalDenied' }
  }
  const beyond = context.mode === 'plan' ? beyondPlan(call, context) : undefined
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
  return found && (granted(call, context) ?? byRules('ask', 'ask-rule', 'asked about because of', found))
}

function allowedByGrantOrRule(call: JudgedCall, context: DecisionContext): Decision | undefined {
  const { mode, rules, root, patterns } = context
  // In `yolo` no approval is needed, so grants are not searched.
  const before = mode === 'yolo' ? undefined : granted(call, context)
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
  return mode === 'yolo' ? (granted(call, context) ?? ask) : ask
}

/** A regular expression matches a line as text, so it may allow only a single plain command. */
function isOneCommand({ shell }: JudgedCall): boolean {
  if (!shell) return true
  const { isWhole, obstacles, commands } = shell
  if (!isWhole || obstacles.length > 0 || commands.length !== 1) return false
  const { isNested, redirects } = commands[0]!.command
  return !isNested && redirects.every(({ operator }) => !operator.includes('>'))
}

function decidedByMode(call: JudgedCall, context: DecisionContext): Decision {
  const { mode, rules, root } = context
  if (mode === 'yolo') return allow('mode-gate', 'the mode is yolo')
  if (mode === 'allowlist' && call.origin.layer !== 'project') {
    const found = rules.matchAllowlist(call, root)
    if (found) return byRules('allow', 'mode-gate', 'on the allowlist:', found)
  }
  if (needsNoPermission(call)) return allow('mode-gate', 'it changes nothing and reaches nothing')
  if (isWorkspaceReading(call, mode) && rules.workspaceReads === 'allow')
    return allow('mode-gate', 'it only reads inside the workspace')
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

/**
 * A command that runs unasked must run in a sandbox, unless its words alone determine what it reads. Only `yolo` is
 * exempt, and only on a machine that is known to have none.
 */
function askedWithoutSandbox(call: JudgedCall, context: DecisionContext, found: Decision): Decision | undefined {
  const isExempt = context.mode === 'yolo' && !isUntried(context)
  const isUnasked = found.verdict === 'allow' && found.by !== 'grant' && !isExempt
  if (!isUnasked || needsNoPermission(call) || call.strict?.isStrict) return undefined
  // In `yolo` what a tool does not say it does would be confined too.
  if (!runsCommands(call) && !(context.mode === 'yolo' && isUndeclared(call))) return undefined
  const missing = whyUnconfined(call, context, found)
  if (missing === undefined) return undefined
  const why = `${found.why}, but ${missing}`
  if (context.mode !== 'yolo') return { verdict: 'ask', by: 'sandbox', why }
  const before = granted(call, context)
  if (before) return before
  if (context.floor === 'deny') return { verdict: 'deny', by: 'sandbox', why, code: 'ApprovalDenied' }
  return { verdict: 'ask', by: 'sandbox', why }
}

const isUndeclared = ({ effects }: JudgedCall): boolean => effects.some(({ effect }) => effect === 'unknown')

const allow = (by: DecidedBy, why: string): Decision => ({ verdict: 'allow', by, why })

const named = (verdict: Decision['verdict'], by: DecidedBy, rule: string, why: string): Decision => ({
  verdict,
  by,
  rule,
  why,
})

function byRules(verdict: Decision['verdict'], by: DecidedBy, words: string, rules: readonly Rule[]): Decision {
  const quoted = rules.map(({ text, layer, why }) => `"${text}" (${layer})${why === undefined ? '' : `: ${why}`}`)
  return { verdict, by, rule: rules.map(({ text }) => text).join(', '), why: `${words} ${quoted.join(', ')}` }
}

/** What in a call is not read-only, in words; undefined if `plan` allows it. */
function beyondPlan(call: JudgedCall, context: DecisionContext): string | undefined {
  const { effects, shell } = call
  if (shell) return lineBeyondPlan(call, shell, context)
  const beyond = effects.find(isBeyond)
  if (!beyond) return undefined
  const about = beyond.target === undefined ? '' : ` (${beyond.target})`
  return `this call ${effectPhrases[beyond.effect] ?? `uses ${beyond.effect}`}${about}`
}

function lineBeyondPlan(call: JudgedCall, shell: ShellFacts, context: DecisionContext): string | undefined {
  if (call.isOutside && hasSandbox(context)) return 'this line asks to run outside any sandbox'
  if (needsNoPermission(call) || call.strict?.isStrict) return undefined
  const missing = whyNotConfined('read-only', context)
  if (missing !== undefined) return `${missing}; without one a line must be a single plain command: ${call.strict?.why}`
  if (!shell.isWhole) return 'this line could not be read whole'
  const doubtful = shell.commands.find(({ inside }) => inside !== 'reads')
  if (doubtful) {
    const why =
      doubtful.why ?? (shell.obstacles.length > 0 ? `it cannot be inspected: ${shell.obstacles[0]}` : undefined)
    return `${doubtful.command.words[0] ?? 'an assignment'} may do more${why === undefined ? '' : `: ${why}`}`
  }
  const written = factsOf(call).find(({ effect }) => effect === 'fs.write' || effect === 'schedule.write')
  return written && `this line writes${written.target === undefined ? '' : ` (${written.target})`}`
}

const isBeyond = ({ effect }: EffectFact): boolean => changing.includes(effect) || effect.startsWith('mcp:')

const changing: readonly string[] = ['fs.write', 'exec', 'schedule.write', 'unknown']

const effectPhrases: Readonly<Record<string, string>> = {
  'fs.write': 'writes',
  exec: 'runs something',
  'schedule.write': 'changes when an agent is woken',
  unknown: 'does not say what it does',
}

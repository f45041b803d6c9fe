import type { JudgedCall } from '../judged-call.ts'
import { allowMatcher } from './allow-rules.ts'
import type { PathBase } from './canonical-path.ts'
import { type Match, parseRule, type Rule, type RuleList } from './rule-entry.ts'
import type { AuthoritySettings, ToolRule } from './settings.ts'
import { strictMatcher } from './strict-rules.ts'

/** Rules by the list they stand in, of all layers together. */
export type RuleLists = Readonly<Record<RuleList, readonly Rule[]>>

/** What is decided by beside rules. */
export interface DecisionSettings {
  readonly tools: Readonly<Record<string, ToolRule>>
  readonly workspaceReads: 'allow' | 'ask'
  /** The project chose `plan`; it must not make quiet what would have been asked about. */
  readonly isPlanFromProject: boolean
}

/** Rules ready to be asked: what a call costs does not grow with rules about other tools. */
export interface CompiledRules extends DecisionSettings {
  readonly matchDeny: Match
  readonly matchAsk: Match
  /** All that were needed to cover the call. */
  readonly matchAllow: Match
  readonly matchAllowlist: Match
  /** A rule that denies or asks and might hit if more were known: the line was not read whole, or a target is not named. */
  readonly possibleMatch: (call: JudgedCall) => Rule | undefined
  /** What patterns were compiled for. */
  readonly base: PathBase
}

/** `place.home` is what `~` means in patterns. */
export function compileRules(rules: RuleLists, base: PathBase = {}, manners = defaultSettings): CompiledRules {
  const deny = strictMatcher(rules.deny, base)
  const ask = strictMatcher(rules.ask, base)
  return {
    ...manners,
    matchDeny: deny.match,
    matchAsk: ask.match,
    matchAllow: allowMatcher(rules.allow, base),
    matchAllowlist: allowMatcher(rules.allowlist, base),
    possibleMatch: (call) => deny.possibleMatch(call) ?? ask.possibleMatch(call),
    base,
  }
}

const defaultSettings: DecisionSettings = { tools: {}, workspaceReads: 'allow', isPlanFromProject: false }

/** The same and some more that deny or ask: what is added while agents run holds from their next call on. */
export function tightened(rules: CompiledRules, added: Pick<AuthoritySettings, 'deny' | 'ask'>): CompiledRules {
  const parse = (list: 'deny' | 'ask'): Rule[] =>
    (added[list] ?? []).map((entry, index) => parseRule(entry, { layer: 'launch', list, index }))
  const more = compileRules({ deny: parse('deny'), ask: parse('ask'), allow: [], allowlist: [] }, rules.base)
  return {
    ...rules,
    matchDeny: (call, root) => rules.matchDeny(call, root) ?? more.matchDeny(call, root),
    matchAsk: (call, root) => rules.matchAsk(call, root) ?? more.matchAsk(call, root),
    possibleMatch: (call) => rules.possibleMatch(call) ?? more.possibleMatch(call),
  }
}

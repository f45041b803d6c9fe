import type { JudgedCall } from '../judged-call.ts'
import { allowance } from './allow-rules.ts'
import type { PathPlace } from './canonical-path.ts'
import { type Match, parseRule, type Rule, type RuleList } from './rule-entry.ts'
import type { AuthoritySettings, ToolRule } from './settings.ts'
import { strictness } from './strict-rules.ts'

/** Rules by the list they stand in, of all layers together. */
export type RuleLists = Readonly<Record<RuleList, readonly Rule[]>>

/** What is decided by beside rules. */
export interface Manners {
  readonly tools: Readonly<Record<string, ToolRule>>
  readonly workspaceReads: 'allow' | 'ask'
  /** The project chose `plan`; it must not make quiet what would have been asked about. */
  readonly isPlanFromProject: boolean
}

/** Rules ready to be asked: what a call costs does not grow with rules about other tools. */
export interface CompiledRules extends Manners {
  readonly matchDeny: Match
  readonly matchAsk: Match
  /** All that were needed to cover the call. */
  readonly matchAllow: Match
  readonly matchAllowlist: Match
  /** A rule that denies or asks and might hit if more were known: the line was not read whole, or a target is not named. */
  readonly doubt: (call: JudgedCall) => Rule | undefined
  /** What patterns were compiled for. */
  readonly place: PathPlace
}

/** `place.home` is what `~` means in patterns. */
export function compileRules(rules: RuleLists, place: PathPlace = {}, manners = noManners): CompiledRules {
  const deny = strictness(rules.deny, place)
  const ask = strictness(rules.ask, place)
  return {
    ...manners,
    matchDeny: deny.match,
    matchAsk: ask.match,
    matchAllow: allowance(rules.allow, place),
    matchAllowlist: allowance(rules.allowlist, place),
    doubt: (call) => deny.doubt(call) ?? ask.doubt(call),
    place,
  }
}

const noManners: Manners = { tools: {}, workspaceReads: 'allow', isPlanFromProject: false }

/** The same and some more that deny or ask: what is added while agents run holds from their next call on. */
export function tightened(rules: CompiledRules, added: Pick<AuthoritySettings, 'deny' | 'ask'>): CompiledRules {
  const parse = (list: 'deny' | 'ask'): Rule[] =>
    (added[list] ?? []).map((entry, index) => parseRule(entry, { layer: 'launch', list, index }))
  const more = compileRules({ deny: parse('deny'), ask: parse('ask'), allow: [], allowlist: [] }, rules.place)
  return {
    ...rules,
    matchDeny: (call, root) => rules.matchDeny(call, root) ?? more.matchDeny(call, root),
    matchAsk: (call, root) => rules.matchAsk(call, root) ?? more.matchAsk(call, root),
    doubt: (call) => rules.doubt(call) ?? more.doubt(call),
  }
}

import { type EffectFact, type JudgedCall, type ShellFacts, shellCall } from '../judged-call.ts'
import { shellFacts } from '../shell/shell-facts.ts'
import { withReader } from '../shell/with-reader.ts'
import { parseRule, type Rule, type RuleLayer, type RuleList, ruleLists } from './rule-entry.ts'
import { compileRules, type RuleLists } from './rules.ts'
import type { AuthoritySettings } from './settings.ts'

/** An example that a rule got wrong. */
export interface PolicyFailure {
  readonly list: RuleList
  readonly rule: string
  readonly example: string
  /** What the rule promised about it. */
  readonly expected: 'match' | 'notMatch'
}

/** Reads a shell line, for rules that bring examples of commands. */
export type FactsOfLine = (line: string) => ShellFacts | Promise<ShellFacts>

/** Tries each rule, alone, on its own examples. Shell lines are read as in a trusted workspace, unless `facts` reads them. */
export async function testPolicy(
  settings: AuthoritySettings,
  facts?: FactsOfLine,
  layer: RuleLayer = 'launch',
): Promise<PolicyFailure[]> {
  if (facts) return failuresOf(settings, facts, layer)
  const location = { root: '/workspace', isTrusted: true }
  return withReader(undefined, (read) =>
    failuresOf(settings, async (line) => shellFacts(await read(line), location), layer),
  )
}

async function failuresOf(settings: AuthoritySettings, facts: FactsOfLine, layer: RuleLayer): Promise<PolicyFailure[]> {
  const failures: PolicyFailure[] = []
  for (const list of ruleLists) {
    for (const [index, entry] of (settings[list] ?? []).entries()) {
      if (typeof entry === 'string') continue
      const rule = parseRule(entry, { layer, list, index })
      const matches = matcherOf(rule, list)
      for (const expected of ['match', 'notMatch'] as const) {
        for (const example of rule[expected] ?? []) {
          const found = matches(await exampleCall(rule, example, facts))
          if (found !== (expected === 'match')) failures.push({ list, rule: rule.text, example, expected })
        }
      }
    }
  }
  return failures
}

/** What is wrong, for people. */
export function describeFailure({ list, rule, example, expected }: PolicyFailure): string {
  const claim = expected === 'match' ? 'should match, and does not' : 'should not match, and does'
  return `the ${list} rule "${rule}": its example ${JSON.stringify(example)} ${claim}`
}

function matcherOf(rule: Rule, list: RuleList): (call: JudgedCall) => boolean {
  const none: RuleLists = { deny: [], ask: [], allow: [], allowlist: [] }
  const { matchDeny, matchAsk, matchAllow, matchAllowlist } = compileRules({ ...none, [list]: [rule] })
  const match = { deny: matchDeny, ask: matchAsk, allow: matchAllow, allowlist: matchAllowlist }[list]
  return (call) => match(call) !== undefined
}

async function exampleCall({ about, name }: Rule, example: string, facts: FactsOfLine): Promise<JudgedCall> {
  if (name === 'exec' || name === 'shell') return shellCall(example, await facts(example))
  const call = { origin: { layer: 'host' }, gated: true, input: {}, digest: '' } as const
  if (about === 'tool') return { ...call, tool: name, key: example, effects: [] }
  const isServer = name === 'mcp'
  const fact = isServer ? { effect: `mcp:${example.replace(/^mcp:/, '')}` } : { effect: name, target: example }
  return { ...call, tool: 'example', key: 'example', effects: [fact as EffectFact] }
}

import type { Effect } from '../../core/authority.ts'
import { CodedError } from '../../core/errors.ts'
import { didYouMean } from '../../core/nearest.ts'
import { programNamed } from '../../shell/tables/programs.ts'
import type { JudgedCall } from '../judged-call.ts'
import { allowMatcher } from './allow-rules.ts'
import type { PathBase } from './canonical-path.ts'
import type { AuthoritySettings, RuleEntry, ToolRule } from './settings.ts'
import { strictMatcher } from './strict-rules.ts'

/** The rules of all layers, by list. */
export type RuleLists = Readonly<Record<RuleList, readonly Rule[]>>

/** Settings that affect decisions besides the rules. */
export interface DecisionSettings {
  readonly tools: Readonly<Record<string, ToolRule>>
  readonly workspaceReads: 'allow' | 'ask'
}

/** Compiled rules. The cost of a call does not grow with rules about other tools. */
export interface CompiledRules extends DecisionSettings {
  readonly matchDeny: Match
  readonly matchAsk: Match
  readonly matchAllow: Match
  readonly matchAllowlist: Match
  /** A deny or ask rule that might match if more were known: the line was not fully parsed, or a target is unknown. */
  readonly possibleMatch: PossibleMatch
  /** The base of relative paths in patterns. */
  readonly base: PathBase
  readonly places: RuledPlaces
}

/** What the rules say about places that a sandbox can hide or open. */
export interface RuledPlaces {
  /** The patterns of rules about `fs.read`, as written; `undefined` for all. */
  readonly deniedReads: readonly (string | undefined)[]
  readonly askedReads: readonly (string | undefined)[]
  /** A rule denies or asks about `net`. */
  readonly limitsHosts: boolean
  /** A rule allows every host. */
  readonly allowsHosts: boolean
}

/** Compiles rules. `base.home` replaces `~` in patterns. */
export function compileRules(rules: RuleLists, base: PathBase = {}, manners = defaultSettings): CompiledRules {
  const deny = strictMatcher(rules.deny, base)
  const ask = strictMatcher(rules.ask, base)
  return {
    ...manners,
    matchDeny: deny.match,
    matchAsk: ask.match,
    matchAllow: allowMatcher(rules.allow, base),
    matchAllowlist: allowMatcher(rules.allowlist, base),
    possibleMatch: (call, besides) => deny.possibleMatch(call, besides) ?? ask.possibleMatch(call, besides),
    base,
    places: placesIn(rules),
  }
}

function placesIn({ deny, ask, allow }: RuleLists): RuledPlaces {
  const about = (rules: readonly Rule[], effect: string): Rule[] => rules.filter(({ name }) => name === effect)
  const patterns = (rules: readonly Rule[]): (string | undefined)[] => about(rules, 'fs.read').map((one) => one.pattern)
  return {
    deniedReads: patterns(deny),
    askedReads: patterns(ask),
    limitsHosts: about([...deny, ...ask], 'net').length > 0,
    allowsHosts: about(allow, 'net').some(({ pattern = '*' }) => pattern === '*'),
  }
}

const defaultSettings: DecisionSettings = { tools: {}, workspaceReads: 'allow' }

/** Adds rules that deny or ask. They apply from the next call on. */
export function withStricterRules(rules: CompiledRules, added: Pick<AuthoritySettings, 'deny' | 'ask'>): CompiledRules {
  const parse = (list: 'deny' | 'ask'): Rule[] =>
    (added[list] ?? []).map((entry, index) => parseRule(entry, { layer: 'launch', list, index }))
  const more = compileRules({ deny: parse('deny'), ask: parse('ask'), allow: [], allowlist: [] }, rules.base)
  return {
    ...rules,
    matchDeny: (call, root) => rules.matchDeny(call, root) ?? more.matchDeny(call, root),
    matchAsk: (call, root) => rules.matchAsk(call, root) ?? more.matchAsk(call, root),
    possibleMatch: (call, besides) => rules.possibleMatch(call, besides) ?? more.possibleMatch(call, besides),
    places: {
      deniedReads: [...rules.places.deniedReads, ...more.places.deniedReads],
      askedReads: [...rules.places.askedReads, ...more.places.askedReads],
      limitsHosts: rules.places.limitsHosts || more.places.limitsHosts,
      allowsHosts: rules.places.allowsHosts,
    },
  }
}

/** The origin of a rule, weakest first. */
export const ruleLayers = ['bundled', 'global', 'project', 'launch'] as const
export type RuleLayer = (typeof ruleLayers)[number]

/** The lists of rules. */
export const ruleLists = ['deny', 'ask', 'allow', 'allowlist'] as const
export type RuleList = (typeof ruleLists)[number]

/** A parsed rule. */
export interface Rule {
  readonly layer: RuleLayer
  readonly text: string
  /** The effect `mcp` covers all tools of servers; its pattern matches `server.tool`. */
  readonly about: 'tool' | 'effect'
  readonly name: string
  /** Absent: matches every key or target. */
  readonly pattern?: string
  readonly why?: string
  readonly match?: readonly string[]
  readonly notMatch?: readonly string[]
}

/** Finds the rules that decide about a call. `root` is the workspace, for patterns with absolute paths. */
export type Match = (call: JudgedCall, root?: string) => readonly Rule[] | undefined

/** Finds a rule that might match. Targets of the effect `besides` are not doubted: a sandbox withholds what rules name. */
export type PossibleMatch = (call: JudgedCall, besides?: Effect) => Rule | undefined

interface RulePosition {
  readonly layer: RuleLayer
  readonly list: RuleList
  readonly index: number
}

/** Parses an entry. Throws `Validation/InvalidRule`: a rule that never matches would only look like protection. */
export function parseRule(entry: RuleEntry, position: RulePosition): Rule {
  const { rule: text, ...rest } = fieldsOf(entry, position)
  if (text.trim() === '') throw invalid(position, entry, 'is empty; write a tool, "tool:pattern" or an effect')
  if (controls.test(text)) throw invalid(position, entry, 'has control characters; take them out')
  const own = ownFormOf(text)
  if (own !== undefined) throw invalid(position, entry, `has the form of another program; write "${own}"`)
  const colon = text.indexOf(':')
  const name = colon < 0 ? text : text.slice(0, colon)
  const pattern = colon < 0 ? undefined : text.slice(colon + 1)
  if (pattern === '')
    throw invalid(position, entry, `has nothing after the colon; leave the colon out for all of "${name}"`)
  if (pattern !== undefined && pattern.length * 3 > longestPattern && encoder.encode(pattern).length > longestPattern)
    throw invalid(position, entry, `has a pattern of more than ${longestPattern} bytes; use * for a part of it`)
  const about = aboutOf(name, pattern, (problem) => invalid(position, entry, problem))
  return Object.freeze({ layer: position.layer, text, about, name, ...(pattern !== undefined && { pattern }), ...rest })
}

const longestPattern = 1024
const encoder = new TextEncoder()
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const controls = /[\u0000-\u001f\u007f]/
const entryFields = ['rule', 'why', 'match', 'notMatch']

function fieldsOf(entry: unknown, position: RulePosition): Exclude<RuleEntry, string> {
  if (typeof entry === 'string') return { rule: entry }
  if (typeof entry !== 'object' || entry === null || Array.isArray(entry))
    throw invalid(position, entry, 'is neither a text nor an object with "rule"')
  const fields = entry as Record<string, unknown>
  for (const field of Object.keys(fields)) {
    if (!entryFields.includes(field))
      throw invalid(position, entry, `has an unknown field "${field}"${didYouMean(field, entryFields)}`)
  }
  const { rule, why, match, notMatch } = fields
  if (typeof rule !== 'string') throw invalid(position, entry, 'has no text in "rule"')
  if (why !== undefined && typeof why !== 'string') throw invalid(position, entry, 'has a "why" that is no text')
  for (const examples of [match, notMatch]) {
    if (examples !== undefined && !isTexts(examples))
      throw invalid(position, entry, 'has examples that are no texts; "match" and "notMatch" are lists of texts')
  }
  return fields as Exclude<RuleEntry, string>
}

const isTexts = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((item) => typeof item === 'string')

/** The effects that a rule may name. */
export const effectNames = ['fs.read', 'fs.write', 'exec', 'net', 'spawn', 'schedule.write', 'ask', 'unknown', 'mcp']

function aboutOf(name: string, pattern: string | undefined, refuse: (problem: string) => CodedError): Rule['about'] {
  if (name === 'mcp' && pattern === undefined) throw refuse('names no server; write "mcp:*" for all of them')
  if (name === 'mcp' && !/[.*]/.test(pattern ?? ''))
    throw refuse(`names no tool of the server; write "mcp:${pattern}.*" for all of them`)
  if (effectNames.includes(name)) return 'effect'
  if (/^fs(\.|$)/i.test(name)) throw refuse(`names no effect${didYouMean(name, effectNames)}`)
  if (name.includes('*')) throw refuse('has a * in the name of a tool; stars stand only after the colon')
  if (/\s/.test(name)) throw refuse(`has a blank in the name of a tool; for a command write "shell:${name}"`)
  if (name === '') throw refuse('names no tool before the colon')
  return 'tool'
}

function invalid({ layer, list, index }: RulePosition, entry: unknown, problem: string): CodedError {
  const shown = JSON.stringify(entry)?.slice(0, 200)
  return new CodedError('Validation/InvalidRule', `the ${layer} settings' ${list}[${index}], ${shown}, ${problem}`)
}

/** Our form of a rule in the form of another program, such as `Bash(ls:*)`; undefined if it is none. */
export function ownFormOf(rule: string): string | undefined {
  const server = /^mcp__(.+?)(?:__(.*))?$/.exec(rule)
  if (server) return `mcp:${server[1]}.${server[2] || '*'}`
  const call = /^(\w+)\((.*)\)$/s.exec(rule)
  if (!call) return undefined
  const [, tool = '', about = ''] = call
  const form = forms.find(({ names }) => names.test(tool))
  if (!form) return about.trim() === '' ? tool : `${tool}:${about}`
  const pattern = form.patternOf(about.trim())
  return pattern === '' ? form.name : `${form.name}:${pattern}`
}

interface Form {
  /** The names of the tool elsewhere. */
  readonly names: RegExp
  readonly name: string
  /** Empty: for all. */
  patternOf(about: string): string
}

const forms: readonly Form[] = [
  { names: /^(bash|shell|run_shell_command)$/i, name: 'shell', patternOf: commandPattern },
  { names: /^(read|glob|grep|ls|notebookread|read_file)$/i, name: 'fs.read', patternOf: pathPattern },
  { names: /^(edit|write|multiedit|notebookedit|write_file)$/i, name: 'fs.write', patternOf: pathPattern },
  { names: /^(webfetch|websearch|web_fetch)$/i, name: 'net', patternOf: (about) => about.replace(/^domain:/, '') },
  { names: /^(task|agent|spawn)$/i, name: 'spawn', patternOf: (about) => about },
]

/** `git log:*` is `git log` with any arguments: where a table knows the harmless ones, no star is needed. */
function commandPattern(about: string): string {
  const command = about.replace(/(?::\*| \*)$/, '')
  if (command === '' || command === '*') return ''
  const [program = ''] = command.split(' ', 1)
  return command === about || programNamed(program).reads !== undefined ? command : `${command} *`
}

/** Our star includes slashes. There, `/src` is in the project and `//etc` in the root of the disk. */
function pathPattern(about: string): string {
  const path = about.startsWith('//') ? about.slice(1) : about.replace(/^(?:\.?\/)+/, '')
  const pattern = path.replace(/^\*\*\//, '*').replaceAll('**', '*')
  return pattern === '*' ? '' : pattern
}

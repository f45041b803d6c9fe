import { join } from 'node:path'
import { CodedError, messageOf } from '../../core/errors.ts'
import { readSmallText } from '../../platform/read-small-text.ts'
import { shellFacts } from '../../shell/shell-facts.ts'
import { type ReadLine, withReader } from '../../shell/shell-reader.ts'
import { type EffectFact, type JudgedCall, shellCall } from '../judged-call.ts'
import {
  compileRules,
  parseRule,
  type Rule,
  type RuleLayer,
  type RuleList,
  type RuleLists,
  ruleLists,
} from './rules.ts'
import { type AuthoritySettings, checkSettings, resolveSettings, type SettingsLayers } from './settings.ts'

/** Loads `authority.json` of the user and of a trusted project. One error refuses the whole file. */
export async function loadSettings({
  home,
  projectRoot,
  isTrusted = false,
}: {
  /** The user's own folder, such as `~/.libero`. */
  readonly home?: string
  /** Absolute. Read only if `isTrusted`. */
  readonly projectRoot?: string
  readonly isTrusted?: boolean
}): Promise<Pick<SettingsLayers, 'global' | 'project'>> {
  const global = home === undefined ? undefined : await loadIfThere(join(home, file), 'global')
  const project =
    projectRoot === undefined || !isTrusted
      ? undefined
      : await loadIfThere(join(projectRoot, '.libero', file), 'project')
  return { ...(global && { global }), ...(project && { project }) }
}

const file = 'authority.json'

/** Loads one file of rules, as for `policy explain --rules`. */
export async function loadRulesFile(path: string): Promise<AuthoritySettings> {
  const settings = await loadIfThere(path, 'launch')
  if (!settings) throw refused(path, 'there is no such file', 'InvalidSettingsFile')
  return settings
}

async function loadIfThere(path: string, layer: RuleLayer): Promise<AuthoritySettings | undefined> {
  const text = await readBounded(path)
  if (text === undefined) return undefined
  const settings = parseJson(text, path)
  try {
    return await checkRules(settings, layer)
  } catch (error) {
    // Very deep nesting overflows the stack.
    if (error instanceof RangeError) throw refused(path, 'it is nested too deeply', 'InvalidSettingsFile')
    if (!(error instanceof CodedError)) throw error
    throw refused(path, error.sentence, error.code)
  }
}

/** The settings of a layer, if they are right and its rules pass their own examples. */
export async function checkRules(settings: unknown, layer: RuleLayer): Promise<AuthoritySettings> {
  checkSettings(settings, layer)
  // Checks its rules and patterns alone; whether the mode for an allowlist is set depends on the other layers.
  resolveSettings({ [layer]: { ...settings, mode: 'allowlist' } })
  const failures = await testPolicy(settings, layer)
  if (failures.length > 0) throw new CodedError('Validation/RuleTestFailed', failures.map(describeFailure).join('; '))
  return settings
}

const mostBytes = 1_000_000

function readBounded(path: string): Promise<string | undefined> {
  const refuse = (code: string, error: unknown): CodedError =>
    refused(path, problems[code] ?? messageOf(error), 'InvalidSettingsFile')
  return readSmallText(path, { mostBytes, links: 'refused', refuse })
}

const problems: Readonly<Record<string, string>> = {
  ELOOP: 'it is a link; put the file itself there',
  EISDIR: 'it is not a regular file',
  EFTYPE: 'it is not a regular file',
  EFBIG: `it has more than ${mostBytes} bytes`,
  EILSEQ: 'it is not UTF-8; save it as that',
}

function parseJson(text: string, path: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw refused(path, `it is not JSON: ${messageOf(error)}`, 'InvalidSettingsFile')
  }
}

function refused(path: string, why: string, code: string): CodedError {
  return new CodedError(`Validation/${code}`, `${path} is not used: ${why}`)
}

/** Tests each rule alone on its examples, and gives the failing ones. Shell lines are read as in a trusted workspace. */
export function testPolicy(
  settings: AuthoritySettings,
  layer: keyof SettingsLayers = 'launch',
): Promise<
  {
    readonly list: 'deny' | 'ask' | 'allow' | 'allowlist'
    readonly rule: string
    readonly example: string
    readonly expected: 'match' | 'notMatch'
  }[]
> {
  return withReader((read) => failuresOf(settings, layer, read))
}

type PolicyFailure = Awaited<ReturnType<typeof testPolicy>>[number]

async function failuresOf(settings: AuthoritySettings, layer: RuleLayer, read: ReadLine): Promise<PolicyFailure[]> {
  const failures: PolicyFailure[] = []
  for (const list of ruleLists) {
    for (const [index, entry] of (settings[list] ?? []).entries()) {
      if (typeof entry === 'string') continue
      const rule = parseRule(entry, { layer, list, index })
      const matches = matcherOf(rule, list)
      for (const expected of ['match', 'notMatch'] as const) {
        for (const example of rule[expected] ?? []) {
          const found = matches(await exampleCall(rule, example, read))
          if (found !== (expected === 'match')) failures.push({ list, rule: rule.text, example, expected })
        }
      }
    }
  }
  return failures
}

/** A failure in words. */
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

const workspace = { root: '/workspace', isTrusted: true }

async function exampleCall({ about, name }: Rule, example: string, read: ReadLine): Promise<JudgedCall> {
  if (name === 'exec' || name === 'shell') return shellCall(example, shellFacts(await read(example), workspace))
  const call = { origin: { layer: 'host' }, gated: true, input: {}, digest: '' } as const
  if (about === 'tool') return { ...call, tool: name, key: example, effects: [] }
  const isServer = name === 'mcp'
  const fact = isServer ? { effect: `mcp:${example.replace(/^mcp:/, '')}` } : { effect: name, target: example }
  return { ...call, tool: 'example', key: 'example', effects: [fact as EffectFact] }
}

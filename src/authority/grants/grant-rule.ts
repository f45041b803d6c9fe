import { CodedError } from '../../core/errors.ts'
import { fullyVisible } from '../../platform/visible-text.ts'
import { matchesWildcard, wildcard } from '../../platform/wildcard.ts'
import { factsOf, type JudgedCall } from '../judged-call.ts'
import { parseRule } from '../rules/rules.ts'

/** A rule that a person may keep instead of what "always" covers, and what it must cover. Plain JSON. */
export interface ProposedRule {
  /** Such as `shell:git commit *` or `write_file:src/*`. */
  readonly rule: string
  readonly tool: string
  readonly about: 'commands' | 'files'
  /** The words of each command of the call, or each path that it names. */
  readonly examples: readonly (readonly string[])[]
  /** Where its commands run, in words, if a sandbox is concerned. */
  readonly place?: string
}

/**
 * The rule to begin with, for a call whose commands or files are all known and inside the workspace. Undefined for other
 * calls: what they do does not depend on words that a pattern could name.
 */
export function proposedRule(call: JudgedCall): ProposedRule | undefined {
  const subject = subjectOf(call)
  if (!subject) return undefined
  const { tool } = call
  const pattern = patternFor(call, subject.examples)
  if (pattern === undefined) return undefined
  const proposed = { tool, ...subject, rule: `${tool}:${pattern}` }
  try {
    readGrantRule(proposed.rule, proposed)
    return proposed
  } catch {
    return undefined
  }
}

/**
 * What a rule covers, in words, as the person reads them and the grant stores them. Throws `Validation/InvalidRule`, with
 * what to write, for a rule that could not match, is about another tool, names no program, or leaves the call out.
 */
export function readGrantRule(text: string, { tool, about, examples }: ProposedRule): string {
  const pattern = patternOf(text, tool)
  if (about === 'commands' && /^\S*\*/.test(pattern))
    throw refused(text, `names no program; write it out, as in "${tool}:${examples[0]?.[0]} *"`)
  if (about === 'files' && /^\/|^~|(?:^|\/)\.\.(?:\/|$)/.test(pattern))
    throw refused(text, 'leaves the project; write a path inside of it')
  const missed = examples.find((example) => !covers(pattern, about, example))
  if (missed)
    throw refused(
      text,
      `does not cover ${quoted(missed.join(' '))}, which you are asked about; write "*" for what may differ`,
    )
  return wordsOf(pattern, tool, about)
}

/** Whether a stored rule covers a call of its tool. In doubt it does not. */
export function isCoveredByRule(rule: string, call: JudgedCall): boolean {
  const subject = subjectOf(call)
  if (!subject) return false
  try {
    readGrantRule(rule, { rule, tool: call.tool, ...subject })
    return true
  } catch {
    return false
  }
}

type Subject = Pick<ProposedRule, 'about' | 'examples'>

function subjectOf(call: JudgedCall): Subject | undefined {
  if (call.origin.layer === 'mcp' || call.startsElsewhere) return undefined
  if (factsOf(call).some(({ effect, isOutside }) => effect === 'net' || isOutside)) return undefined
  return call.shell ? commandsOf(call.shell) : filesOf(call)
}

/** Only plain commands: what an environment, a wrapper, another folder or a redirection adds is in no word of theirs. */
function commandsOf({ isWhole, obstacles, commands }: NonNullable<JudgedCall['shell']>): Subject | undefined {
  if (!isWhole || obstacles.length > 0) return undefined
  const asked = commands.filter(({ table }) => table !== 'neutral').map(({ command }) => command)
  const isPlain = asked.every(
    ({ words, env, via, isNested, globs }) =>
      words.length > 0 &&
      Object.keys(env).length === 0 &&
      via.length === 0 &&
      !isNested &&
      !globs.some((i) => i === 0 || mayBeParent.test(words[i]!)),
  )
  // Of the neutral ones too: `true > src/app.js` empties the file.
  const isBare = commands.every(({ command: { cwd, redirects } }) => cwd === '.' && redirects.length === 0)
  return asked.length > 0 && isPlain && isBare
    ? { about: 'commands', examples: asked.map(({ words }) => words) }
    : undefined
}

/** A pattern of the shell such as `.*`, which some shells let stand for `..`. */
const mayBeParent = /(?:^|\/)\.[*?[]/

function filesOf({ effects }: JudgedCall): Subject | undefined {
  const isFiles = effects.every(({ effect, target, isDeep }) => /^fs\./.test(effect) && target && !isDeep)
  if (effects.length === 0 || !isFiles) return undefined
  return { about: 'files', examples: [...new Set(effects.map(({ target }) => target!))].map((path) => [path]) }
}

/** As wide as what "always" covers where a pattern can say it, else exactly this call, unless a star in it would be one. */
function patternFor({ shell }: JudgedCall, examples: ProposedRule['examples']): string | undefined {
  const [first = []] = examples
  const folder = (first[0] ?? '').replace(/[^/]*$/, '')
  if (!shell) return folder.includes('*') ? undefined : `${folder}*`
  const kind = shell.commands.find(({ table }) => table !== 'neutral')?.kind
  if (kind !== undefined) return first.length > kind.split(' ').length ? `${kind} *` : kind
  const exact = first.join(' ')
  return exact.includes('*') ? undefined : exact
}

function patternOf(text: string, tool: string): string {
  const { name, pattern } = parsed(text)
  if (name !== tool) throw refused(text, `is about "${name}", and the question about "${tool}"; begin with "${tool}:"`)
  if (pattern === undefined)
    throw refused(text, `is for all of "${tool}"; write after "${tool}:" what it may be used for`)
  return pattern.trim()
}

function parsed(text: string): ReturnType<typeof parseRule> {
  try {
    return parseRule(text, { layer: 'launch', list: 'allow', index: 0 })
  } catch (error) {
    if (!(error instanceof CodedError)) throw error
    // Without the place of the rule in a file: there is none.
    throw refused(text, error.sentence.replace(/^.*?allow\[0\], (?:"(?:[^"\\]|\\.)*"|\S+), /, ''))
  }
}

function covers(pattern: string, about: ProposedRule['about'], example: readonly string[]): boolean {
  return about === 'commands' ? coversWords(pattern, example) : pathPattern(pattern).test(example[0] ?? '')
}

/**
 * A star stays within its word; as the last word it stands for all that follow, one at least. Narrower than in settings:
 * `rm build/*` must cover neither `rm build/x src/y` nor `rm build/../src/y`.
 */
function coversWords(pattern: string, words: readonly string[]): boolean {
  const parts = pattern.trim().split(/\s+/)
  const isOpen = isOpenEnded(pattern)
  if (isOpen ? words.length < parts.length : words.length !== parts.length) return false
  return words.every((word, i) => {
    const part = parts[i] ?? '*'
    return part === word || (matchesWildcard(wildcard(part), word) && !hasParentSegment.test(word))
  })
}

const isOpenEnded = (pattern: string): boolean => /\s\*\s*$/.test(pattern)

/** Also in `--out=../x`, but not in `./...` or `main..`. */
const hasParentSegment = /(?:^|[^.])\.\.\/|(?:^|[/=:,])\.\.$/

/** A star stays within its folder, two stars include the folders below. Narrower than in settings, where one is enough. */
function pathPattern(pattern: string): RegExp {
  const source = pattern
    .replace(/[\\^$.+?()[\]{}|]/g, '\\$&')
    .replace(/\*\*+|\*/g, (stars) => (stars.length > 1 ? '.*' : '[^/]*'))
  return new RegExp(`^${source}$`, 'su')
}

function wordsOf(pattern: string, tool: string, about: ProposedRule['about']): string {
  if (about === 'commands') {
    if (!pattern.includes('*')) return `exactly ${quoted(pattern)} in this project`
    const further = isOpenEnded(pattern) ? 'and any further words' : 'no further words'
    return `every ${quoted(pattern)} in this project (${further})`
  }
  const below = pattern.includes('**') ? 'folders below included' : 'not in folders below'
  return `${fullyVisible(tool)} of ${quoted(pattern)} in this project${pattern.includes('*') ? ` (${below})` : ''}`
}

const quoted = (text: string): string => `\`${fullyVisible(text)}\``

function refused(text: string, problem: string): CodedError {
  return new CodedError('Validation/InvalidRule', `the rule "${fullyVisible(text)}" ${problem}`)
}

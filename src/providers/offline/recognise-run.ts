import type { Intent } from './intent.ts'
import { isVague, looksLikePath, nameOf } from './names.ts'
import { first, has, type Phrase, part, plainly, textBetween } from './words.ts'

/** Requests that run something: tests, commands, git, a fetch. */
export function recogniseRun(phrase: Phrase): Intent | undefined {
  return tests(phrase) ?? command(phrase) ?? changes(phrase) ?? address(phrase)
}

function tests(phrase: Phrase): Intent | undefined {
  if (!has(phrase, 'test', 'tests', 'testsuite', 'suite', 'spec', 'specs', 'failing', 'failure', 'bug', 'build'))
    return undefined
  const named = commandIn(phrase)
  if (isRepair(phrase)) return { kind: 'fix', ...named }
  const said = plainly(phrase)
  const isRun =
    /^(?:(?:run|execute|do|start|try|check)(?: all| the| my| our| unit)* )?(?:tests?|test ?suite|specs?)(?: again| suite| now| (?:with|using|by running) .*)?$/
  const isQuestion = /^(?:do|does|are|is|which|what) (?:the |all |my |any )*tests? .{0,40}$/
  return isRun.test(said) || isQuestion.test(said) ? { kind: 'test', ...named } : undefined
}

function isRepair(phrase: Phrase): boolean {
  if (otherVerbs.has(first(phrase)) || has(phrase, ...turnsRound)) return false
  if (phrase.words.some(({ plain }, i) => menders.has(plain) && isVerb(phrase, i))) return true
  return has(phrase, 'make', 'get') && has(phrase, 'pass', 'passing', 'green', 'work', 'succeed')
}

const menders = new Set(['fix', 'repair', 'mend', 'debug', 'correct', 'solve'])
const turnsRound = ['not', "don't", 'never', 'without', 'how', 'why', 'nothing', 'typo', 'typos', 'comment', 'docs']

/** `the fix` is none: it stands where a clause begins. */
function isVerb({ words }: Phrase, i: number): boolean {
  const before = words[i - 1]
  return !before || /[,.;:!?]$/.test(before.text) || ['and', 'then', 'please', 'you', 'just'].includes(before.plain)
}

/** Whoever says these wants something else, whatever it is about. */
const otherVerbs = new Set(
  `search grep locate create write replace change add append read show open explain describe list count delete remove
  rename move copy what which where fetch put save`.split(/\s+/),
)

/** `with npm test`, or a quoted command. */
function commandIn(phrase: Phrase): { command?: string } {
  const at = phrase.words.findLastIndex(({ plain }) => plain === 'with' || plain === 'using' || plain === 'running')
  const quoted = phrase.words.filter(({ isQuoted }) => isQuoted)
  // What else is quoted may be the name of a test.
  const isNamed =
    quoted.length === 1 &&
    (phrase.words[at + 1] === quoted[0] || (phrase.source[quoted[0]!.start] === '`' && isProgram(quoted[0]!.text)))
  if (isNamed) return { command: quoted[0]!.text }
  return at >= 0 && programs.has(phrase.words[at + 1]?.plain ?? '')
    ? { command: withoutStop(part(phrase, at + 1)) }
    : {}
}

/** Programs that people call without saying "run". */
const programs = new Set(
  `git npm npx node pnpm yarn bun deno cargo go python python3 pip pytest tsc docker pwd echo wc head tail sort date whoami
  uname which make mkdir touch ls sleep env du df curl vitest jest`.split(/\s+/),
)

function command(phrase: Phrase): Intent | undefined {
  const { source, words } = phrase
  const prompt = words[0]!.text
  if (prompt === '$' || prompt === '!') return runOf(textBetween(phrase, 1))
  if (['run', 'execute', 'exec', 'invoke'].includes(first(phrase))) {
    let from = 1
    while (from < words.length - 1 && ['the', 'this', 'shell', 'command'].includes(words[from]!.plain)) from++
    const wanted = part(phrase, from)
    const [only, ...others] = wanted.words
    if (!only || isVague(only)) return undefined
    if (isProse(wanted, words[from - 1]!.plain)) return whichCommand
    return runOf(only.isQuoted && others.length === 0 ? only.text : withoutStop(wanted))
  }
  if (words.length === 1 && words[0]!.isQuoted && source.trimStart().startsWith('`') && isProgram(words[0]!.text))
    return runOf(words[0]!.text)
  if (!programs.has(prompt) || plainly(phrase) === 'git status') return undefined
  const isEnglish =
    ['make', 'go', 'touch', 'which', 'head', 'sort', 'date', 'sleep'].includes(prompt) &&
    !words.some(({ text }) => text.startsWith('-'))
  return isEnglish || (prompt === 'ls' && words.length < 3) ? undefined : runOf(withoutStop(phrase))
}

const whichCommand: Intent = {
  kind: 'incomplete',
  question: 'Which command exactly? Put it in backticks.',
  like: 'run',
}

/** `the linter`, `my program`, `"ls" in src`, `npm test and tell me …`: a shell would take every word for its own. */
function isProse({ words }: Phrase, before: string): boolean {
  const [only, second] = words
  if (before === 'the' && !only!.isQuoted && !programs.has(only!.plain) && !looksLikePath(only!.text)) return true
  if (['a', 'an', 'my', 'our', 'all', 'some'].includes(only!.plain) || (only!.isQuoted && second?.plain === 'in'))
    return true
  return words.some(({ plain }, i) => plain === 'and' && orders.has(words[i + 1]?.plain ?? ''))
}

const orders = new Set(
  `tell show report say explain fix give let read list delete remove create write replace see check commit push run`.split(
    ' ',
  ),
)

/** Whether a line is a command as a shell reads it, though nobody said "run". */
export function isBareCommand(text: string): boolean {
  const [program = ''] = text.trimStart().split(/\s/, 1)
  return (
    programs.has(program) || ['cat', 'cd', 'rm', 'mv', 'cp', 'grep', 'export', 'test', 'kill', 'exit'].includes(program)
  )
}

const isProgram = (text: string): boolean => programs.has(text.split(' ', 1)[0]!)

const runOf = (command: string): Intent | undefined =>
  command.trim() === '' ? undefined : { kind: 'run', command: command.trim() }

/** Without what ends the sentence; a question mark only where it is a question, since a shell knows it too. */
function withoutStop(phrase: Phrase): string {
  const text = textBetween(phrase, 0)
  const isQuestion = /^\s*(?:can|could|would|will)\s/i.test(phrase.source)
  return text.replace(isQuestion ? /(?<=[\w"'`])[.,!?]$/ : /(?<=[\w"'`])[.,]$/, '')
}

function changes(phrase: Phrase): Intent | undefined {
  const said = plainly(phrase)
  if (/^(?:show |print |see )?(?:me )?(?:the |a |my )?(?:git )?diff$/.test(said))
    return { kind: 'changes', isDiff: true }
  const isStatus = /^(?:show |check )?(?:me )?(?:the |what )?(?:git )?(?:status|changes)$/.test(said)
  const isQuestion =
    /^(?:what(?:'s| has| is| did i| have i| files)?(?: been)? chang(?:ed|es?)|is there anything new|any changes)\b.{0,40}$/.test(
      said,
    )
  return isStatus || isQuestion || said === 'what is different' ? { kind: 'changes', isDiff: false } : undefined
}

function address(phrase: Phrase): Intent | undefined {
  const found = phrase.words.find(({ text }) => /^https?:\/\//.test(text))
  const isWanted = ['fetch', 'get', 'open', 'download', 'read', 'show', 'visit', 'load'].includes(first(phrase))
  return found && (isWanted || phrase.words.length === 1) ? { kind: 'fetch', url: nameOf(found) } : undefined
}

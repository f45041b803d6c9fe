import type { Intent } from './intent.ts'
import { nameOf } from './names.ts'
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
  if (otherVerbs.has(first(phrase)) || has(phrase, 'not', "don't", 'never', 'without', 'how', 'why')) return false
  if (has(phrase, 'fix', 'repair', 'mend', 'debug', 'correct', 'solve')) return true
  return has(phrase, 'make', 'get') && has(phrase, 'pass', 'passing', 'green', 'work', 'succeed')
}

/** Whoever says these wants something else, whatever it is about. */
const otherVerbs = new Set(
  `search grep locate create write replace change add append read show open explain describe list count delete remove
  rename move copy what which where fetch put save`.split(/\s+/),
)

/** `with npm test`, or a quoted command. */
function commandIn(phrase: Phrase): { command?: string } {
  const quoted = phrase.words.filter(({ isQuoted }) => isQuoted)
  if (quoted.length === 1) return { command: quoted[0]!.text }
  const at = phrase.words.findLastIndex(({ plain }) => plain === 'with' || plain === 'using' || plain === 'running')
  const isProgram = at >= 0 && programs.has(phrase.words[at + 1]?.plain ?? '')
  return isProgram ? { command: withoutFullStop(textBetween(phrase, at + 1)) } : {}
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
    if (wanted.words.length === 1 && ['it', 'that', 'again', 'this', 'something'].includes(first(wanted)))
      return undefined
    const quoted = wanted.words.length === 1 && wanted.words[0]!.isQuoted
    return runOf(quoted ? wanted.words[0]!.text : withoutFullStop(textBetween(wanted, 0)))
  }
  if (
    words.length === 1 &&
    words[0]!.isQuoted &&
    source.trimStart().startsWith('`') &&
    programs.has(words[0]!.text.split(' ', 1)[0]!)
  )
    return runOf(words[0]!.text)
  if (!programs.has(prompt) || plainly(phrase) === 'git status') return undefined
  const isEnglish =
    ['make', 'go', 'touch', 'which', 'head', 'sort', 'date', 'sleep'].includes(prompt) &&
    !words.some(({ text }) => text.startsWith('-'))
  return isEnglish || (prompt === 'ls' && words.length < 3) ? undefined : runOf(withoutFullStop(textBetween(phrase, 0)))
}

/** Whether a line is a command as a shell reads it, though nobody said "run". */
export function isBareCommand(text: string): boolean {
  const [program = ''] = text.trimStart().split(/\s/, 1)
  return (
    programs.has(program) || ['cat', 'cd', 'rm', 'mv', 'cp', 'grep', 'export', 'test', 'kill', 'exit'].includes(program)
  )
}

const runOf = (command: string): Intent | undefined =>
  command.trim() === '' ? undefined : { kind: 'run', command: command.trim() }

const withoutFullStop = (text: string): string => (/\w\.$/.test(text) ? text.slice(0, -1) : text)

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

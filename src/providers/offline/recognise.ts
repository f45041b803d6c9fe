import type { Intent } from './intent.ts'
import { looksLikePath, nameIn, nameOf, splitPlace } from './names.ts'
import { recogniseChange } from './recognise-change.ts'
import { recogniseTalk } from './recognise-talk.ts'
import { type Phrase, part, phraseOf, plainly, textBetween } from './words.ts'

/** What one request means; undefined when it means nothing that is known. */
export function recognise(text: string): Intent | undefined {
  const whole = phraseOf(text)
  return recogniseTalk(whole) ?? recogniseTask(withoutManners(whole))
}

/** From what leaves no doubt to what is a guess: the first that fits counts. */
function recogniseTask(phrase: Phrase): Intent | undefined {
  if (phrase.words.length === 0) return undefined
  return (
    recogniseTalk(phrase) ??
    tests(phrase) ??
    command(phrase) ??
    changes(phrase) ??
    address(phrase) ??
    count(phrase) ??
    recogniseChange(phrase) ??
    filesByName(phrase) ??
    search(phrase) ??
    list(phrase) ??
    read(phrase)
  )
}

const manners = new Set(
  `please kindly can could would will you i we want need like to d id i'd let's lets hey hi hello ok okay now first next
  finally also and then just go ahead help try so well libero should`.split(/\s+/),
)
const questions = new Set(['what', "what's", 'which', 'where', "where's", 'how'])
const thanks = new Set('please thanks thank you for me now then'.split(' '))

/** `could you please … for me?` */
function withoutManners(phrase: Phrase): Phrase {
  let from = 0
  let to = phrase.words.length
  while (from < to - 1 && from < 10 && manners.has(phrase.words[from]!.plain)) from++
  while (to > from + 1 && thanks.has(phrase.words[to - 1]!.plain)) to--
  if (phrase.words[from]?.plain === 'me' && to > from + 1) from++
  const [verb, me, question] = phrase.words.slice(from, to).map(({ plain }) => plain)
  const isQuestion = (verb === 'tell' || verb === 'show') && me === 'me' && questions.has(question ?? '')
  return part(phrase, isQuestion ? from + 2 : from, to)
}

const has = (phrase: Phrase, ...plains: string[]): boolean => phrase.words.some(({ plain }) => plains.includes(plain))
const first = ({ words }: Phrase): string => words[0]?.plain ?? ''

function tests(phrase: Phrase): Intent | undefined {
  if (!has(phrase, 'test', 'tests', 'testsuite', 'suite', 'spec', 'specs', 'failing', 'failure', 'bug', 'build'))
    return undefined
  const named = commandIn(phrase)
  const isFix = has(phrase, 'fix', 'repair', 'mend', 'debug', 'correct', 'solve')
  const isPass = has(phrase, 'make', 'get') && has(phrase, 'pass', 'passing', 'green', 'work', 'succeed')
  if (isFix || isPass) return { kind: 'fix', ...named }
  const said = plainly(phrase)
  const isRun =
    /^(?:(?:run|execute|do|start|try|check)(?: all| the| my| our| unit)* )?(?:tests?|test ?suite|specs?)(?: again| suite| now| (?:with|using|by running) .*)?$/
  const isQuestion = /^(?:do|does|are|is|which|what) (?:the |all |my |any )*tests? .{0,40}$/
  return isRun.test(said) || isQuestion.test(said) ? { kind: 'test', ...named } : undefined
}

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

function count(phrase: Phrase): Intent | undefined {
  const isCount = first(phrase) === 'count' || /^how (?:many|long)\b/.test(plainly(phrase))
  if (!isCount) return undefined
  if (has(phrase, 'files', 'entries')) return { kind: 'list', path: splitPlace(phrase).path }
  const path = nameIn(part(phrase, 1)) ?? splitPlace(phrase).path
  if (path === '.') return { kind: 'incomplete', question: 'Of which file shall I count the lines?', like: 'count' }
  return { kind: 'count', path }
}

const seekers = new Set(['find', 'search', 'grep', 'look', 'locate', 'where', "where's", 'seek'])
const showers = new Set(['list', 'ls', 'dir', 'show', 'what', 'which', "what's", 'give', 'tell', 'see'])

function filesByName(phrase: Phrase): Intent | undefined {
  if (!seekers.has(first(phrase)) && !showers.has(first(phrase))) return undefined
  if (has(phrase, 'containing', 'contain', 'contains', 'mentioning', 'mention', 'using', 'use', 'with'))
    return undefined
  const isFiles = has(phrase, 'file', 'files')
  const { rest, path } = splitPlace(part(phrase, 1))
  const glob = rest.words.find(({ text }) => text.includes('*') && text.length <= 1000)
  if (glob) return { kind: 'files', pattern: anywhere(nameOf(glob)), path }
  const ending = rest.words.find(({ text }) => /^\.\w{1,12}$/.test(text))
  if (ending && isFiles) return { kind: 'files', pattern: `**/*${ending.text}`, path }
  const at = rest.words.findLastIndex(({ plain }) => ['named', 'called', 'matching', 'like', 'name'].includes(plain))
  const isSought = seekers.has(first(phrase)) && isFiles && first(phrase) !== 'search'
  const name = at >= 0 ? nameIn(part(rest, at + 1)) : isSought ? nameIn(rest) : undefined
  return name === undefined || !isFiles ? undefined : { kind: 'files', pattern: anywhere(name), path }
}

/** People mean a name wherever it is; a pattern of paths counts from the folder. */
const anywhere = (pattern: string): string => (pattern.includes('/') ? pattern : `**/${pattern}`)

function search(phrase: Phrase): Intent | undefined {
  const verb = first(phrase)
  const isListing = showers.has(verb) && has(phrase, 'containing', 'contain', 'contains', 'mentioning', 'mention')
  if (!seekers.has(verb) && !isListing) return undefined
  if (verb === 'look' && !has(phrase, 'for')) return undefined
  const marker = phrase.words.findIndex(({ plain }) =>
    ['containing', 'contain', 'contains', 'mentioning', 'mention', 'with'].includes(plain),
  )
  const isMarked = marker > 0 && has(phrase, 'file', 'files', 'lines', 'everything', 'places')
  const { rest, path } = placed(part(phrase, isMarked ? marker + 1 : 1), verb)
  let from = 0
  let to = rest.words.length
  while (from < to - 1 && searchFillers.has(rest.words[from]!.plain)) from++
  while (
    to > from + 1 &&
    ['defined', 'used', 'declared', 'mentioned', 'everywhere', 'in', 'them'].includes(rest.words[to - 1]!.plain)
  )
    to--
  const wanted = part(rest, from, to)
  const quoted = wanted.words.filter(({ isQuoted }) => isQuoted)
  const text = quoted.length === 1 ? quoted[0]!.text : withoutQuestion(textBetween(wanted, 0))
  if (['', 'it', 'that', 'this', 'something'].includes(text))
    return { kind: 'incomplete', question: 'What shall I search for?', like: 'search' }
  return { kind: 'search', text, path }
}

/** `search src for x` and `grep x src`, beside what everybody says. */
function placed(phrase: Phrase, verb: string): { readonly rest: Phrase; readonly path: string } {
  const { words } = phrase
  if (verb === 'grep' && words.length === 2 && !words[1]!.isQuoted)
    return { rest: part(phrase, 0, 1), path: nameOf(words[1]!) }
  const mark = words.findIndex(({ plain }) => plain === 'for')
  if (verb !== 'search' || mark < 1) return splitPlace(phrase)
  const place = splitPlace({ source: phrase.source, words: [inWord, ...words.slice(0, mark)] })
  return { rest: part(phrase, mark + 1), path: place.path }
}

const inWord = { text: 'in', plain: 'in', isQuoted: false, start: 0, end: 0 }

const searchFillers = new Set(
  'for the all every any occurrences occurrence of text word string through is are uses usages do we i me where files file lines places'.split(
    ' ',
  ),
)

const withoutQuestion = (text: string): string => text.replace(/[?.!]$/, '')

function list(phrase: Phrase): Intent | undefined {
  const said = plainly(phrase)
  const verb = first(phrase)
  const isList = ['list', 'ls', 'dir'].includes(verb)
  const isAbout = showers.has(verb) && has(phrase, 'files', 'folder', 'folders', 'directory', 'contents', 'entries')
  const isWhat = /^what(?:'s| is| are)(?: there)?(?: in| inside| here)/.test(said)
  if (!isList && !isAbout && !isWhat) return undefined
  const rest = part(phrase, 1)
  const place = splitPlace(rest)
  const path = place.path === '.' && !has(rest, 'in', 'here') ? (nameIn(dropped(rest)) ?? '.') : place.path
  if (isWhat && /\.\w{1,8}$/.test(path)) return { kind: 'read', path }
  return { kind: 'list', path }
}

/** Words that are about the listing, not the name of a folder. */
function dropped({ source, words }: Phrase): Phrase {
  return { source, words: words.filter(({ plain, text }) => looksLikePath(text) || !listFillers.has(plain)) }
}

const listFillers = new Set('project repository repo names every each entries what which do we have i'.split(' '))

const readers = new Set(['read', 'show', 'cat', 'open', 'view', 'print', 'display', 'look', 'see', 'give', 'type'])
const explainers = new Set(['explain', 'describe', 'summarise', 'summarize', 'review', 'analyse', 'analyze'])

function read(phrase: Phrase): Intent | undefined {
  const said = plainly(phrase)
  const isQuestion = /^what (?:does|is in|do)\b/.test(said)
  const isExplained = explainers.has(first(phrase))
  if (!readers.has(first(phrase)) && !isExplained && !isQuestion) return undefined
  if (has(phrase, 'folder', 'directory')) return undefined
  const lines = linesIn(said)
  const rest = part(phrase, 1)
  const kept = rest.words.filter(({ plain, text }) => looksLikePath(text) || !readFillers.test(plain))
  const path = nameIn({ source: phrase.source, words: kept })
  if (path === undefined || ((isQuestion || isExplained) && !looksLikePath(path))) return undefined
  return { kind: 'read', path, ...(lines && { lines }), ...(isExplained && { isExplained }) }
}

const readFillers =
  /^(?:lines?|\d{1,9}(?:-\d{1,9})?|first|last|from|top|begin(?:ning)?|start|end|does|say|contain|do|look|like|see|what)$/

/** `lines 10-20`, `line 5`, `first 10 lines`. */
function linesIn(said: string): { from: number; count: number } | undefined {
  const range = /\blines? (\d{1,9})(?: ?(?:-|to|until) ?(\d{1,9}))?\b/.exec(said)
  if (range) {
    const from = Math.max(1, Number(range[1]))
    return { from, count: Math.max(1, Number(range[2] ?? from) - from + 1) }
  }
  const top = /\b(?:first|top) (\d{1,9}) lines?\b/.exec(said)
  return top ? { from: 1, count: Math.max(1, Number(top[1])) } : undefined
}

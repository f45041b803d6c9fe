import type { Intent } from './intent.ts'
import { looksLikePath, nameIn, nameOf, splitPlace } from './names.ts'
import { first, has, type Phrase, part, plainly, textBetween } from './words.ts'

/** Requests that only look: files by name, a search, a listing, a file. */
export function recogniseLook(phrase: Phrase): Intent | undefined {
  return filesByName(phrase) ?? search(phrase) ?? list(phrase) ?? read(phrase)
}

/** Requests to count something. */
export function recogniseCount(phrase: Phrase): Intent | undefined {
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

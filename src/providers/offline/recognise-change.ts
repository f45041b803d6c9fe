import { shellWord } from '../../core/execution.ts'
import type { Intent, Kind } from './intent.ts'
import { contentIn, exactTextIn, isVague, looksLikePath, onlyNameIn } from './names.ts'
import { first, type Phrase, part, plainly } from './words.ts'

/** Requests that change files: replace, create, append, delete, move. */
export function recogniseChange(phrase: Phrase): Intent | undefined {
  return replace(phrase) ?? remove(phrase) ?? move(phrase) ?? append(phrase) ?? create(phrase) ?? write(phrase)
}

const firstOf = ({ words }: Phrase, from: number, ...plains: string[]): number =>
  words.findIndex(({ plain }, i) => i >= from && plains.includes(plain))
const lastOf = ({ words }: Phrase, from: number, ...plains: string[]): number =>
  words.findLastIndex(({ plain }, i) => i >= from && plains.includes(plain))

const replacers: Readonly<Record<string, readonly string[]>> = {
  replace: ['with', 'by'],
  substitute: ['with', 'by'],
  swap: ['with', 'for'],
  change: ['to', 'into', 'with'],
  turn: ['into', 'to'],
  rename: ['to', 'into', 'as'],
  edit: ['to', 'into', 'with'],
}

function replace(given: Phrase): Intent | undefined {
  const { path: ahead, phrase } = fileAhead(given)
  const verb = first(phrase)
  const marks = Object.hasOwn(replacers, verb) ? replacers[verb]! : undefined
  if (!marks) return undefined
  let from = 1
  const isAll =
    ['all', 'every', 'each'].includes(phrase.words[1]?.plain ?? '') || plainly(phrase).endsWith(' everywhere')
  if (isAll && phrase.words[1] && !phrase.words[1].isQuoted && ['all', 'every', 'each'].includes(phrase.words[1].plain))
    from++
  while (['occurrence', 'occurrences', 'of'].includes(phrase.words[from]?.plain ?? '')) from++
  const mark = firstOf(phrase, from + 1, ...marks)
  if (mark < 0) return verb === 'replace' ? incomplete('Replace it with what, and in which file?') : undefined
  const place = ahead === undefined ? lastOf(phrase, mark + 2, 'in', 'inside') : phrase.words.length
  if (place < 0) return verb === 'rename' ? undefined : incomplete('In which file shall I replace it?')
  const path = ahead ?? onlyNameIn(withoutEverywhere(part(phrase, place + 1)))
  if (path === undefined) return incomplete('In which file shall I replace it?')
  const [before, after] = [part(phrase, from, mark), part(phrase, mark + 1, place)]
  if (isElsewhere(before) || isElsewhere(after)) return incomplete('Which text exactly, in quotes?')
  const values = { from: contentIn(before), to: contentIn(after) }
  return values.from === '' ? undefined : { kind: 'replace', ...values, path, isAll: isAll || verb === 'rename' }
}

/** `in README.md, replace …` */
function fileAhead(phrase: Phrase): { readonly path?: string; readonly phrase: Phrase } {
  if (first(phrase) !== 'in') return { phrase }
  const at = phrase.words.findIndex(({ plain }, i) => i > 1 && Object.hasOwn(replacers, plain))
  const path = at > 0 ? onlyNameIn(part(phrase, 1, at)) : undefined
  return path === undefined ? { phrase } : { path, phrase: part(phrase, at) }
}

function withoutEverywhere({ source, words }: Phrase): Phrase {
  return { source, words: words.filter(({ plain }) => plain !== 'everywhere') }
}

const incomplete = (question: string, like: Kind = 'replace'): Intent => ({ kind: 'incomplete', question, like })

/** `it`, or a line by its number: not the text itself. */
function isElsewhere({ words }: Phrase): boolean {
  const [head, second] = words.filter(({ plain }) => plain !== 'the')
  if (!head) return false
  return words.length === 1 ? isVague(head) : /^lines?$/.test(head.plain) && /^\d/.test(second?.plain ?? '')
}

function remove(phrase: Phrase): Intent | undefined {
  if (!['delete', 'remove', 'rm', 'erase'].includes(first(phrase))) return undefined
  const place = lastOf(phrase, 2, 'from', 'in')
  if (place > 0) {
    const path = onlyNameIn(part(phrase, place + 1))
    const text = part(phrase, 1, place)
    const [only, ...others] = text.words
    const isWord = others.length === 0 && !isVague(only!) && !looksLikePath(only!.text)
    const from = exactTextIn(text) ?? (isWord ? only!.text : '')
    if (path === undefined || from === '') return incomplete('Which text shall I take out of which file?')
    return { kind: 'replace', from, to: '', path, isAll: false }
  }
  const path = onlyNameIn(part(phrase, 1))
  return path === undefined ? undefined : { kind: 'run', command: `rm -- ${shellWord(path)}` }
}

const movers: Readonly<Record<string, string>> = {
  rename: 'mv -n',
  move: 'mv -n',
  mv: 'mv -n',
  copy: 'cp -n',
  cp: 'cp -n',
}

function move(phrase: Phrase): Intent | undefined {
  const program = Object.hasOwn(movers, first(phrase)) ? movers[first(phrase)] : undefined
  const mark = lastOf(phrase, 2, 'to', 'into', 'as')
  if (program === undefined || mark < 0) return undefined
  const from = onlyNameIn(part(phrase, 1, mark), 'folder', 'directory')
  const to = onlyNameIn(part(phrase, mark + 1), 'folder', 'directory')
  if (from === undefined || to === undefined) return undefined
  return { kind: 'run', command: `${program} -- ${shellWord(from)} ${shellWord(to)}` }
}

function append(phrase: Phrase): Intent | undefined {
  const verb = first(phrase)
  if (verb !== 'append' && verb !== 'add') return undefined
  const mark = lastOf(phrase, 2, 'to')
  if (mark < 0) return undefined
  const path = onlyNameIn(part(phrase, mark + 1), 'end', 'bottom', 'of')
  const what = part(phrase, 1, mark)
  const text = exactTextIn(what) ?? (verb === 'append' && !isElsewhere(what) ? contentIn(what) : '')
  if (path === undefined || text === '') return incomplete('Which text shall I append to which file?', 'append')
  return { kind: 'append', path, text }
}

const makers = new Set(['create', 'make', 'touch', 'mkdir', 'add', 'write', 'generate'])

function create(phrase: Phrase): Intent | undefined {
  const verb = first(phrase)
  if (!makers.has(verb)) return undefined
  const colon = phrase.words.findIndex(({ text, isQuoted }, i) => i > 0 && i < 6 && !isQuoted && text.endsWith(':'))
  const word = firstOf(phrase, 2, 'with', 'containing', 'saying', 'says', 'holding', 'contains')
  const mark = word > 0 ? word : colon
  const head = mark > 0 ? part(phrase, 1, mark === word ? mark : mark + 1) : part(phrase, 1)
  const isFolder =
    verb === 'mkdir' || head.words.some(({ plain }) => ['folder', 'directory', 'folders'].includes(plain))
  const path = onlyNameIn(head, ...kinds)
  if (path === undefined) return undefined
  if (isFolder) return { kind: 'run', command: `mkdir -p -- ${shellWord(path)}` }
  if (mark < 0) {
    const isSure = ['create', 'touch'].includes(verb) || head.words.some(({ plain }) => plain === 'file')
    return isSure ? { kind: 'create', path, text: '' } : undefined
  }
  const content = part(phrase, mark + 1)
  const isPlain = looksLikePath(path) && !isDescribed(content)
  const text = exactTextIn(content) ?? (isPlain ? contentIn(content) : undefined)
  return text === undefined ? whatText : { kind: 'create', path, text: ended(text) }
}

const kinds = 'a an new empty blank small text which that folder directory folders'.split(' ')
const whatText = incomplete('Which text exactly shall stand in it? Put it in quotes.', 'create')

/** `an express app` is no text to write down, and a quoted text with words behind it says more than the text. */
function isDescribed({ words }: Phrase): boolean {
  const [head] = words
  return !head || head.isQuoted || isVague(head) || ['a', 'an', 'two', 'three', 'my', 'our'].includes(head.plain)
}

/** `write "hello" to notes.txt` */
function write(phrase: Phrase): Intent | undefined {
  if (!['write', 'put', 'save', 'store'].includes(first(phrase))) return undefined
  const mark = lastOf(phrase, 2, 'to', 'into', 'in', 'as')
  if (mark < 0) return undefined
  const path = onlyNameIn(part(phrase, mark + 1), ...kinds)
  const text = exactTextIn(part(phrase, 1, mark))
  if (text !== undefined && path !== undefined) return { kind: 'create', path, text: ended(text) }
  return path !== undefined && looksLikePath(path) ? whatText : undefined
}

/** Text files end with a newline. */
const ended = (text: string): string => (text === '' || text.endsWith('\n') ? text : `${text}\n`)

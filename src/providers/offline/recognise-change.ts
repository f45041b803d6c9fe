import type { Intent } from './intent.ts'
import { contentIn, nameIn, nameOf } from './names.ts'
import { shellWord } from './shell-word.ts'
import { type Phrase, part, plainly } from './words.ts'

/** Requests that change files: replace, create, append, delete, move. */
export function recogniseChange(phrase: Phrase): Intent | undefined {
  return replace(phrase) ?? remove(phrase) ?? move(phrase) ?? append(phrase) ?? create(phrase) ?? write(phrase)
}

const verbOf = ({ words }: Phrase): string => words[0]?.plain ?? ''
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
  const verb = verbOf(phrase)
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
  const path = ahead ?? nameIn(withoutEverywhere(part(phrase, place + 1)))
  if (path === undefined) return incomplete('In which file shall I replace it?')
  const values = { from: contentIn(part(phrase, from, mark)), to: contentIn(part(phrase, mark + 1, place)) }
  return values.from === '' ? undefined : { kind: 'replace', ...values, path, isAll: isAll || verb === 'rename' }
}

/** `in README.md, replace …` */
function fileAhead(phrase: Phrase): { readonly path?: string; readonly phrase: Phrase } {
  if (verbOf(phrase) !== 'in') return { phrase }
  const at = phrase.words.findIndex(({ plain }, i) => i > 1 && Object.hasOwn(replacers, plain))
  const path = at > 0 ? nameIn(part(phrase, 1, at)) : undefined
  return path === undefined ? { phrase } : { path, phrase: part(phrase, at) }
}

function withoutEverywhere({ source, words }: Phrase): Phrase {
  return { source, words: words.filter(({ plain }) => plain !== 'everywhere') }
}

const incomplete = (question: string): Intent => ({ kind: 'incomplete', question, like: 'replace' })

function remove(phrase: Phrase): Intent | undefined {
  if (!['delete', 'remove', 'rm', 'erase'].includes(verbOf(phrase))) return undefined
  const place = lastOf(phrase, 2, 'from', 'in')
  if (place > 0) {
    const path = nameIn(part(phrase, place + 1))
    const from = contentIn(part(phrase, 1, place))
    return path === undefined || from === '' ? undefined : { kind: 'replace', from, to: '', path, isAll: false }
  }
  const path = nameIn(part(phrase, 1))
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
  const program = Object.hasOwn(movers, verbOf(phrase)) ? movers[verbOf(phrase)] : undefined
  const mark = lastOf(phrase, 2, 'to', 'into', 'as')
  if (program === undefined || mark < 0) return undefined
  const from = nameIn(part(phrase, 1, mark))
  const to = nameIn(part(phrase, mark + 1))
  if (from === undefined || to === undefined) return undefined
  return { kind: 'run', command: `${program} -- ${shellWord(from)} ${shellWord(to)}` }
}

function append(phrase: Phrase): Intent | undefined {
  const verb = verbOf(phrase)
  if (verb !== 'append' && verb !== 'add') return undefined
  const mark = lastOf(phrase, 2, 'to')
  if (mark < 0) return undefined
  const path = nameIn(withoutEnd(part(phrase, mark + 1)))
  const text = contentIn(part(phrase, 1, mark))
  return path === undefined || text === '' ? undefined : { kind: 'append', path, text }
}

/** `the end of notes.txt` */
function withoutEnd({ source, words }: Phrase): Phrase {
  return { source, words: words.filter(({ plain }) => plain !== 'end' && plain !== 'bottom') }
}

const makers = new Set(['create', 'make', 'touch', 'mkdir', 'add', 'write', 'generate'])

function create(phrase: Phrase): Intent | undefined {
  const verb = verbOf(phrase)
  if (!makers.has(verb)) return undefined
  const colon = phrase.words.findIndex(({ text, isQuoted }, i) => i > 0 && i < 6 && !isQuoted && text.endsWith(':'))
  const word = firstOf(phrase, 2, 'with', 'containing', 'saying', 'says', 'holding', 'contains')
  const mark = word > 0 ? word : colon
  const head = mark > 0 ? part(phrase, 1, mark === word ? mark : mark + 1) : part(phrase, 1)
  const isFolder =
    verb === 'mkdir' || head.words.some(({ plain }) => ['folder', 'directory', 'folders'].includes(plain))
  const path = nameIn(withoutKind(head))
  if (path === undefined) return undefined
  if (isFolder) return { kind: 'run', command: `mkdir -p -- ${shellWord(path)}` }
  if (mark < 0) {
    const isSure = ['create', 'touch'].includes(verb) || head.words.some(({ plain }) => plain === 'file')
    return isSure ? { kind: 'create', path, text: '' } : undefined
  }
  return { kind: 'create', path, text: ended(contentIn(part(phrase, mark + 1))) }
}

function withoutKind({ source, words }: Phrase): Phrase {
  return {
    source,
    words: words.filter(({ plain }) => !['empty', 'blank', 'small', 'text', 'which', 'that'].includes(plain)),
  }
}

/** `write "hello" to notes.txt` */
function write(phrase: Phrase): Intent | undefined {
  if (!['write', 'put', 'save', 'store'].includes(verbOf(phrase))) return undefined
  const mark = lastOf(phrase, 2, 'to', 'into', 'in', 'as')
  const last = phrase.words.at(-1)
  if (mark < 0 || !last) return undefined
  const path = nameIn(part(phrase, mark + 1)) ?? nameOf(last)
  return { kind: 'create', path, text: ended(contentIn(part(phrase, 1, mark))) }
}

/** Text files end with a newline. */
const ended = (text: string): string => (text === '' || text.endsWith('\n') ? text : `${text}\n`)

import { type Phrase, part, textBetween, type Word } from './words.ts'

const fillers = new Set(
  `the a an this that my our your me us all of file files folder folders directory called named content contents whole
  new full current please to everything is are there in inside here lines line it its source code at for and`.split(
    /\s+/,
  ),
)

/** The one name in a phrase, of a file or a folder: quoted, or the only word that can be one. */
export function nameIn(phrase: Phrase): string | undefined {
  const quoted = phrase.words.filter(({ isQuoted }) => isQuoted)
  if (quoted.length > 0) return quoted.length === 1 ? quoted[0]!.text : undefined
  const candidates = phrase.words.filter(({ plain, text }) => looksLikePath(text) || !fillers.has(plain))
  if (candidates.length === 1) return nameOf(candidates[0]!)
  const paths = candidates.filter(({ text }) => looksLikePath(text))
  return paths.length === 1 ? nameOf(paths[0]!) : undefined
}

/** A word as a name: a full stop that ends the sentence is not part of it. */
export function nameOf({ text, isQuoted }: Word): string {
  if (isQuoted || /^[./]+$/.test(text)) return text
  let end = text.length
  while (end > 1 && ',!?:;)'.includes(text[end - 1]!)) end--
  if (end > 1 && text[end - 1] === '.' && text[end - 2] !== '.') end--
  return text.slice(text.startsWith('(') ? 1 : 0, end)
}

/** Has something of a path in it: a slash, or a dot with letters behind. */
export function looksLikePath(text: string): boolean {
  return text.length <= 1000 && (/[/\\*]/.test(text) || /\.\w/.test(text) || text === '.' || text === '..')
}

/** Splits `… in src` off a phrase: what stands before it, and the place. */
export function splitPlace(phrase: Phrase): { readonly rest: Phrase; readonly path: string } {
  const { words } = phrase
  const at = words.findLastIndex(({ plain }) => placeWords.has(plain))
  if (at < 0) return { rest: phrase, path: '.' }
  const behind = part(phrase, at + 1)
  const rest = part(phrase, 0, at)
  if (everywhere.has(lastPlain(behind))) return { rest, path: '.' }
  const name = nameIn(behind)
  const isPlace = name !== undefined && behind.words.length <= 4
  return isPlace ? { rest, path: name } : { rest: phrase, path: '.' }
}

const placeWords = new Set(['in', 'under', 'inside', 'within', 'below'])
const everywhere = new Set([
  'here',
  'files',
  'project',
  'code',
  'repo',
  'repository',
  'everything',
  'everywhere',
  'them',
  'there',
])

const lastPlain = ({ words }: Phrase): string => words.at(-1)?.plain ?? ''

/** A text that somebody wants to have written or found, without the words that only introduce it. */
export function contentIn(phrase: Phrase): string {
  let from = 0
  while (from < phrase.words.length - 1 && introducers.has(phrase.words[from]!.plain)) from++
  const rest = part(phrase, from)
  const [only] = rest.words
  return only?.isQuoted && rest.words.length === 1 ? only.text : textBetween(rest, 0)
}

const introducers = new Set([
  'the',
  'a',
  'text',
  'word',
  'words',
  'string',
  'phrase',
  'line',
  'content',
  'contents',
  'following',
])

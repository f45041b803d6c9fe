import { type Phrase, part, textBetween, type Word } from './words.ts'

const fillers = new Set(
  `the a an this that my our your me us all of file files folder folders directory called named content contents whole
  new full current please to everything is are there in inside here lines line it its source code at for and again`.split(
    /\s+/,
  ),
)

/** Whoever says one of these about a file wants something else than that file as it is. */
const hedges = new Set(
  `except excepting but unless if without not don't doesn't never nothing instead otherwise when until after before or
  only`.split(/\s+/),
)

/** The one name in a phrase, of a file or a folder: quoted, or the only word that can be one. */
export function nameIn(phrase: Phrase): string | undefined {
  if (phrase.words.some(({ plain }) => hedges.has(plain))) return undefined
  const quoted = phrase.words.filter(({ isQuoted }) => isQuoted)
  if (quoted.length > 0) return quoted.length === 1 ? quoted[0]!.text : undefined
  const candidates = phrase.words.filter(({ plain, text }) => looksLikePath(text) || !fillers.has(plain))
  if (candidates.length === 1) return nameOf(candidates[0]!)
  const paths = candidates.filter(({ text }) => looksLikePath(text))
  return paths.length === 1 ? nameOf(paths[0]!) : undefined
}

/** The name in a phrase that says nothing else: a word that is not understood may turn the whole round. */
export function onlyNameIn({ words }: Phrase, ...beside: string[]): string | undefined {
  const rest = words.filter(({ plain, isQuoted }) => isQuoted || !(namers.has(plain) || beside.includes(plain)))
  const [only] = rest
  return rest.length !== 1 || isVague(only!) ? undefined : nameOf(only!)
}

const namers = new Set(['the', 'my', 'our', 'your', 'file', 'called', 'named', 'please'])
const vague = new Set(
  'it its that this them these those everything anything something nothing all every each any some both here there again'.split(
    ' ',
  ),
)

/** Means something that was said elsewhere. */
export const isVague = ({ plain, isQuoted }: Word): boolean => !isQuoted && vague.has(plain)

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
  return exactTextIn(phrase) ?? textBetween(phrase, 0)
}

/** The same where there is no doubt that it is one: it is quoted, or called a text; `a comment` may be anything. */
export function exactTextIn(phrase: Phrase): string | undefined {
  const { words } = phrase
  const skip = (known: ReadonlySet<string>, start: number): number => {
    let at = start
    while (at < words.length - 1 && known.has(words[at]!.plain)) at++
    return at
  }
  const noun = skip(articles, 0)
  const from = skip(nouns, noun)
  const [only, ...others] = words.slice(from)
  if (only?.isQuoted) return others.length === 0 ? only.text : undefined
  return noun > 0 && from > noun ? textBetween(phrase, from) : undefined
}

const articles = new Set(['the', 'a'])
const nouns = new Set('text word words string phrase line content contents following'.split(' '))

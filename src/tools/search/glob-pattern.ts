/** An invalid glob. */
export class GlobProblem extends Error {}

const star = '[^/]*'
const everything = '[^]*'
const leadingStars = `(?:/?|${everything}/)`
const trailingStars = `/${everything}`
const innerStars = `(?:/|/${everything}/)`

/**
 * Translates a glob of ripgrep to the source of a regular expression: `*` and `?` match within a name, `**` between slashes
 * crosses folders, `[…]` is one character, `{a,b}` is an alternative, and a backslash escapes the next character. With
 * `isLenient` an unclosed `[` is literal, as in `.gitignore`. Why not a package: decision 0041.
 */
export function globSource(glob: string, { isLenient = false } = {}): string {
  const characters = Array.from(glob)
  /** The alternatives of each open brace, the innermost last; the last one of them is being read. */
  const open: string[][][] = [[[]]]
  let at = 0

  const tokens = (): string[] => open.at(-1)!.at(-1)!
  const isInBraces = (): boolean => open.length > 1
  const isEndAt = (index: number): boolean => {
    const character = characters[index]
    return character === undefined || (isInBraces() && (character === ',' || character === '}'))
  }

  /** Reads the rest after a first star. */
  function readStars(): string {
    if (characters[at] !== '*') return star
    const before = characters[at - 2]
    const isSlash = characters[++at] === '/'
    const isFirst = tokens().length === 0
    if (!isSlash && !(isFirst ? characters[at] === undefined : isEndAt(at))) return star
    if (!isFirst && before !== '/') return star
    if (isSlash) at++
    if (isFirst) return leadingStars
    const previous = tokens().pop()!
    if (previous === leadingStars || previous === trailingStars) return previous
    return isSlash ? innerStars : trailingStars
  }

  /** Reads a class after its opening bracket. */
  function readClass(): string {
    const start = at
    const isNegated = characters[at] === '!' || characters[at] === '^'
    if (isNegated) at++
    let source = ''
    for (let isFirst = true; ; isFirst = false) {
      const from = characters[at++]
      if (from === undefined) break
      if (from === ']' && !isFirst) return `[${isNegated ? '^' : ''}${source}]`
      const to = characters[at] === '-' && characters[at + 1] !== ']' ? characters[at + 1] : undefined
      source += to === undefined ? literal(from) : range(from, to)
      if (to !== undefined) at += 2
    }
    if (!isLenient) throw new GlobProblem('a "[" is not closed; write "\\[" for the character itself')
    at = start
    return literal('[')
  }

  function readEscaped(): string {
    const character = characters[at++]
    if (character === undefined) throw new GlobProblem('a "\\" at the end escapes nothing')
    return literal(character)
  }

  function closeBraces(): string {
    if (!isInBraces()) throw new GlobProblem('a "}" closes nothing; write "\\}" for the character itself')
    const options = open.pop()!.map((parts) => parts.join(''))
    const some = options.filter((option) => option !== '')
    return some.length > 0 ? `(?:${some.join('|')})` : ''
  }

  while (at < characters.length) {
    const character = characters[at++]!
    if (character === '{') open.push([[]])
    else if (character === ',' && isInBraces()) open.at(-1)!.push([])
    else if (character === '}') {
      const options = closeBraces()
      tokens().push(options)
    } else {
      const token = readOne(character)
      tokens().push(token)
    }
  }
  if (isInBraces()) throw new GlobProblem('a "{" is not closed; write "\\{" for the character itself')
  const all = tokens()
  return all.length === 1 && all[0] === leadingStars ? everything : all.join('')

  function readOne(character: string): string {
    if (character === '*') return readStars()
    if (character === '?') return '[^/]'
    if (character === '[') return readClass()
    return character === '\\' ? readEscaped() : literal(character)
  }
}

function range(from: string, to: string): string {
  if (to.codePointAt(0)! < from.codePointAt(0)!)
    throw new GlobProblem(`the range "${from}-${to}" is the wrong way round`)
  return `${literal(from)}-${literal(to)}`
}

/** One character, escaped so that it is literal anywhere in a regular expression. */
export function literal(character: string): string {
  const code = character.codePointAt(0)!
  if (code > 0x7f || /\w/.test(character)) return character
  return `\\x${code.toString(16).padStart(2, '0')}`
}

const maxAlternatives = 200

/** Expands the braces of a glob. */
export function expandBraces(glob: string): string[] {
  const open = findOutside(glob, '{', 0)
  if (open < 0) return [glob]
  const options: string[] = []
  let depth = 0
  let from = open + 1
  for (let at = open; at < glob.length; at++) {
    const character = glob[at]!
    if (character === '\\') at++
    else if (character === '{') depth++
    else if ((character === ',' || character === '}') && depth === 1) {
      options.push(glob.slice(from, at))
      from = at + 1
    }
    if (character !== '}' || --depth > 0) continue
    const [head, tail] = [glob.slice(0, open), expandBraces(glob.slice(at + 1))]
    const all = options.flatMap(expandBraces).flatMap((option) => tail.map((rest) => head + option + rest))
    if (all.length > maxAlternatives)
      throw new GlobProblem(`its braces stand for more than ${maxAlternatives} globs; use fewer`)
    return all
  }
  throw new GlobProblem('a "{" is not closed; write "\\{" for the character itself')
}

/** Splits globs at commas outside braces and brackets. */
export function splitGlobs(globs: string): string[] {
  const pieces: string[] = []
  let from = 0
  for (let at = 0; ; at++) {
    at = findOutside(globs, ',', at)
    pieces.push(at < 0 ? globs.slice(from) : globs.slice(from, at))
    if (at < 0) break
    from = at + 1
  }
  return pieces.map((piece) => piece.trim()).filter((piece) => piece !== '')
}

/** The position of a character outside escapes, brackets and (unless it is one) braces. */
function findOutside(glob: string, wanted: string, from: number): number {
  let depth = 0
  for (let at = from; at < glob.length; at++) {
    const character = glob[at]!
    if (depth === 0 && character === wanted) return at
    if (character === '\\') at++
    else if (character === '[') at = endOfClass(glob, at)
    else if (character === '{') depth++
    else if (character === '}') depth--
  }
  return -1
}

/** The index of the closing bracket; that of the opening one if there is none. */
function endOfClass(glob: string, open: number): number {
  const first = glob[open + 1] === '!' || glob[open + 1] === '^' ? open + 2 : open + 1
  const close = glob.indexOf(']', first + 1)
  return close < 0 ? open : close
}

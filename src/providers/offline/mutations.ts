/** A change of one token in one line. */
export interface Mutation {
  /** From 0. */
  readonly line: number
  readonly before: string
  readonly after: string
  /** The token, for messages: `-` and `+`. */
  readonly from: string
  readonly to: string
}

/** A replacement of a token; a lower rank is tried earlier. */
type Swap = readonly [token: string, other: string, rank: number]

const operators: readonly Swap[] = [
  ['-', '+', 0],
  ['+', '-', 1],
  ['<=', '<', 0],
  ['<', '<=', 0],
  ['>=', '>', 0],
  ['>', '>=', 0],
  ['===', '!==', 1],
  ['!==', '===', 0],
  ['==', '!=', 1],
  ['!=', '==', 0],
  ['&&', '||', 1],
  ['||', '&&', 1],
  ['*', '/', 2],
  ['/', '*', 2],
  ['-=', '+=', 0],
  ['+=', '-=', 1],
]

const words: readonly Swap[] = [
  ['true', 'false', 1],
  ['false', 'true', 1],
  ['Math.min', 'Math.max', 0],
  ['Math.max', 'Math.min', 0],
  ['Math.floor', 'Math.ceil', 1],
  ['Math.ceil', 'Math.floor', 1],
  ['length - 1', 'length', 1],
  ['i = 1', 'i = 0', 0],
  ['i = 0', 'i = 1', 2],
  ['return !', 'return ', 0],
]

/** Larger files have too many candidates. */
const maxLines = 2000

/** Changes that may repair a file, the likeliest first. Lines in `near` (from 0) come first. */
export function mutationsOf(lines: readonly string[], near: ReadonlySet<number>): Mutation[] {
  if (lines.length > maxLines) return []
  const found: { mutation: Mutation; rank: number }[] = []
  let isComment = false
  for (const [line, before] of lines.entries()) {
    if (before.length > 400) continue
    if (before.trimStart().startsWith('/*')) isComment = true
    const isCode = !isComment && !/^\s*(?:\/\/|import\b|export \* |\*)/.test(before)
    if (before.includes('*/')) isComment = false
    if (!isCode) continue
    const distance = near.has(line) ? 0 : 10
    for (const { at, from, to, rank } of tokensIn(withoutTexts(before))) {
      const after = before.slice(0, at) + to + before.slice(at + from.length)
      found.push({ mutation: { line, before, after, from: from.trim(), to: to.trim() }, rank: rank + distance })
    }
  }
  return found.sort((a, b) => a.rank - b.rank).map(({ mutation }) => mutation)
}

interface Token {
  readonly at: number
  readonly from: string
  readonly to: string
  readonly rank: number
}

function* tokensIn(text: string): Generator<Token> {
  for (const { 0: run, index: at } of text.matchAll(/[-+*/<>=!&|]+/g)) {
    const swap = operators.find(([token]) => token === run)
    if (swap && isBetweenValues(text, at, run)) yield { at, from: run, to: swap[1], rank: swap[2] }
  }
  for (const [from, to, rank] of words)
    for (let at = text.indexOf(from); at >= 0; at = text.indexOf(from, at + from.length))
      if (!isInsideWord(text, at, from)) yield { at, from, to, rank }
}

/** The sign of a number and the brackets of a type are not operators. */
function isBetweenValues(text: string, at: number, operator: string): boolean {
  const before = text.slice(0, at)
  const behind = text.slice(at + operator.length)
  const isSpaced = before.endsWith(' ') && behind.startsWith(' ')
  if (operator === '<' || operator === '>') return isSpaced
  return isSpaced || (/[\w$)\]]$/.test(before) && /^[\w$([]/.test(behind))
}

/** Blanks out strings and line comments, so that positions stay the same. */
function withoutTexts(line: string): string {
  let masked = ''
  let quote = ''
  for (let i = 0; i < line.length; i++) {
    const character = line[i]!
    if (quote === '' && character === '/' && line[i + 1] === '/') return masked.padEnd(line.length)
    if (quote !== '') {
      if (character === '\\') masked += ' '
      if (character === '\\') i++
      if (character === quote) quote = ''
      masked += ' '
    } else if (`"'\``.includes(character)) {
      quote = character
      masked += ' '
    } else masked += character
  }
  return masked
}

function isInsideWord(text: string, at: number, token: string): boolean {
  const isLetter = (character: string | undefined): boolean => character !== undefined && /[\w$]/.test(character)
  const end = at + token.length
  return (isLetter(token[0]) && isLetter(text[at - 1])) || (isLetter(token.at(-1)) && isLetter(text[end]))
}

/** The lines of the functions with these names, from 0: from the declaration to the line that closes it. */
export function linesOfFunctions(lines: readonly string[], names: ReadonlySet<string>): Set<number> {
  const found = new Set<number>()
  for (const [start, line] of lines.entries()) {
    const name = /(?:function\*?|const|let|var|class|def)\s{1,9}([\w$]{1,100})/.exec(line.slice(0, 400))?.[1]
    if (name === undefined || !names.has(name)) continue
    const indent = line.length - line.trimStart().length
    for (let i = start; i < Math.min(lines.length, start + 200); i++) {
      found.add(i)
      const next = lines[i]!
      const isEnd = i > start && next.trim() !== '' && next.length - next.trimStart().length <= indent
      if (isEnd) break
    }
  }
  return found
}

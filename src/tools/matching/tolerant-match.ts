import { sequencesIn } from './exact-match.ts'
import { indentOf, type Shift, shiftBetween } from './indentation.ts'
import type { OldAndNew } from './line-numbers.ts'
import { fileCharacters, foldLookAlikes, normalizedLine } from './look-alikes.ts'
import { rewriteLines } from './rewrite.ts'
import { isDistinctive, type SearchedText } from './searched-text.ts'
import { endingsIn, type SplitText, type TextLines, withLfEndings } from './text-lines.ts'

/** The result of a tolerant search. */
export type TolerantMatch =
  | {
      readonly type: 'one'
      readonly start: number
      readonly end: number
      readonly new: string
      /** How the match differs from the old text, for the model. */
      readonly how: string
      readonly differsInIndentation: boolean
    }
  /** The start positions of several matches. */
  | { readonly type: 'several'; readonly starts: readonly number[] }
  /** One match for which the indentation or the characters of the new text are ambiguous. */
  | { readonly type: 'unclear'; readonly start: number; readonly what: 'indentation' | 'characters' }

const maxMatches = 6

/**
 * Finds whole lines that equal the old text except for trailing whitespace, indentation (shifted alike on all lines) or
 * characters that look alike. If there are several such matches, none is chosen, because the model may have meant any of them.
 */
export function tolerantMatch(searched: SearchedText, edit: OldAndNew): TolerantMatch | undefined {
  const given = withoutSharedBreaks({ old: withLfEndings(edit.old), new: edit.new.replaceAll('\r\n', '\n') })
  if (!isDistinctive(given.old)) return undefined
  const old = given.old.split('\n')
  // An old text that ends with a line break ends where the next line begins.
  const endsWithBreak = old.at(-1) === ''
  const wanted = endsWithBreak ? old.slice(0, -1) : old
  const { text } = searched
  const lines = searched.lines()
  const found = findLines(searched.normalizedLines(), wanted.map(normalizedLine))
  if (found.length > 1) return { type: 'several', starts: found.map((index) => lines.starts[index]!) }
  const [first] = found
  if (first === undefined) return undefined
  const inFile = lines.texts.slice(first, first + wanted.length)
  const { differs, shift } = differences(wanted, inFile)
  if (differs.indentation && !shift) return undefined
  const last = first + wanted.length - 1
  const start = lines.starts[first]!
  const end = endsWithBreak ? (lines.starts[last + 1] ?? text.length) : lines.starts[last]! + lines.texts[last]!.length
  const basis = differs.indentation ? indentationBasis(given.new.split('\n'), wanted, inFile) : 'file'
  if (basis === 'unclear') return { type: 'unclear', start, what: 'indentation' }
  const rewrite = {
    inFile: fileLines(text, lines, first, old),
    old,
    new: given.new.split('\n'),
    ending: endingsIn(text)(end) ?? '\n',
    ...(basis === 'old' && shift && { shift }),
  }
  const newText = rewriteLines(
    differs.characters ? { ...rewrite, toFileCharacters: fileCharacters(wanted, inFile) } : rewrite,
  )
  if (newText !== undefined)
    return {
      type: 'one',
      start,
      end,
      new: newText,
      how: describe(differs, basis),
      differsInIndentation: differs.indentation,
    }
  return { type: 'unclear', start, what: rewriteLines(rewrite) === undefined ? 'indentation' : 'characters' }
}

/**
 * Whether the new lines are indented like the old text as given, or like the file. Decided by lines that are in both old
 * and new text, or if there are none, by the smallest indentation.
 */
function indentationBasis(
  lines: readonly string[],
  given: readonly string[],
  inFile: readonly string[],
): 'old' | 'file' | 'unclear' {
  const indents = new Map(
    given.map((line, i) => [normalizedLine(line), { given: indentOf(line), inFile: indentOf(inFile[i]!) }]),
  )
  const bases = new Set<'old' | 'file'>()
  for (const line of lines) {
    const indent = line.trim() === '' ? undefined : indents.get(normalizedLine(line))
    if (!indent || indent.given === indent.inFile) continue
    if (indentOf(line) === indent.given) bases.add('old')
    if (indentOf(line) === indent.inFile) bases.add('file')
  }
  if (bases.size === 2) return 'unclear'
  const [only] = bases
  if (only) return only
  const least = leastIndent(lines)
  if (least === undefined || least === leastIndent(given)) return 'old'
  return least === leastIndent(inFile) ? 'file' : 'unclear'
}

function leastIndent(lines: readonly string[]): string | undefined {
  const indents = lines.filter((line) => line.trim() !== '').map(indentOf)
  return indents.toSorted((a, b) => a.length - b.length)[0]
}

/** Removes line breaks that both texts begin or end with: matches are whole lines anyway. */
function withoutSharedBreaks({ old, new: newText }: OldAndNew): OldAndNew {
  let from = 0
  while (from < old.length && isBreak(old[from]) && old[from] === newText[from]) from++
  let tail = 0
  const max = Math.min(old.length, newText.length) - from
  while (tail < max && old.at(-1 - tail) === '\n' && newText.at(-1 - tail) === '\n') tail++
  return { old: old.slice(from, old.length - tail), new: newText.slice(from, newText.length - tail) }
}

const isBreak = (character: string | undefined): boolean => character === '\n' || character === '\uFEFF'

/**
 * The indexes at which the wanted lines begin. Blank lines at both ends are left out of the search. If there is only one match,
 * the file must have these blank lines there too.
 */
function findLines(normalizedLines: readonly string[], wanted: readonly string[]): number[] {
  const above = wanted.findIndex((line) => line !== '')
  const below = wanted.findLastIndex((line) => line !== '')
  const ids = new Map<string, number>()
  for (const line of wanted) ids.set(line, ids.get(line) ?? ids.size)
  const found = sequencesIn(
    Int32Array.from(normalizedLines, (line) => ids.get(line) ?? -1),
    wanted.slice(above, below + 1).map((line) => ids.get(line)!),
    { overlapping: true, max: maxMatches },
  )
  if (found.length !== 1) return found
  const first = found[0]! - above
  return wanted.every((line, i) => line === normalizedLines[first + i]) ? [first] : []
}

/** The matched lines of the file. The empty string after a final line break of `old` is not a line of the file. */
function fileLines(text: string, { texts, starts }: TextLines, first: number, old: readonly string[]): SplitText {
  const lines = old.map((line, i) => (i === old.length - 1 && line === '' ? '' : texts[first + i]!))
  const separators = lines
    .slice(0, -1)
    .map((line, i) => text.slice(starts[first + i]! + line.length, starts[first + i + 1] ?? text.length))
  return { lines, separators }
}

interface Differences {
  readonly trailing: boolean
  readonly indentation: boolean
  readonly characters: boolean
}

function differences(
  given: readonly string[],
  inFile: readonly string[],
): { readonly differs: Differences; readonly shift: Shift | undefined } {
  const pairs = given.map((line, i) => ({ given: foldLookAlikes(line), inFile: foldLookAlikes(inFile[i]!) }))
  const filled = pairs.filter((pair) => pair.given.trim() !== '')
  const indents = filled.map((pair) => ({ given: indentOf(pair.given), inFile: indentOf(pair.inFile) }))
  return {
    differs: {
      trailing: given.some((line, i) => trailingOf(line) !== trailingOf(inFile[i]!)),
      indentation: indents.some((indent) => indent.given !== indent.inFile),
      characters: given.some((line, i) => line.trim() !== inFile[i]!.trim()),
    },
    shift: shiftBetween(indents),
  }
}

const trailingOf = (line: string): string => line.slice(line.trimEnd().length)

function describe({ trailing, indentation, characters }: Differences, basis: 'old' | 'file'): string {
  const parts = [
    trailing && 'whitespace at the ends of lines',
    indentation && `indentation (new_string ${basis === 'old' ? 'was indented to fit' : 'has that of the file'})`,
    characters && 'characters that look alike (quotes, dashes, spaces)',
  ].filter((part) => part !== false)
  return parts.join(', ') || 'line breaks at its ends'
}

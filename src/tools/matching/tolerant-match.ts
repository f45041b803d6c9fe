import { sequencesIn } from './exact-match.ts'
import { type IndentConverter, indentConverterFor, indentOf } from './indentation.ts'
import { indentationBasis } from './indentation-basis.ts'
import { characterConverter, foldLookAlikes, normalizedLine } from './look-alikes.ts'
import { rewriteLines } from './rewrite.ts'
import { isDistinctive, type SearchedText } from './searched-text.ts'
import { type EditTexts, endingsIn, lineNumbersAt, type SplitText } from './text-lines.ts'

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
 * Finds whole lines that equal the old text except for trailing whitespace, look-alike characters, and indentation. A difference in
 * indentation is accepted only if one conversion (such as "two spaces more", or "four spaces to a tab") turns the indentation of
 * every old line into that of the file. If there are several such matches, none is chosen: the model may have meant any of them.
 * With `lineNumber`, only a match on that line counts.
 */
export function tolerantMatch(
  searched: SearchedText,
  edit: LinesOfEdit,
  lineNumber?: number,
): TolerantMatch | undefined {
  const { oldLines, newLines } = withoutSharedBreaks(edit)
  if (!isDistinctive(oldLines.join('\n'))) return undefined
  // The match then includes the line break.
  const endsWithBreak = oldLines.at(-1) === ''
  const linesToFind = endsWithBreak ? oldLines.slice(0, -1) : oldLines
  const { text } = searched
  const { lines, starts } = searched.lines()
  const found = findLines(searched, linesToFind.map(normalizedLine), lineNumber)
  if (found.length > 1) return { type: 'several', starts: found.map((index) => starts[index]!) }
  const [first] = found
  if (first === undefined) return undefined
  const fileLines = lines.slice(first, first + linesToFind.length)
  const { differs, toFileIndent } = differences(linesToFind, fileLines)
  if (differs.indentation && !toFileIndent) return undefined
  const last = first + linesToFind.length - 1
  const start = starts[first]!
  const end = endsWithBreak ? (starts[last + 1] ?? text.length) : starts[last]! + lines[last]!.length
  const basis = differs.indentation ? indentationBasis({ oldLines: linesToFind, fileLines, newLines }) : 'file'
  if (basis === 'unclear') return { type: 'unclear', start, what: 'indentation' }
  const rewrite = {
    inFile: matchInFile(searched, first, oldLines),
    oldLines: basis === 'file' && differs.indentation ? indentedLike(fileLines, oldLines) : oldLines,
    newLines,
    ending: endingsIn(text)(end) ?? '\n',
    ...(basis === 'old' && toFileIndent && { toFileIndent }),
  }
  const newText = rewriteLines(
    differs.characters ? { ...rewrite, toFileCharacters: characterConverter(linesToFind, fileLines) } : rewrite,
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
  // Tried again without converting characters: if that fails too, the indentation is what is ambiguous.
  return { type: 'unclear', start, what: rewriteLines(rewrite) === undefined ? 'indentation' : 'characters' }
}

type LinesOfEdit = Pick<EditTexts, 'oldLines' | 'newLines'>

/** Removes the line breaks, and the byte order mark, with which both texts begin or end: matches are whole lines anyway. */
function withoutSharedBreaks({ oldLines, newLines }: LinesOfEdit): LinesOfEdit {
  const [old, fresh] = [oldLines[0]!, newLines[0]!]
  if (old.startsWith('\uFEFF') && fresh.startsWith('\uFEFF'))
    return withoutSharedBreaks({ oldLines: oldLines.with(0, old.slice(1)), newLines: newLines.with(0, fresh.slice(1)) })
  const max = Math.min(oldLines.length, newLines.length) - 1
  let top = 0
  while (top < max && oldLines[top] === '' && newLines[top] === '') top++
  let bottom = 0
  while (bottom < max - top && oldLines.at(-1 - bottom) === '' && newLines.at(-1 - bottom) === '') bottom++
  const inner = (lines: readonly string[]): readonly string[] => lines.slice(top, lines.length - bottom)
  return { oldLines: inner(oldLines), newLines: inner(newLines) }
}

/**
 * The indexes of the file's lines at which the old lines begin. Blank lines at both ends of the old lines are left out of the
 * search. A single match counts only if the file has these blank lines there too. Several matches are not checked for them: none of
 * them is chosen anyway.
 */
function findLines(searched: SearchedText, oldLines: readonly string[], lineNumber?: number): readonly number[] {
  const allLines = searched.normalizedLines()
  const firstFilled = oldLines.findIndex((line) => line !== '')
  const lastFilled = oldLines.findLastIndex((line) => line !== '')
  const ids = new Map<string, number>()
  for (const line of oldLines) ids.set(line, ids.get(line) ?? ids.size)
  const matches = sequencesIn(
    Int32Array.from(allLines, (line) => ids.get(line) ?? -1),
    oldLines.slice(firstFilled, lastFilled + 1).map((line) => ids.get(line)!),
    { overlapping: true, max: lineNumber === undefined ? maxMatches : allLines.length },
  )
  const found = lineNumber === undefined ? matches : linesWithNumber(searched, matches, lineNumber)
  if (found.length !== 1) return found
  const first = found[0]! - firstFilled
  return oldLines.every((line, i) => line === allLines[first + i]) ? [first] : []
}

function linesWithNumber(searched: SearchedText, indexes: readonly number[], lineNumber: number): readonly number[] {
  const { starts } = searched.lines()
  const numbers = lineNumbersAt(
    searched.text,
    indexes.map((index) => starts[index]!),
  )
  return indexes.filter((_, i) => numbers[i] === lineNumber)
}

/** The old lines with the indentation of the file. */
const indentedLike = (fileLines: readonly string[], oldLines: readonly string[]): readonly string[] =>
  oldLines.map((line, i) => (line.trim() === '' ? line : indentOf(fileLines[i]!) + line.trimStart()))

/** The match as it is in the file. If the old text ends with a line break, the empty string after it is no line of the file. */
function matchInFile(searched: SearchedText, first: number, oldLines: readonly string[]): SplitText {
  const { text } = searched
  const { lines: fileLines, starts } = searched.lines()
  const lines = oldLines.map((line, i) => (i === oldLines.length - 1 && line === '' ? '' : fileLines[first + i]!))
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
  oldLines: readonly string[],
  fileLines: readonly string[],
): { readonly differs: Differences; readonly toFileIndent: IndentConverter | undefined } {
  const pairs = oldLines.map((line, i) => ({ old: foldLookAlikes(line), inFile: foldLookAlikes(fileLines[i]!) }))
  const filled = pairs.filter((pair) => pair.old.trim() !== '')
  const indents = filled.map((pair) => ({ old: indentOf(pair.old), inFile: indentOf(pair.inFile) }))
  return {
    differs: {
      trailing: oldLines.some((line, i) => trailingOf(line) !== trailingOf(fileLines[i]!)),
      indentation: indents.some((indent) => indent.old !== indent.inFile),
      characters: oldLines.some((line, i) => line.trim() !== fileLines[i]!.trim()),
    },
    toFileIndent: indentConverterFor(indents),
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

import { findAtLineStarts, findExact, type Matches, maxCountedMatches, maxReplacedMatches } from './exact-match.ts'
import { indentBefore } from './indentation.ts'
import { indentedRewriter } from './indented-rewriter.ts'
import { type StrippedEdit, variantsWithoutLineNumbers } from './line-numbers.ts'
import { describeNearest } from './not-found.ts'
import { isDistinctive, type SearchedText, searchedText } from './searched-text.ts'
import { type CompetingPlace, competingPlace, lineIndexAt } from './similar-lines.ts'
import {
  cutLine,
  distinctLinesAt,
  type EditTexts,
  editTexts,
  formatLineNumbers,
  lineNumbersAt,
  linesWithOffsets,
  originalPositions,
  withLfEndings,
} from './text-lines.ts'
import { type TolerantMatch, tolerantMatch } from './tolerant-match.ts'

// Names in this folder: `old` and `new` are the two texts of the model, `oldLines` and `newLines` their lines. `text` is the text
// of the file. What is called `inFile` or begins with `file` is what the file has where the old text matches.

/** The old text, the new text, and how many matches to replace. */
export interface TextEdit {
  readonly old: string
  readonly new: string
  /** Replace every match, not only a unique one. */
  readonly all: boolean
}

/** The edit was made. */
export interface Replaced {
  readonly type: 'replaced'
  readonly text: string
  readonly count: number
  /** Line numbers (from 1) where replacements begin; only the first few. */
  readonly lineNumbers: readonly number[]
  /** How many more such lines there are. */
  readonly moreLineNumbers?: number
  /**
   * For the model. After an inexact match: how it differed, and the lines as they are now. After an exact match: present only if the
   * later lines of new_string got the indentation of the match, and says so.
   */
  readonly note?: string
}

/** The edit cannot be made; the reason is for the model. */
export interface NotReplaced {
  readonly type: 'refused'
  readonly reason: string
}

export interface ReplaceOptions {
  /** Converts a part of the text for display. */
  readonly display?: (part: string) => string
  /** The maximum length of the result in characters; a longer one is refused before it is built. Default: no limit. */
  readonly maxLength?: number
  /** Whether to report the line numbers of the replacements: finding these is slow in large texts. Default true. */
  readonly reportLines?: boolean
}

const maxNamedLines = 5
const maxNotedLines = 12

/**
 * Replaces the only match of the old text, or all matches. Looks for, in this order:
 * 1. an exact match, in which only line endings may differ;
 * 2. unless all matches are replaced: a match that differs in whitespace or look-alike characters;
 * 3. a single exact match that begins inside the indentation of a line. Step 1 skips such a match: if step 2 can match the whole
 *    line, the result is better, because step 2 also converts new_string to that line's indentation.
 *
 * Steps 1 and 2 try the old text as it is, then without line numbers that the model pasted from the output of a tool.
 */
export function replaceText(text: string, edit: TextEdit, options: ReplaceOptions = {}): Replaced | NotReplaced {
  const { display = (part) => part } = options
  if (edit.old === '') return fillEmptyFile(text, edit)
  if (edit.old === edit.new) return refused('old_string and new_string are the same: there is nothing to change')
  const searched = searchedText(text)
  const texts = editTexts(edit)
  const stripped = variantsWithoutLineNumbers(texts)
  const surelyStripped = stripped.find(({ isSurelyLineNumber }) => isSurelyLineNumber)
  const variants: readonly EditVariant[] = [texts, ...stripped]
  let insideIndentation: ExactMatches | undefined
  for (const variant of variants) {
    const found = exactMatchesOf(searched, variant, edit.all)
    if (!found) continue
    if (edit.all) return replaceExact(text, found, options)
    if (found.starts.length > 1) return refused(notUnique(text, found))
    if (!startsInsideIndentation(text, found)) return replaceOnlyMatch(searched, found, options)
    insideIndentation ??= found
  }
  for (const variant of edit.all ? [] : variants) {
    const result = replaceTolerant(searched, variant, display)
    if (result) return result
  }
  if (insideIndentation) return replaceExact(text, insideIndentation, options)
  return refused(notFound(searched, edit, describeNearest(searched, surelyStripped ?? texts, display)))
}

/** The edit as the model wrote it, or with pasted line numbers removed. */
type EditVariant = EditTexts | StrippedEdit

const isStripped = (variant: EditVariant): variant is StrippedEdit => 'firstLineNumber' in variant

interface ExactMatches extends Matches {
  readonly variant: EditVariant
}

/** If line numbers were removed from the old text, it matches only at the beginning of a line. */
function exactMatchesOf(searched: SearchedText, variant: EditVariant, all: boolean): ExactMatches | undefined {
  const find = isStripped(variant) ? findAtLineStarts : findExact
  const line = requiredLineNumber(variant)
  const matches = find(searched, variant, { all: all || line !== undefined })
  const wanted = line === undefined ? matches : matchesOnLine(searched.text, matches, line)
  return wanted.starts.length === 0 ? undefined : { ...wanted, variant }
}

/** A prefix such as `200:` may be text. It is treated as a line number only if the match is on line 200. */
const requiredLineNumber = (variant: EditVariant): number | undefined =>
  isStripped(variant) && !variant.isSurelyLineNumber ? variant.firstLineNumber : undefined

function matchesOnLine(text: string, { starts, endOf }: Matches, line: number): Matches {
  const numbers = lineNumbersAt(text, starts)
  const kept = [...starts.keys()].filter((i) => numbers[i] === line)
  return { starts: kept.map((i) => starts[i]!), endOf: (index) => endOf(kept[index]!) }
}

/** Whether old_string begins with whitespace that, in the file, is the end of a longer indentation. */
const startsInsideIndentation = (text: string, { variant, starts }: ExactMatches): boolean =>
  /^[ \t]/.test(variant.old) && indentBefore(text, starts[0]!) !== ''

function replaceOnlyMatch(
  searched: SearchedText,
  found: ExactMatches,
  options: ReplaceOptions,
): Replaced | NotReplaced {
  const { text } = searched
  const start = found.starts[0]!
  const competing = placeWithSameIndent(searched, found.variant, start)
  if (competing) return refused(ambiguousIndentationMessage(searched, start, competing))
  return replaceExact(text, found, options)
}

const unclearMatchMessage = {
  indentation: (line: number) =>
    `old_string was not found exactly; line ${line} matches except for its indentation, and it is unclear whether new_string is indented like old_string or like the file: write both with the indentation of the file`,
  characters: (line: number) =>
    `old_string was not found exactly; line ${line} matches except for characters that look alike (quotes, dashes, spaces), and it is unclear which quotes new_string means: copy these characters from the file`,
} as const

function ambiguousIndentationMessage(
  searched: SearchedText,
  start: number,
  { lineIndex, kind }: CompetingPlace,
): string {
  const numberAt = (position: number): number => lineNumbersAt(searched.text, [position])[0]!
  const other = competingPlaceText[kind](numberAt(searched.lines().starts[lineIndex]!))
  return `line ${numberAt(start)} matches except for its indentation; ${other}, including its indentation`
}

const competingPlaceText = {
  'similar line': (line: number) =>
    `line ${line} has the same indentation as old_string but different text: copy the text of the one you mean`,
  'equal lines': (line: number) =>
    `the place at line ${line} has some lines of old_string exactly, and the rest changed: copy the text of the place you mean`,
} as const

/** If old_string is one unindented line and the match is indented: another place that the model may have meant. */
function placeWithSameIndent(
  searched: SearchedText,
  { old, oldLines }: EditVariant,
  start: number,
): CompetingPlace | undefined {
  const { text } = searched
  const end = start + old.length
  const isUnindentedLine = oldLines.length === 1 && /^\S/.test(old)
  // Only whitespace may follow on the line. Lines can be very long, so no more than 200 characters are looked at.
  const isWholeLine = isUnindentedLine && /^[ \t]*(?:[\r\n]|$)/.test(text.slice(end, end + 200))
  if (!isWholeLine || indentBefore(text, start) === '') return undefined
  return competingPlace(searched, oldLines, lineIndexAt(searched, start))
}

const refused = (reason: string): NotReplaced => ({ type: 'refused', reason })

function fillEmptyFile(text: string, edit: TextEdit): Replaced | NotReplaced {
  if (text !== '' && text !== '\uFEFF')
    return refused('old_string is empty: give the text to replace, or use write_file to replace the whole file')
  if (edit.new === '') return refused('old_string and new_string are both empty: there is nothing to change')
  return { type: 'replaced', text: text + edit.new, count: 1, lineNumbers: [1] }
}

function notUnique(text: string, { starts }: Matches): string {
  const isMany = starts.length > maxCountedMatches
  const { lines, more } = distinctLinesAt(text, starts.slice(0, maxCountedMatches), maxNamedLines)
  return `old_string occurs ${isMany ? `more than ${maxCountedMatches}` : starts.length} times (${formatLineNumbers(lines, more)}): include surrounding lines of the one you mean, or set replace_all to replace all of them`
}

function replaceExact(text: string, matches: ExactMatches, options: ReplaceOptions): Replaced | NotReplaced {
  const { maxLength = Number.POSITIVE_INFINITY, reportLines = true } = options
  const count = matches.starts.length
  if (count > maxReplacedMatches)
    return refused(
      `old_string occurs more than ${maxReplacedMatches} times, too many to replace at once; use a command instead`,
    )
  const rewriteAt = indentedRewriter(text, matches.variant)
  const result = createTextBuilder()
  /** Where each replacement begins in the result. */
  const newStarts = new Uint32Array(count)
  /** The end of the part of `text` that the result covers so far. */
  let copiedUpTo = 0
  let isChanged = false
  let isIndented = false
  let alreadyInserted = 0
  for (let i = 0; i < count; i++) {
    const start = matches.starts[i]!
    const end = matches.endOf(i)
    result.add(text.slice(copiedUpTo, start))
    newStarts[i] = result.length()
    copiedUpTo = end
    const { text: newText, indentation } = rewriteAt(start, end)
    if (indentation === 'unclear') return refused(unclearLinesMessage(lineNumbersAt(text, [start])[0]!))
    isIndented ||= indentation === 'indented'
    if (isAlreadyInserted(text, start, end, newText)) alreadyInserted++
    isChanged ||= newText !== text.slice(start, end)
    if (result.length() + newText.length + text.length - end > maxLength) return refused(tooLargeMessage(maxLength))
    result.add(newText)
  }
  if (!isChanged) return refused(nothingNewMessage)
  if (alreadyInserted === count) return refused(alreadyAppliedMessage(lineNumbersAt(text, [matches.starts[0]!])[0]!))
  result.add(text.slice(copiedUpTo))
  const whole = result.whole()
  const note = isIndented && { note: indentedNote }
  if (!reportLines) return { type: 'replaced', text: whole, count, lineNumbers: [], ...note }
  const { lines, more } = distinctLinesAt(whole, newStarts, maxNamedLines)
  return {
    type: 'replaced',
    text: whole,
    count,
    lineNumbers: lines,
    ...(more > 0 && { moreLineNumbers: more }),
    ...note,
  }
}

const unclearLinesMessage = (line: number): string =>
  `old_string starts after the indentation of line ${line}, and it is unclear whether the later lines of new_string include that indentation: write old_string and new_string with their whole indentation`

const indentedNote =
  'old_string starts after the indentation of its line; the later lines of new_string were given that indentation too'

const alreadyAppliedMessage = (line: number): string =>
  `new_string is already there (line ${line}), so this edit was made before; nothing was changed. To add it once more, include surrounding lines in old_string`

/** Whether the file already has new_string at this place. Example: old `a`, new `a b`, and the file has `a b`. */
function isAlreadyInserted(text: string, start: number, end: number, newText: string): boolean {
  const match = text.slice(start, end)
  if (newText.length <= match.length) return false
  // new_string may contain old_string several times: each position is tried.
  for (let at = newText.indexOf(match); at >= 0; at = newText.indexOf(match, at + 1)) {
    const inserted = newText.slice(0, at) + newText.slice(at + match.length)
    if (text.startsWith(newText, start - at) && /\S/.test(inserted)) return true
  }
  return false
}

const tooLargeMessage = (maxLength: number): string =>
  `the result would have more than ${maxLength} characters, the maximum for one edit: make new_string shorter, or use a command instead`

/** This many parts are joined to one, so that the array of parts stays small. */
const maxParts = 16_384

function createTextBuilder(): { add(part: string): void; length(): number; whole(): string } {
  const joined: string[] = []
  let parts: string[] = []
  let length = 0
  return {
    add(part) {
      parts.push(part)
      length += part.length
      if (parts.length < maxParts) return
      joined.push(parts.join(''))
      parts = []
    },
    length: () => length,
    whole: () => [...joined, ...parts].join(''),
  }
}

const nothingNewMessage = 'nothing would change: new_string is already there'

/** Replaces a match that differs in whitespace or look-alike characters. Undefined if there is none. */
function replaceTolerant(
  searched: SearchedText,
  variant: EditVariant,
  display: (part: string) => string,
): Replaced | NotReplaced | undefined {
  const { text } = searched
  const match = tolerantMatch(searched, variant, requiredLineNumber(variant))
  if (!match) return undefined
  if (match.type === 'several')
    return refused(
      `old_string was not found exactly, and ${formatLineNumbers(lineNumbersAt(text, match.starts))} match except for whitespace or look-alike characters: copy the text of one of them exactly, with enough surrounding lines to make it unique`,
    )
  if (match.type === 'unclear') return refused(unclearMatchMessage[match.what](lineNumbersAt(text, [match.start])[0]!))
  return replaceTolerantMatch(searched, variant, match, display)
}

function replaceTolerantMatch(
  searched: SearchedText,
  { oldLines }: EditVariant,
  { start, end, new: newText, how, differsInIndentation }: Extract<TolerantMatch, { type: 'one' }>,
  display: (part: string) => string,
): Replaced | NotReplaced {
  const { text } = searched
  if (newText === text.slice(start, end)) return refused(nothingNewMessage)
  const competing = differsInIndentation ? competingPlace(searched, oldLines, lineIndexAt(searched, start)) : undefined
  if (competing) return refused(ambiguousIndentationMessage(searched, start, competing))
  if (isAlreadyInserted(text, start, end, newText))
    return refused(alreadyAppliedMessage(lineNumbersAt(text, [start])[0]!))
  const edited = text.slice(0, start) + newText + text.slice(end)
  const { lines, starts } = linesWithOffsets(newText)
  const notedStarts = starts.slice(0, maxNotedLines).map((offset) => start + offset)
  const numbers = lineNumbersAt(edited, notedStarts)
  const difference = `old_string did not match exactly; the match differed in ${how}`
  const note = [
    `${difference}, and now reads:`,
    ...lines.slice(0, maxNotedLines).map((line, i) => `${numbers[i]}\t${cutLine(display(line))}`),
    ...(lines.length > maxNotedLines ? ['…'] : []),
  ].join('\n')
  const replaced = { type: 'replaced', text: edited, count: 1, lineNumbers: numbers.slice(0, 1) } as const
  return { ...replaced, note: newText === '' ? `${difference}, and was removed` : note }
}

function notFound(searched: SearchedText, edit: TextEdit, nearest: string): string {
  const newText = withLfEndings(edit.new)
  const at = isDistinctive(newText) ? searched.lfText().indexOf(newText) : -1
  if (at < 0) return `old_string was not found. ${nearest}`
  const [line] = lineNumbersAt(searched.text, originalPositions(searched.text, [at]))
  return `old_string was not found, but new_string is already there (line ${line}). ${nearest}`
}

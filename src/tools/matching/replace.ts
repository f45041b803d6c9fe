import { findExact, type Matches, maxCountedMatches, maxReplacedMatches } from './exact-match.ts'
import { indentOf, laterLinesIndentation } from './indentation.ts'
import { type OldAndNew, type Unnumbered, withoutLineNumbers } from './line-numbers.ts'
import { describeNearest } from './not-found.ts'
import { rewriteLines } from './rewrite.ts'
import { isDistinctive, type SearchedText, searchedText } from './searched-text.ts'
import { competingLine, lineIndexAt } from './similar-lines.ts'
import {
  cutLine,
  distinctLinesAt,
  endingsIn,
  lineNumbersAt,
  namedLines,
  splitText,
  textLines,
  withLfEndings,
  writtenLines,
} from './text-lines.ts'
import { type TolerantMatch, tolerantMatch } from './tolerant-match.ts'

/** The old text, the new text, and how many matches to replace. */
export interface TextEdit extends OldAndNew {
  /** Replace every match, not only a unique one. */
  readonly all: boolean
}

/** The edit was made. */
export interface Replaced {
  readonly type: 'replaced'
  readonly text: string
  readonly count: number
  /** The first few lines on which the new text begins. */
  readonly lines: readonly number[]
  /** How many more lines there are. */
  readonly moreLines?: number
  /** How the match differed from the old text, and the resulting lines, if it was not exact. */
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
  /** Whether to report the lines of the replacements: finding them is slow in large texts. Default true. */
  readonly reportLines?: boolean
}

const maxNamedLines = 5
const maxNotedLines = 12

/**
 * Replaces the only match of the old text, or all matches. It tries, in this order: an exact match, in which line endings
 * may differ; the same with pasted line numbers removed; for a single replacement, a tolerant match. An exact match that
 * starts in the middle of a line's indentation is used only if there is no tolerant one.
 */
export function replaceText(text: string, edit: TextEdit, options: ReplaceOptions = {}): Replaced | NotReplaced {
  const { display = (part) => part } = options
  if (edit.old === '') return fillEmptyFile(text, edit)
  if (edit.old === edit.new) return refused('old_string and new_string are the same: there is nothing to change')
  const searched = searchedText(text)
  const unnumbered = withoutLineNumbers(edit)
  let replaceIndented: (() => Replaced | NotReplaced) | undefined
  for (const attempt of [edit, ...unnumbered]) {
    const matches = findExact(searched, attempt.old, { all: edit.all, asLines: attempt !== edit })
    const [first] = matches.starts
    if (first === undefined || !lineNumberAgrees(text, attempt, first)) continue
    if (matches.starts.length > 1 && !edit.all) return refused(notUnique(text, matches))
    if (edit.all) return replaceExact(text, matches, attempt, options)
    // The match starts inside a longer indentation. Prefer a tolerant match; this one is the fallback.
    if (/^[ \t]/.test(attempt.old) && indentBefore(text, first) !== '') {
      replaceIndented ??= () => replaceExact(text, matches, attempt, options)
      continue
    }
    const other = otherLineWithSameIndent(searched, attempt, first)
    if (other !== undefined) return refused(ambiguousIndentationMessage(text, first, other))
    return replaceExact(text, matches, attempt, options)
  }
  for (const attempt of edit.all ? [] : [edit, ...unnumbered]) {
    const match = tolerantMatch(searched, attempt)
    if (match && match.type !== 'several' && !lineNumberAgrees(text, attempt, match.start)) continue
    if (match?.type === 'unclear')
      return refused(unclearMatchMessage[match.what](lineNumbersAt(text, [match.start])[0]!))
    if (match?.type === 'several')
      return refused(
        `old_string was not found exactly, and ${namedLines(lineNumbersAt(text, match.starts))} match except for whitespace or look-alike characters: copy the text of one of them exactly, with enough surrounding lines to make it unique`,
      )
    if (match) return replaceTolerant(searched, attempt, match, display)
  }
  if (replaceIndented) return replaceIndented()
  return refused(notFound(searched, edit, describeNearest(searched, (unnumbered[0] ?? edit).old, display)))
}

const unclearMatchMessage = {
  indentation: (line: number) =>
    `old_string was not found exactly; line ${line} matches except for its indentation, and the indentation of new_string is neither that of old_string nor that of the file: write both with the indentation of the file`,
  characters: (line: number) =>
    `old_string was not found exactly; line ${line} matches except for its typographic quotes, and it is unclear which of them new_string means: copy the quotes of the file`,
} as const

const ambiguousIndentationMessage = (text: string, start: number, other: number): string =>
  `line ${lineNumbersAt(text, [start])[0]} matches except for its indentation; line ${other + 1} has the same indentation as old_string but different text: copy the text of the one you mean, including its indentation`

/** Another line that the model may mean, if it gave a whole line without the indentation of the matched line. */
function otherLineWithSameIndent(searched: SearchedText, { old }: OldAndNew, start: number): number | undefined {
  const { text } = searched
  const isLine =
    /^\S[^\r\n]*$/.test(old) && /^[ \t]*(?:[\r\n]|$)/.test(text.slice(start + old.length, start + old.length + 200))
  if (!isLine || indentBefore(text, start) === '') return undefined
  return competingLine(searched, [old], lineIndexAt(searched, start))
}

/** A leading number that may be content counts as a line number only if the match is on that line. */
function lineNumberAgrees(text: string, attempt: OldAndNew | Unnumbered, start: number): boolean {
  return (
    !('isSurelyLineNumber' in attempt) ||
    attempt.isSurelyLineNumber ||
    lineNumbersAt(text, [start])[0] === attempt.firstLineNumber
  )
}

const refused = (reason: string): NotReplaced => ({ type: 'refused', reason })

function fillEmptyFile(text: string, edit: TextEdit): Replaced | NotReplaced {
  if (text !== '' && text !== '\uFEFF')
    return refused('old_string is empty: give the text to replace, or use write_file to replace the whole file')
  if (edit.new === '') return refused('old_string and new_string are both empty: there is nothing to change')
  return { type: 'replaced', text: text + edit.new, count: 1, lines: [1] }
}

function notUnique(text: string, { starts }: Matches): string {
  const isMany = starts.length > maxCountedMatches
  const { lines, more } = distinctLinesAt(text, starts.slice(0, maxCountedMatches), maxNamedLines)
  return `old_string occurs ${isMany ? `more than ${maxCountedMatches}` : starts.length} times (${namedLines(lines, more)}): include surrounding lines of the one you mean, or set replace_all to replace all of them`
}

function replaceExact(
  text: string,
  matches: Matches,
  edit: OldAndNew,
  options: ReplaceOptions,
): Replaced | NotReplaced {
  const { maxLength = Number.POSITIVE_INFINITY, reportLines = true } = options
  const count = matches.starts.length
  if (count > maxReplacedMatches)
    return refused(
      `old_string occurs more than ${maxReplacedMatches} times, too many to replace at once; use a command instead`,
    )
  const newTextAt = indentedRewriter(text, edit)
  const result = createTextBuilder()
  const starts = new Uint32Array(count)
  let [end, isChanged, isShifted] = [0, false, false]
  let alreadyApplied = 0
  for (let i = 0; i < count; i++) {
    const start = matches.starts[i]!
    result.add(text.slice(end, start))
    starts[i] = result.length()
    end = matches.endOf(i)
    const { text: newText, indentation } = newTextAt(start, end)
    if (indentation === 'unclear') return refused(unclearLinesMessage(lineNumbersAt(text, [start])[0]!))
    isShifted ||= indentation === 'shifted'
    if (isAlreadyInserted(text, start, end, newText)) alreadyApplied++
    isChanged ||= newText !== text.slice(start, end)
    if (result.length() + newText.length + text.length - end > maxLength) return refused(tooLargeMessage(maxLength))
    result.add(newText)
  }
  if (!isChanged) return refused(nothingNewMessage)
  if (alreadyApplied === count) return refused(alreadyAppliedMessage(lineNumbersAt(text, [matches.starts[0]!])[0]!))
  result.add(text.slice(end))
  const whole = result.whole()
  const note = isShifted && { note: shiftedNote }
  if (!reportLines) return { type: 'replaced', text: whole, count, lines: [], ...note }
  const { lines, more } = distinctLinesAt(whole, starts, maxNamedLines)
  return { type: 'replaced', text: whole, count, lines, ...(more > 0 && { moreLines: more }), ...note }
}

const unclearLinesMessage = (line: number): string =>
  `old_string starts after the indentation of line ${line}, and it is unclear whether the later lines of new_string include that indentation: write old_string and new_string with their whole indentation`

const shiftedNote =
  'old_string starts after the indentation of its line; the later lines of new_string were given that indentation too'

const alreadyAppliedMessage = (line: number): string =>
  `new_string is already there (line ${line}), so this edit was made before; nothing was changed. To add it once more, include surrounding lines in old_string`

/** Whether the new text is already around the match, as after an edit that inserted something beside it. */
function isAlreadyInserted(text: string, start: number, end: number, newText: string): boolean {
  const match = text.slice(start, end)
  if (newText.length <= match.length) return false
  for (let at = newText.indexOf(match); at >= 0; at = newText.indexOf(match, at + 1))
    if (text.startsWith(newText, start - at) && /\S/.test(newText.slice(0, at) + newText.slice(at + match.length)))
      return true
  return false
}

const tooLargeMessage = (maxLength: number): string =>
  `the result would have more than ${maxLength} characters, the maximum for one edit: make new_string shorter, or use a command instead`

/** Parts are joined at this number, because there may be millions. */
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

/** Like `rewriter`, and adds the indentation of the match to the lines after the first if they lack it. */
function indentedRewriter(text: string, edit: OldAndNew) {
  const newTextAt = rewriter(text, edit)
  const lines = writtenLines(edit.new)
  const [isUnindented, isOneLine] = [/^\S/.test(edit.old), !/[\r\n]/.test(edit.old)]
  return (start: number, end: number): { text: string; indentation: ReturnType<typeof laterLinesIndentation> } => {
    const newText = newTextAt(start, end)
    const indent = isUnindented ? indentBefore(text, start) : ''
    if (indent === '') return { text: newText, indentation: 'as written' }
    // The new text includes the indentation that the old one leaves out.
    if (indentOf(lines[0]!) === indent) return { text: newText.slice(indent.length), indentation: 'as written' }
    const indentation = isOneLine ? laterLinesIndentation({ old: edit.old, new: lines, indent }) : 'as written'
    if (indentation !== 'shifted') return { text: newText, indentation }
    return { text: newText.replace(/(\r\n|\r|\n)(?=[^\r\n])/g, `$1${indent}`), indentation }
  }
}

/** The whitespace between the start of the line and a position; empty if there is other text. */
function indentBefore(text: string, position: number): string {
  let start = position
  while (start > 0 && (text[start - 1] === ' ' || text[start - 1] === '\t')) start--
  return start === 0 || text[start - 1] === '\n' || text[start - 1] === '\r' ? text.slice(start, position) : ''
}

/** The new text for each match, in the line endings of the file. Must be called in the order of the matches. */
function rewriter(text: string, edit: OldAndNew): (start: number, end: number) => string {
  const lfOld = withLfEndings(edit.old)
  // If only the line endings differ, use the new text verbatim.
  if (lfOld === withLfEndings(edit.new)) return () => edit.new
  const lines = writtenLines(edit.new)
  if (lines.length === 1) return () => edit.new
  if (!text.includes('\r')) {
    const newText = text.includes('\n') ? lines.join('\n') : edit.new
    return () => newText
  }
  const old = lfOld.split('\n')
  const endingAt = endingsIn(text)
  let last: { readonly match: string; readonly ending: string; readonly newText: string } | undefined
  return (start, end) => {
    // The match splits a \r\n pair: the model edits \r or \n itself, so new_string is used verbatim.
    if (isInsideCrlf(text, start) || isInsideCrlf(text, end)) return edit.new
    const match = text.slice(start, end)
    const ending = endingAt(end) ?? '\n'
    // Most matches are like the one before.
    if (last?.match !== match || last.ending !== ending)
      last = { match, ending, newText: rewriteLines({ inFile: splitText(match), old, new: lines, ending })! }
    return last.newText
  }
}

const isInsideCrlf = (text: string, at: number): boolean => text[at - 1] === '\r' && text[at] === '\n'

function replaceTolerant(
  searched: SearchedText,
  { old }: OldAndNew,
  { start, end, new: newText, how, isShifted }: Extract<TolerantMatch, { type: 'one' }>,
  display: (part: string) => string,
): Replaced | NotReplaced {
  const { text } = searched
  if (newText === text.slice(start, end)) return refused(nothingNewMessage)
  const other = isShifted
    ? competingLine(searched, withLfEndings(old).split('\n'), lineIndexAt(searched, start))
    : undefined
  if (other !== undefined) return refused(ambiguousIndentationMessage(text, start, other))
  const [first] = lineNumbersAt(text, [start]) as [number]
  if (isAlreadyInserted(text, start, end, newText)) return refused(alreadyAppliedMessage(first))
  const edited = text.slice(0, start) + newText + text.slice(end)
  const now = textLines(newText).texts
  const note = [
    `old_string did not match exactly; the match differed in ${how}, and now reads:`,
    ...now.slice(0, maxNotedLines).map((line, i) => `${first + i}\t${cutLine(display(line))}`),
    ...(now.length > maxNotedLines ? ['…'] : []),
  ]
  return { type: 'replaced', text: edited, count: 1, lines: [first], note: note.join('\n') }
}

function notFound(searched: SearchedText, edit: TextEdit, nearest: string): string {
  const newText = withLfEndings(edit.new)
  const at = isDistinctive(newText) ? searched.lfText().indexOf(newText) : -1
  const already = at < 0 ? '' : `, but new_string is already there (line ${lineNumbersAt(searched.lfText(), [at])[0]})`
  return `old_string was not found${already}. ${nearest}`
}

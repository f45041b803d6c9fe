import { cutLine } from './cut-line.ts'
import { indentOf } from './indentation.ts'
import { laterLines } from './later-lines.ts'
import { endingsIn, plainEndings, splitText, writtenLines } from './line-endings.ts'
import { type OldAndNew, type Unnumbered, withoutLineNumbers } from './line-numbers.ts'
import { mostCounted, mostReplaced, type Places, placesOf } from './match.ts'
import { describeNearest } from './not-found.ts'
import { rewritten } from './rewrite.ts'
import { lineIndexAt, rivalOf } from './rival.ts'
import { saysEnough } from './says-enough.ts'
import { type SearchedText, searchedText } from './searched-text.ts'
import { distinctLinesAt, lineNumbersAt, namedLines, textLines } from './text-lines.ts'
import { type TolerantMatch, tolerantMatch } from './tolerant-match.ts'

/** What to replace with what, and how often. */
export interface TextEdit extends OldAndNew {
  /** Replace every place rather than the only one. */
  readonly all: boolean
}

/** The edit was made. */
export interface Replaced {
  readonly type: 'replaced'
  readonly text: string
  readonly count: number
  /** The first few lines on which the new text begins. */
  readonly lines: readonly number[]
  /** On how many more it does. */
  readonly moreLines?: number
  /** What was overlooked when the old text did not match exactly, and what stands there now. */
  readonly note?: string
}

/** The edit cannot be made; the reason is for the model. */
export interface NotReplaced {
  readonly type: 'refused'
  readonly reason: string
}

/** How an edit is made. */
export interface ReplaceOptions {
  /** Turns a part of the text into what a reader sees. */
  readonly shown?: (part: string) => string
  /** A result of more characters is refused before it is made. Default: none is. */
  readonly most?: number
  /** Whether anybody wants to know the lines of what was replaced exactly; to count them takes a while. Default true. */
  readonly named?: boolean
}

/** So many lines are named. */
const mostNamed = 5
const mostNoted = 12
/** Of a text that is being put together, so many parts wait to be joined. */
const mostParts = 16_384

/**
 * Replaces the one place that is the old text: exactly, or with other line endings, or with pasted line numbers taken
 * away, or else with tolerance.
 */
export function replaceText(text: string, edit: TextEdit, options: ReplaceOptions = {}): Replaced | NotReplaced {
  const { shown = (part) => part } = options
  if (edit.old === '') return intoEmpty(text, edit)
  if (edit.old === edit.new) return refused('old_string and new_string are the same: there is nothing to change')
  const searched = searchedText(text)
  const bare = withoutLineNumbers(edit)
  let deeper: (() => Replaced | NotReplaced) | undefined
  for (const attempt of [edit, ...bare]) {
    const places = placesOf(searched, attempt.old, { all: edit.all, asLines: attempt !== edit })
    const count = places.starts.length
    if (count > 0 && !isNumberRight(text, attempt, places.starts[0]!)) continue
    if (count > 1 && !edit.all) return refused(notUnique(text, places))
    const isDeeper =
      count === 1 && !edit.all && /^[ \t]/.test(attempt.old) && indentBefore(text, places.starts[0]!) !== ''
    // Old text that begins inside deeper indentation is like the place, not the same.
    if (isDeeper) deeper ??= () => replacedAt(text, places, attempt, options)
    else if (count > 0) {
      const rival = edit.all ? undefined : rivalOfBare(searched, attempt, places.starts[0]!)
      return rival === undefined
        ? replacedAt(text, places, attempt, options)
        : refused(rivals(text, places.starts[0]!, rival))
    }
  }
  for (const attempt of edit.all ? [] : [edit, ...bare]) {
    const match = tolerantMatch(searched, attempt)
    if (match && match.type !== 'several' && !isNumberRight(text, attempt, match.start)) continue
    if (match?.type === 'unclear') return refused(unclear[match.what](lineNumbersAt(text, [match.start])[0]!))
    if (match?.type === 'several')
      return refused(
        `old_string was not found exactly, and ${namedLines(lineNumbersAt(text, match.starts))} are like it but for whitespace or look-alike characters: copy the text of one of them exactly, with enough lines around it`,
      )
    if (match) return replacedLike(searched, attempt, match, shown)
  }
  if (deeper) return deeper()
  return refused(notFound(searched, edit, describeNearest(searched, (bare[0] ?? edit).old, shown)))
}

const unclear = {
  indentation: (line: number) =>
    `old_string was not found exactly; line ${line} is like it but for its indentation, and new_string has neither that of old_string nor that of the file: write both with the indentation of the file`,
  characters: (line: number) =>
    `old_string was not found exactly; line ${line} is like it but has typographic quotes, and which of them new_string means cannot be told: copy the quotes of the file`,
} as const

const rivals = (text: string, start: number, rival: number): string =>
  `line ${lineNumbersAt(text, [start])[0]} is old_string but for its indentation, and line ${rival + 1} has that indentation but other words: copy the text of the one you mean, indentation and all`

/** Another place for a line that was given without the indentation of the one where it was found. */
function rivalOfBare(searched: SearchedText, { old }: OldAndNew, start: number): number | undefined {
  const { text } = searched
  const isLine =
    /^\S[^\r\n]*$/.test(old) && /^[ \t]*(?:[\r\n]|$)/.test(text.slice(start + old.length, start + old.length + 200))
  if (!isLine || indentBefore(text, start) === '') return undefined
  return rivalOf(searched, [old], lineIndexAt(searched, start))
}

/** What may be a line number is one only if it is that of the place. */
function isNumberRight(text: string, attempt: OldAndNew | Unnumbered, start: number): boolean {
  return !('isSure' in attempt) || attempt.isSure || lineNumbersAt(text, [start])[0] === attempt.first
}

const refused = (reason: string): NotReplaced => ({ type: 'refused', reason })

function intoEmpty(text: string, edit: TextEdit): Replaced | NotReplaced {
  if (text !== '' && text !== '\uFEFF')
    return refused('old_string is empty: give the text to replace, or use write_file to replace the whole file')
  if (edit.new === '') return refused('old_string and new_string are both empty: there is nothing to change')
  return { type: 'replaced', text: text + edit.new, count: 1, lines: [1] }
}

function notUnique(text: string, { starts }: Places): string {
  const isMany = starts.length > mostCounted
  const { lines, more } = distinctLinesAt(text, starts.slice(0, mostCounted), mostNamed)
  return `old_string is there ${isMany ? `more than ${mostCounted}` : starts.length} times (${namedLines(lines, more)}): add lines around the one you mean, or set replace_all to replace all of them`
}

function replacedAt(text: string, places: Places, edit: OldAndNew, options: ReplaceOptions): Replaced | NotReplaced {
  const { most = Number.POSITIVE_INFINITY, named = true } = options
  const count = places.starts.length
  if (count > mostReplaced)
    return refused(
      `old_string is there more than ${mostReplaced} times, too many to replace at once; use a command instead`,
    )
  const freshAt = indentedRewriter(text, edit)
  const made = growingText()
  const starts = new Uint32Array(count)
  let [end, isChanged, isShifted] = [0, false, false]
  let there = 0
  for (let i = 0; i < count; i++) {
    const start = places.starts[i]!
    made.add(text.slice(end, start))
    starts[i] = made.length()
    end = places.endOf(i)
    const { text: fresh, frame } = freshAt(start, end)
    if (frame === 'unclear') return refused(unclearLines(lineNumbersAt(text, [start])[0]!))
    isShifted ||= frame === 'shifted'
    if (isThere(text, start, end, fresh)) there++
    isChanged ||= fresh !== text.slice(start, end)
    if (made.length() + fresh.length + text.length - end > most) return refused(tooLarge(most))
    made.add(fresh)
  }
  if (!isChanged) return refused(nothingNew)
  if (there === count) return refused(madeBefore(lineNumbersAt(text, [places.starts[0]!])[0]!))
  made.add(text.slice(end))
  const whole = made.whole()
  const note = isShifted && { note: shiftedNote }
  if (!named) return { type: 'replaced', text: whole, count, lines: [], ...note }
  const { lines, more } = distinctLinesAt(whole, starts, mostNamed)
  return { type: 'replaced', text: whole, count, lines, ...(more > 0 && { moreLines: more }), ...note }
}

const unclearLines = (line: number): string =>
  `old_string begins behind the indentation of line ${line}, and the lines after the first of new_string may be meant with that indentation or without it: write old_string and new_string with their whole indentation`

const shiftedNote =
  'old_string began behind the indentation of its line; the lines after the first of new_string were given it too'

const madeBefore = (line: number): string =>
  `new_string is already there (line ${line}), so this edit was made before; nothing was changed. To add it once more, take lines around it into old_string`

/** Whether a place stands inside what is to take its place, as it does once something was inserted beside it. */
function isThere(text: string, start: number, end: number, fresh: string): boolean {
  const place = text.slice(start, end)
  if (fresh.length <= place.length) return false
  for (let at = fresh.indexOf(place); at >= 0; at = fresh.indexOf(place, at + 1))
    if (text.startsWith(fresh, start - at) && /\S/.test(fresh.slice(0, at) + fresh.slice(at + place.length)))
      return true
  return false
}

const tooLarge = (most: number): string =>
  `the result would be larger than the ${most} bytes that can be changed in one piece: make new_string shorter, or use a command instead`

/** A text that is put together of parts, of which there may be millions. */
function growingText(): { add(part: string): void; length(): number; whole(): string } {
  const joined: string[] = []
  let parts: string[] = []
  let length = 0
  return {
    add(part) {
      parts.push(part)
      length += part.length
      if (parts.length < mostParts) return
      joined.push(parts.join(''))
      parts = []
    },
    length: () => length,
    whole: () => [...joined, ...parts].join(''),
  }
}

const nothingNew = 'nothing would change: what new_string says is there already'

/** The same, with the indentation of the place for the lines after the first where they lack it. */
function indentedRewriter(text: string, edit: OldAndNew) {
  const freshAt = rewriter(text, edit)
  const lines = writtenLines(edit.new)
  const [isBare, isOneLine] = [/^\S/.test(edit.old), !/[\r\n]/.test(edit.old)]
  return (start: number, end: number): { text: string; frame: ReturnType<typeof laterLines> } => {
    const fresh = freshAt(start, end)
    const indent = isBare ? indentBefore(text, start) : ''
    if (indent === '') return { text: fresh, frame: 'as written' }
    // The new text has the indentation that the old one leaves out.
    if (indentOf(lines[0]!) === indent) return { text: fresh.slice(indent.length), frame: 'as written' }
    const frame = isOneLine ? laterLines({ old: edit.old, new: lines, indent }) : 'as written'
    return { text: frame === 'shifted' ? fresh.replace(/(\r\n|\r|\n)(?=[^\r\n])/g, `$1${indent}`) : fresh, frame }
  }
}

/** The indentation before a position; none where something else stands there on its line. */
function indentBefore(text: string, position: number): string {
  let start = position
  while (start > 0 && (text[start - 1] === ' ' || text[start - 1] === '\t')) start--
  return start === 0 || text[start - 1] === '\n' || text[start - 1] === '\r' ? text.slice(start, position) : ''
}

/** What the new text becomes at each place, asked for in their order. */
function rewriter(text: string, edit: OldAndNew): (start: number, end: number) => string {
  const plainOld = plainEndings(edit.old)
  // Who changes nothing but line endings means them as they are written.
  if (plainOld === plainEndings(edit.new)) return () => edit.new
  const lines = writtenLines(edit.new)
  if (lines.length === 1) return () => edit.new
  if (!text.includes('\r')) {
    const fresh = text.includes('\n') ? lines.join('\n') : edit.new
    return () => fresh
  }
  const old = plainOld.split('\n')
  const endingAt = endingsIn(text)
  let last: { readonly place: string; readonly ending: string; readonly fresh: string } | undefined
  return (start, end) => {
    if (isPair(text, start) || isPair(text, end)) return edit.new
    const place = text.slice(start, end)
    const ending = endingAt(end) ?? '\n'
    // Most places are like the one before.
    if (last?.place !== place || last.ending !== ending)
      last = { place, ending, fresh: rewritten({ own: splitText(place), old, new: lines, ending })! }
    return last.fresh
  }
}

/** Who cuts through a line ending says each character of it. */
const isPair = (text: string, at: number): boolean => text[at - 1] === '\r' && text[at] === '\n'

function replacedLike(
  searched: SearchedText,
  { old }: OldAndNew,
  { start, end, new: fresh, how, isShifted }: Extract<TolerantMatch, { type: 'one' }>,
  shown: (part: string) => string,
): Replaced | NotReplaced {
  const { text } = searched
  if (fresh === text.slice(start, end)) return refused(nothingNew)
  const rival = isShifted ? rivalOf(searched, plainEndings(old).split('\n'), lineIndexAt(searched, start)) : undefined
  if (rival !== undefined) return refused(rivals(text, start, rival))
  if (isThere(text, start, end, fresh)) return refused(madeBefore(lineNumbersAt(text, [start])[0]!))
  const made = text.slice(0, start) + fresh + text.slice(end)
  const [first] = lineNumbersAt(text, [start]) as [number]
  const now = textLines(fresh).texts
  const note = [
    `old_string did not match exactly; the place it was taken for differed in ${how}, and now reads:`,
    ...now.slice(0, mostNoted).map((line, i) => `${first + i}\t${cutLine(shown(line))}`),
    ...(now.length > mostNoted ? ['…'] : []),
  ]
  return { type: 'replaced', text: made, count: 1, lines: [first], note: note.join('\n') }
}

function notFound(searched: SearchedText, edit: TextEdit, nearest: string): string {
  const fresh = plainEndings(edit.new)
  const at = saysEnough(fresh) ? searched.plain().indexOf(fresh) : -1
  const already = at < 0 ? '' : `, but new_string is there already (line ${lineNumbersAt(searched.plain(), [at])[0]})`
  return `old_string was not found${already}. ${nearest}`
}

import { cutLine } from './cut-line.ts'
import { endingsIn, plainEndings, splitText, writtenLines } from './line-endings.ts'
import { type OldAndNew, withoutLineNumbers } from './line-numbers.ts'
import { mostCounted, mostReplaced, type Places, placesOf } from './match.ts'
import { describeNearest } from './not-found.ts'
import { rewritten } from './rewrite.ts'
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
  for (const attempt of bare ? [edit, bare] : [edit]) {
    const places = placesOf(searched, attempt.old, { all: edit.all, asLines: attempt === bare })
    const count = places.starts.length
    if (count > 1 && !edit.all) return refused(notUnique(text, places))
    if (count > 0) return replacedAt(text, places, attempt, options)
  }
  for (const attempt of bare ? [edit, bare] : [edit]) {
    const match = edit.all ? undefined : tolerantMatch(searched, attempt)
    if (match?.type === 'several')
      return refused(
        `old_string was not found exactly, and ${namedLines(lineNumbersAt(text, match.starts))} are like it but for whitespace or look-alike characters: copy the text of one of them exactly, with enough lines around it`,
      )
    if (match) return replacedLike(text, match, shown)
  }
  return refused(notFound(searched, edit, describeNearest(searched, (bare ?? edit).old, shown)))
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
  const freshAt = rewriter(text, edit)
  const made = growingText()
  const starts = new Uint32Array(count)
  let [end, isChanged] = [0, false]
  for (let i = 0; i < count; i++) {
    const start = places.starts[i]!
    made.add(text.slice(end, start))
    starts[i] = made.length()
    end = places.endOf(i)
    const fresh = freshAt(start, end)
    isChanged ||= fresh !== text.slice(start, end)
    if (made.length() + fresh.length + text.length - end > most) return refused(tooLarge(most))
    made.add(fresh)
  }
  if (!isChanged) return refused(nothingNew)
  made.add(text.slice(end))
  const whole = made.whole()
  if (!named) return { type: 'replaced', text: whole, count, lines: [] }
  const { lines, more } = distinctLinesAt(whole, starts, mostNamed)
  return { type: 'replaced', text: whole, count, lines, ...(more > 0 && { moreLines: more }) }
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
  text: string,
  { start, end, new: fresh, how }: Extract<TolerantMatch, { type: 'one' }>,
  shown: (part: string) => string,
): Replaced | NotReplaced {
  if (fresh === text.slice(start, end)) return refused(nothingNew)
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

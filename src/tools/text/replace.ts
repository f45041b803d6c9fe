import { cutLine } from './cut-line.ts'
import { endingsIn, plainEndings, splitText, writtenLines } from './line-endings.ts'
import { type OldAndNew, withoutLineNumbers } from './line-numbers.ts'
import { mostCounted, type Place, placesOf } from './match.ts'
import { describeNearest } from './not-found.ts'
import { rewritten } from './rewrite.ts'
import { saysEnough } from './says-enough.ts'
import { type SearchedText, searchedText } from './searched-text.ts'
import { lineNumbersAt, namedLines, textLines } from './text-lines.ts'
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
  /** Where the new text stands, for the first few replacements. */
  readonly lines: readonly number[]
  /** What was overlooked when the old text did not match exactly, and what stands there now. */
  readonly note?: string
}

/** The edit cannot be made; the reason is for the model. */
export interface NotReplaced {
  readonly type: 'refused'
  readonly reason: string
}

/** So many places are named by their lines. */
const mostNamed = 5
const mostNoted = 12

/**
 * Replaces the one place that is the old text: exactly, or with other line endings, or with pasted line numbers taken
 * away, or else with tolerance. `shown` turns a part of the text into what a reader sees.
 */
export function replaceText(
  text: string,
  edit: TextEdit,
  shown: (part: string) => string = (part) => part,
): Replaced | NotReplaced {
  if (edit.old === '') return intoEmpty(text, edit)
  if (edit.old === edit.new) return refused('old_string and new_string are the same: there is nothing to change')
  const searched = searchedText(text)
  const bare = withoutLineNumbers(edit)
  for (const attempt of bare ? [edit, bare] : [edit]) {
    const places = placesOf(searched, attempt.old, { all: edit.all, asLines: attempt === bare })
    if (places.length > 1 && !edit.all) return refused(notUnique(text, places))
    if (places.length > 0) return replacedAt(text, places, attempt)
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

function notUnique(text: string, places: readonly Place[]): string {
  const isMany = places.length > mostCounted
  const named = places.slice(0, mostNamed).map(({ start }) => start)
  const lines = namedLines(lineNumbersAt(text, named), isMany ? mostCounted : places.length)
  return `old_string is there ${isMany ? `more than ${mostCounted}` : places.length} times (${lines}): add lines around the one you mean, or set replace_all to replace all of them`
}

function replacedAt(text: string, places: readonly Place[], edit: OldAndNew): Replaced | NotReplaced {
  const freshAt = rewriter(text, edit)
  const parts: string[] = []
  const starts: number[] = []
  let [length, end, isChanged] = [0, 0, false]
  for (const place of places) {
    const kept = text.slice(end, place.start)
    const fresh = freshAt(place)
    isChanged ||= fresh !== text.slice(place.start, place.end)
    if (starts.length < mostNamed) starts.push(length + kept.length)
    length += kept.length + fresh.length
    parts.push(kept, fresh)
    end = place.end
  }
  if (!isChanged) return refused(nothingNew)
  const made = parts.join('') + text.slice(end)
  // What stands before the first place is the same in both, and this one need not be put together for it.
  const lines = lineNumbersAt(starts.length === 1 ? text : made, starts)
  return { type: 'replaced', text: made, count: places.length, lines }
}

const nothingNew = 'nothing would change: what new_string says is there already'

/** What the new text becomes at each place, asked for in their order. */
function rewriter(text: string, edit: OldAndNew): (place: Place) => string {
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
  return ({ start, end }) => {
    if (isPair(text, start) || isPair(text, end)) return edit.new
    const own = splitText(text.slice(start, end))
    return rewritten({ own, old, new: lines, ending: endingAt(end) ?? '\n' })!
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

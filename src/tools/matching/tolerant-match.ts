import { indentOf, type Shift, shiftBetween } from './indentation.ts'
import { endingsIn, plainEndings, type SplitText } from './line-endings.ts'
import type { OldAndNew } from './line-numbers.ts'
import { essenceOf, foldLookAlikes } from './look-alikes.ts'
import { sequencesIn } from './occurrences.ts'
import { rewritten } from './rewrite.ts'
import { saysEnough } from './says-enough.ts'
import type { SearchedText } from './searched-text.ts'
import type { TextLines } from './text-lines.ts'

/** What tolerance finds, if anything. */
export type TolerantMatch =
  | { readonly type: 'one'; readonly start: number; readonly end: number; readonly new: string; readonly how: string }
  /** Several places; where they begin. */
  | { readonly type: 'several'; readonly starts: readonly number[] }

const mostPlaces = 6

/**
 * Whole lines that are the old text but for trailing whitespace, indentation (all of it shifted alike), or characters
 * that look alike. Only a single such place counts, whatever it differs in: a second one might have been meant.
 */
export function tolerantMatch(searched: SearchedText, edit: OldAndNew): TolerantMatch | undefined {
  const given = withoutSharedEdges({ old: plainEndings(edit.old), new: edit.new.replaceAll('\r\n', '\n') })
  if (!saysEnough(given.old)) return undefined
  const old = given.old.split('\n')
  // With a line break at its end the old text ends where the next line begins.
  const endsWithBreak = old.at(-1) === ''
  const wanted = endsWithBreak ? old.slice(0, -1) : old
  const { text } = searched
  const lines = searched.lines()
  const found = placesOf(searched.essences(), wanted.map(essenceOf))
  if (found.length > 1) return { type: 'several', starts: found.map((index) => lines.starts[index]!) }
  const [first] = found
  if (first === undefined) return undefined
  const own = lines.texts.slice(first, first + wanted.length)
  const { differs, shift } = differences(wanted, own)
  if (differs.indentation && !shift) return undefined
  const last = first + wanted.length - 1
  const start = lines.starts[first]!
  const end = endsWithBreak ? (lines.starts[last + 1] ?? text.length) : lines.starts[last]! + lines.texts[last]!.length
  const fresh = rewritten({
    own: ownLines(text, lines, first, old),
    old,
    new: given.new.split('\n'),
    ending: endingsIn(text)(end) ?? '\n',
    ...(differs.indentation && shift && { shift }),
  })
  return fresh === undefined ? undefined : { type: 'one', start, end, new: fresh, how: said(differs) }
}

/** Line breaks at both beginnings or both ends change nothing; the place is made of whole lines anyway. */
function withoutSharedEdges({ old, new: fresh }: OldAndNew): OldAndNew {
  let from = 0
  while (from < old.length && isEdge(old[from]) && old[from] === fresh[from]) from++
  let tail = 0
  const most = Math.min(old.length, fresh.length) - from
  while (tail < most && old.at(-1 - tail) === '\n' && fresh.at(-1 - tail) === '\n') tail++
  return { old: old.slice(from, old.length - tail), new: fresh.slice(from, fresh.length - tail) }
}

const isEdge = (character: string | undefined): boolean => character === '\n' || character === '\uFEFF'

/** The lines at which the wanted ones begin; those around which only blank lines differ count, as long as there are several. */
function placesOf(essences: readonly string[], wanted: readonly string[]): number[] {
  const above = wanted.findIndex((line) => line !== '')
  const below = wanted.findLastIndex((line) => line !== '')
  const ids = new Map<string, number>()
  for (const line of wanted) ids.set(line, ids.get(line) ?? ids.size)
  const found = sequencesIn(
    Int32Array.from(essences, (line) => ids.get(line) ?? -1),
    wanted.slice(above, below + 1).map((line) => ids.get(line)!),
    { overlapping: true, most: mostPlaces },
  )
  if (found.length !== 1) return found
  const first = found[0]! - above
  return wanted.every((line, i) => line === essences[first + i]) ? [first] : []
}

/** The lines of the file that the old ones were taken for; the empty one behind a last line break is no line of it. */
function ownLines(text: string, { texts, starts }: TextLines, first: number, old: readonly string[]): SplitText {
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
  own: readonly string[],
): { readonly differs: Differences; readonly shift: Shift | undefined } {
  const pairs = given.map((line, i) => ({ given: foldLookAlikes(line), own: foldLookAlikes(own[i]!) }))
  const filled = pairs.filter((pair) => pair.given.trim() !== '')
  const indents = filled.map((pair) => ({ given: indentOf(pair.given), own: indentOf(pair.own) }))
  return {
    differs: {
      trailing: given.some((line, i) => trailingOf(line) !== trailingOf(own[i]!)),
      indentation: indents.some((indent) => indent.given !== indent.own),
      characters: given.some((line, i) => line.trim() !== own[i]!.trim()),
    },
    shift: shiftBetween(indents),
  }
}

const trailingOf = (line: string): string => line.slice(line.trimEnd().length)

function said({ trailing, indentation, characters }: Differences): string {
  const parts = [
    trailing && 'whitespace at the ends of lines',
    indentation && 'indentation (new_string was indented to fit)',
    characters && 'characters that look alike (quotes, dashes, spaces)',
  ].filter((part) => part !== false)
  return parts.join(', ') || 'line breaks at its ends'
}

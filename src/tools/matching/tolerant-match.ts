import { fileCharacters } from './file-characters.ts'
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
  | {
      readonly type: 'one'
      readonly start: number
      readonly end: number
      readonly new: string
      /** What it differs in, in words. */
      readonly how: string
      readonly isShifted: boolean
    }
  /** Several places; where they begin. */
  | { readonly type: 'several'; readonly starts: readonly number[] }
  /** One place, and what the new text is to become there cannot be told. */
  | { readonly type: 'unclear'; readonly start: number; readonly what: 'indentation' | 'characters' }

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
  const frame = differs.indentation ? frameOf(given.new.split('\n'), wanted, own) : 'file'
  if (frame === 'unclear') return { type: 'unclear', start, what: 'indentation' }
  const rewrite = {
    own: ownLines(text, lines, first, old),
    old,
    new: given.new.split('\n'),
    ending: endingsIn(text)(end) ?? '\n',
    ...(frame === 'old' && shift && { shift }),
  }
  const fresh = rewritten(differs.characters ? { ...rewrite, characters: fileCharacters(wanted, own) } : rewrite)
  if (fresh !== undefined)
    return { type: 'one', start, end, new: fresh, how: said(differs, frame), isShifted: differs.indentation }
  return { type: 'unclear', start, what: rewritten(rewrite) === undefined ? 'indentation' : 'characters' }
}

/**
 * Whether the new lines are indented like the old ones were given, or as the file has it. Lines that are in both tell;
 * without any, the least indentation does.
 */
function frameOf(
  lines: readonly string[],
  given: readonly string[],
  own: readonly string[],
): 'old' | 'file' | 'unclear' {
  const indents = new Map(given.map((line, i) => [essenceOf(line), { given: indentOf(line), own: indentOf(own[i]!) }]))
  const frames = new Set<'old' | 'file'>()
  for (const line of lines) {
    const known = line.trim() === '' ? undefined : indents.get(essenceOf(line))
    if (!known || known.given === known.own) continue
    if (indentOf(line) === known.given) frames.add('old')
    if (indentOf(line) === known.own) frames.add('file')
  }
  if (frames.size === 2) return 'unclear'
  const [told] = frames
  if (told) return told
  const least = leastIndent(lines)
  if (least === undefined || least === leastIndent(given)) return 'old'
  return least === leastIndent(own) ? 'file' : 'unclear'
}

function leastIndent(lines: readonly string[]): string | undefined {
  const indents = lines.filter((line) => line.trim() !== '').map(indentOf)
  return indents.toSorted((a, b) => a.length - b.length)[0]
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

function said({ trailing, indentation, characters }: Differences, frame: 'old' | 'file'): string {
  const parts = [
    trailing && 'whitespace at the ends of lines',
    indentation && `indentation (new_string ${frame === 'old' ? 'was indented to fit' : 'has that of the file'})`,
    characters && 'characters that look alike (quotes, dashes, spaces)',
  ].filter((part) => part !== false)
  return parts.join(', ') || 'line breaks at its ends'
}

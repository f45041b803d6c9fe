import { type IndentPair, indentOf } from './indentation.ts'
import { normalizedLine } from './look-alikes.ts'
import { sharedLines } from './rewrite.ts'

/** A match whose indentation differs from that of the old text, and the new lines. */
interface DriftedMatch {
  readonly oldLines: readonly string[]
  /** The lines of the file that the old lines matched. */
  readonly fileLines: readonly string[]
  readonly newLines: readonly string[]
}

type Basis = 'old' | 'file'

/**
 * Whether the new lines are indented like the old text or like the file. Two things decide: the indentation of the lines that the old
 * and the new text share, and the smallest indentation of the new lines; `unclear` if these contradict each other. Example: the old text is `a()⏎b()` (⏎ is a line break), the
 * file has two spaces before both. The new text `a()⏎c()` is indented like the old text, `  a()⏎  c()` like the file, and
 * `if (x)⏎  a()` may be either.
 */
export function indentationBasis(match: DriftedMatch): Basis | 'unclear' {
  const { outermost, top, middle, bottom } = fitsInCommon(match)
  // To wrap lines in a block, or to unwrap them, moves them by one level, but not the first and the last line. So if both texts begin and
  // end with the same line, and these two lines agree, they decide.
  const [first, last] = outermost
  if (first === last && (first === 'old' || first === 'file')) return first
  // The model left out the indentation of the first line only, or means something else.
  if (first === 'moved') return 'unclear'
  const fits = [...top, ...middle, ...bottom]
  const bases = basesIn(fits)
  if (bases.length === 2) return 'unclear'
  const least = leastIndent(match.newLines)
  const leasts = { old: leastIndent(match.oldLines), file: leastIndent(match.fileLines) }
  const [only] = bases
  if (only) {
    const isContradicted = leasts.old !== leasts.file && least === leasts[only === 'old' ? 'file' : 'old']
    // A new text that begins with lines of the old one has no new block around these.
    return isContradicted && basesIn(top).length === 0 ? 'unclear' : only
  }
  if (least === undefined) return 'old'
  // The new lines may then be indented like the deeper of the two texts, or be an inner block that is indented like the other text.
  if (fits.includes('either') && least.length > Math.min(leasts.old!.length, leasts.file!.length)) return 'unclear'
  if (least === leasts.old) return 'old'
  return least === leasts.file ? 'file' : 'unclear'
}

/**
 * Whose indentation a new line has. `either`: the same line, such as a brace, is several times in the old text; this indentation fits one
 * of them as the old text has it, and another one as the file has it. `moved`: it fits none of them. `neutral`: the line is blank, or
 * both texts have the same indentation there.
 */
type Fit = Basis | 'either' | 'moved' | 'neutral'

const basesIn = (fits: readonly Fit[]): Basis[] => (['old', 'file'] as const).filter((basis) => fits.includes(basis))

/** The new lines that the old text has too. */
interface FitsInCommon {
  /** The first and the last new line, if both texts begin or end with it: compared with that line of the old text alone. */
  readonly outermost: readonly [Fit | undefined, Fit | undefined]
  /** Those with which both texts begin. */
  readonly top: readonly Fit[]
  /** Those between the two ends that are also between them in the old text: another one may be, for instance, the brace of a new block. */
  readonly middle: readonly Fit[]
  /** Those with which both texts end. */
  readonly bottom: readonly Fit[]
}

function fitsInCommon({ oldLines, fileLines, newLines }: DriftedMatch): FitsInCommon {
  const normalizedOld = oldLines.map(normalizedLine)
  const normalizedNew = newLines.map(normalizedLine)
  const pairs = oldLines.map((line, i) => ({
    line: normalizedOld[i]!,
    old: indentOf(line),
    inFile: indentOf(fileLines[i]!),
  }))
  const pairsOf = Map.groupBy(pairs, ({ line }) => line)
  const fitOf = (i: number): Fit => fitWith(newLines[i]!, pairsOf.get(normalizedNew[i]!)!)
  const ends = sharedLines(normalizedOld, normalizedNew)
  const bottomStart = newLines.length - ends.bottom
  const oldMiddle = new Set(normalizedOld.slice(ends.top, oldLines.length - ends.bottom))
  const indexes = [...newLines.keys()]
  return {
    outermost: [
      ends.top > 0 ? fitWith(newLines[0]!, pairs.slice(0, 1)) : undefined,
      ends.bottom > 0 ? fitWith(newLines.at(-1)!, pairs.slice(-1)) : undefined,
    ],
    top: indexes.slice(0, ends.top).map(fitOf),
    middle: indexes
      .slice(ends.top, bottomStart)
      .filter((i) => oldMiddle.has(normalizedNew[i]!))
      .map(fitOf),
    bottom: indexes.slice(bottomStart).map(fitOf),
  }
}

/** Compares a line with those of the old text that have the same content. */
function fitWith(line: string, pairs: readonly IndentPair[]): Fit {
  const indent = indentOf(line)
  if (line.trim() === '' || pairs.some(({ old, inFile }) => old === indent && inFile === indent)) return 'neutral'
  const fitsOld = pairs.some(({ old }) => old === indent)
  const fitsFile = pairs.some(({ inFile }) => inFile === indent)
  if (fitsOld && fitsFile) return 'either'
  if (fitsOld) return 'old'
  return fitsFile ? 'file' : 'moved'
}

function leastIndent(lines: readonly string[]): string | undefined {
  const indents = lines.filter((line) => line.trim() !== '').map(indentOf)
  return indents.toSorted((a, b) => a.length - b.length)[0]
}

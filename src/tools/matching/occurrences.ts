/** Which occurrences count. */
export interface OccurrenceOptions {
  /** Whether one may begin inside another. */
  readonly overlapping: boolean
  /** Stop after so many. */
  readonly most: number
}

/** Beyond so many comparisons in the worst case, the search that never looks back takes over. */
const mostComparisons = 1e9
/** Up to this length the engine's own search shifts well whatever the text is. */
export const alwaysQuick = 250

/** Where a text stands in another, in time proportional to their lengths. */
export function occurrencesOf(text: string, wanted: string, options: OccurrenceOptions): number[] {
  if (wanted.length > alwaysQuick && wanted.length * text.length > mostComparisons)
    return byBeginnings(text, wanted, options) ?? sequencesIn(codesOf(text), codesOf(wanted), options)
  const found: number[] = []
  const step = options.overlapping ? 1 : wanted.length
  for (let at = text.indexOf(wanted); at >= 0 && found.length < options.most; at = text.indexOf(wanted, at + step))
    found.push(at)
  return found
}

/** Looks at the places that begin like it; `undefined` when they are too many to look at. */
function byBeginnings(text: string, wanted: string, { overlapping, most }: OccurrenceOptions): number[] | undefined {
  const found: number[] = []
  const beginning = wanted.slice(0, alwaysQuick)
  let left = 2 * text.length
  for (let at = text.indexOf(beginning); at >= 0 && found.length < most; ) {
    left -= wanted.length
    if (left < 0) return undefined
    const isThere = text.startsWith(wanted, at)
    if (isThere) found.push(at)
    at = text.indexOf(beginning, at + (isThere && !overlapping ? wanted.length : 1))
  }
  return found
}

/** Where a sequence of numbers stands in another: Knuth, Morris and Pratt's way. */
export function sequencesIn(
  all: ArrayLike<number>,
  wanted: ArrayLike<number>,
  { overlapping, most }: OccurrenceOptions,
): number[] {
  const found: number[] = []
  const borders = bordersOf(wanted)
  for (let i = 0, matched = 0; i < all.length && found.length < most; i++) {
    while (matched > 0 && all[i] !== wanted[matched]) matched = borders[matched - 1]!
    if (all[i] === wanted[matched]) matched++
    if (matched < wanted.length) continue
    found.push(i - wanted.length + 1)
    matched = overlapping ? borders[matched - 1]! : 0
  }
  return found
}

/** For each beginning of the sequence, the length of the longest shorter beginning that it ends with. */
function bordersOf(wanted: ArrayLike<number>): Uint32Array {
  const borders = new Uint32Array(wanted.length)
  for (let i = 1, matched = 0; i < wanted.length; i++) {
    while (matched > 0 && wanted[i] !== wanted[matched]) matched = borders[matched - 1]!
    if (wanted[i] === wanted[matched]) matched++
    borders[i] = matched
  }
  return borders
}

function codesOf(text: string): Uint16Array {
  const codes = new Uint16Array(text.length)
  Buffer.from(codes.buffer).write(text, 'utf16le')
  return codes
}

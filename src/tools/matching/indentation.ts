/** What the indentation of a line becomes elsewhere; `undefined` where that cannot be said. */
export type Shift = (indent: string) => string | undefined

/** Of one line: as it was given, and as it stands in the file. */
export interface IndentPair {
  readonly given: string
  readonly own: string
}

/** The one rule by which the indentation of all these lines differs, if there is one. */
export function shiftBetween(pairs: readonly IndentPair[]): Shift | undefined {
  return candidates(pairs).find((shift) => pairs.every(({ given, own }) => shift(given) === own))
}

/** The whitespace with which a line begins. */
export const indentOf = (line: string): string => /^\s*/.exec(line)![0]

const widths = [4, 2, 8, 3, 1, 5, 6, 7]

function candidates(pairs: readonly IndentPair[]): Shift[] {
  const [first] = pairs
  if (!first) return [(indent) => indent]
  const { given, own } = first
  const shifts: Shift[] = []
  if (own.endsWith(given)) shifts.push(deeper(own.slice(0, own.length - given.length)))
  if (given.endsWith(own)) shifts.push(shallower(given.slice(0, given.length - own.length)))
  for (const width of widths) shifts.push(toTabs(width, 0), toSpaces(width, 0))
  // With a single depth to go by, another width and another depth cannot be told apart.
  if (pairs.every((pair) => pair.given === given)) return shifts
  for (const width of widths) {
    const columns = columnsOf(given, width)
    shifts.push(toTabs(width, tabsOf(own) - Math.floor(columns / width)), toSpaces(width, own.length - columns))
  }
  return shifts
}

const deeper =
  (by: string): Shift =>
  (indent) =>
    by + indent

const shallower =
  (by: string): Shift =>
  (indent) =>
    indent.startsWith(by) ? indent.slice(by.length) : undefined

/** Each `width` columns become a tab, and then it is moved by so many tabs. */
const toTabs =
  (width: number, moved: number): Shift =>
  (indent) => {
    const columns = columnsOf(indent, width)
    const count = Math.floor(columns / width) + moved
    return count < 0 ? undefined : '\t'.repeat(count) + ' '.repeat(columns % width)
  }

/** Each tab becomes `width` spaces, and then it is moved by so many spaces. */
const toSpaces =
  (width: number, moved: number): Shift =>
  (indent) => {
    const columns = columnsOf(indent, width) + moved
    return columns < 0 ? undefined : ' '.repeat(columns)
  }

function columnsOf(indent: string, width: number): number {
  let columns = 0
  for (const character of indent) columns = character === '\t' ? columns - (columns % width) + width : columns + 1
  return columns
}

const tabsOf = (indent: string): number => indent.lastIndexOf('\t') + 1

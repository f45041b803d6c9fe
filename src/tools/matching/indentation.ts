/** Converts the indentation of a line as given to that of the file; `undefined` if it cannot be converted. */
export type Shift = (indent: string) => string | undefined

/** The indentation of one line: as given, and in the file. */
interface IndentPair {
  readonly given: string
  readonly inFile: string
}

/** The conversion that is right for all of these lines, if there is one. */
export function shiftBetween(pairs: readonly IndentPair[]): Shift | undefined {
  return candidates(pairs).find((shift) => pairs.every(({ given, inFile }) => shift(given) === inFile))
}

/** The whitespace with which a line begins. */
export const indentOf = (line: string): string => /^\s*/.exec(line)![0]

const widths = [4, 2, 8, 3, 1, 5, 6, 7]

function candidates(pairs: readonly IndentPair[]): Shift[] {
  const [first] = pairs
  if (!first) return [(indent) => indent]
  const { given, inFile } = first
  const shifts: Shift[] = []
  if (inFile.endsWith(given)) shifts.push(deeper(inFile.slice(0, inFile.length - given.length)))
  if (given.endsWith(inFile)) shifts.push(shallower(given.slice(0, given.length - inFile.length)))
  for (const width of widths) shifts.push(toTabs(width, 0), toSpaces(width, 0))
  // If all lines have one depth, it is unknown whether the file indents by another width or the lines are deeper.
  if (pairs.every((pair) => pair.given === given)) return shifts
  for (const width of widths) {
    const columns = columnsOf(given, width)
    shifts.push(toTabs(width, tabsOf(inFile) - Math.floor(columns / width)), toSpaces(width, inFile.length - columns))
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

/** Converts each `width` columns to a tab, then adds `moved` tabs. */
const toTabs =
  (width: number, moved: number): Shift =>
  (indent) => {
    const columns = columnsOf(indent, width)
    const count = Math.floor(columns / width) + moved
    return count < 0 ? undefined : '\t'.repeat(count) + ' '.repeat(columns % width)
  }

/** Converts each tab to `width` spaces, then adds `moved` spaces. */
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

/** A one-line old text that begins after the indentation of its line, and the lines that replace it. */
interface OneLineReplacement {
  readonly old: string
  readonly new: readonly string[]
  /** The indentation before the old text. */
  readonly indent: string
}

/**
 * The match starts after the indentation, so the first new line already has it. Decides whether the later lines already
 * include that indentation (`as written`), lack it (`shifted`), or may be meant either way (`unclear`).
 */
export function laterLinesIndentation({
  old,
  new: lines,
  indent,
}: OneLineReplacement): 'as written' | 'shifted' | 'unclear' {
  const later = lines.slice(1).filter((line) => line.trim() !== '')
  const [second] = later
  if (second === undefined) return 'as written'
  const kept = later.find((line) => line.trim() === old.trim())
  if (kept !== undefined && indentOf(kept) === indent) return 'as written'
  if (kept !== undefined && indentOf(kept) === '') return 'shifted'
  const isOpening = /(?:[{([:,=?]|=>|&&|\|\|)$/.test(lines[0]!.trimEnd())
  if (later.every((line) => line.startsWith(indent)))
    return isOpening && indentOf(second) === indent ? 'unclear' : 'as written'
  if (closesOuterBlock(lines)) return 'as written'
  const hasUnindented = later.some((line) => indentOf(line) === '')
  // A line without indentation after a blank line is often meant to have none.
  if (hasUnindented)
    return lines.some((line, i) => i > 0 && /^\S/.test(line) && lines[i - 1]!.trim() === '') ? 'unclear' : 'shifted'
  return isOpening ? 'shifted' : 'unclear'
}

/** Whether a line after the first begins by closing a bracket that these lines did not open. */
function closesOuterBlock([first, ...later]: readonly string[]): boolean {
  let depth = Math.max(0, opened(first!))
  for (const line of later) {
    const closing = /^[)\]}]*/.exec(line.trimStart())![0]
    if (closing.length > depth) return true
    depth = Math.max(0, depth + opened(line))
  }
  return false
}

/** How many more brackets a line opens than it closes. */
const opened = (line: string): number => (line.match(/[([{]/g)?.length ?? 0) - (line.match(/[)\]}]/g)?.length ?? 0)

/** The whitespace between the start of the line and a position; empty if there is other text. */
export function indentBefore(text: string, position: number): string {
  let start = position
  while (start > 0 && (text[start - 1] === ' ' || text[start - 1] === '\t')) start--
  return start === 0 || text[start - 1] === '\n' || text[start - 1] === '\r' ? text.slice(start, position) : ''
}

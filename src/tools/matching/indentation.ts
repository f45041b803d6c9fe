/** Converts an indentation that the model wrote into the one that the file uses; `undefined` if it cannot be converted. */
export type IndentConverter = (indent: string) => string | undefined

/** The indentation of one matched line: in the old text, and in the file. */
export interface IndentPair {
  readonly old: string
  readonly inFile: string
}

/** A converter that is right for all of these lines, if there is one. */
export function indentConverterFor(pairs: readonly IndentPair[]): IndentConverter | undefined {
  return candidates(pairs).find((convert) => pairs.every(({ old, inFile }) => convert(old) === inFile))
}

/** The whitespace with which a line begins. */
export const indentOf = (line: string): string => /^\s*/.exec(line)![0]

const widths = [4, 2, 8, 3, 1, 5, 6, 7]

function candidates(pairs: readonly IndentPair[]): IndentConverter[] {
  const [first] = pairs
  if (!first) return [(indent) => indent]
  const { old, inFile } = first
  const converters: IndentConverter[] = []
  if (inFile.endsWith(old)) converters.push(deeper(inFile.slice(0, inFile.length - old.length)))
  if (old.endsWith(inFile)) converters.push(shallower(old.slice(0, old.length - inFile.length)))
  for (const width of widths) converters.push(toTabs(width, 0), toSpaces(width, 0))
  // The other converters change both the unit of the indentation and its depth. Lines that are all equally deep cannot show
  // which of the two differs.
  if (pairs.every((pair) => pair.old === old)) return converters
  for (const width of widths) {
    const columns = columnsOf(old, width)
    converters.push(
      toTabs(width, tabsOf(inFile) - Math.floor(columns / width)),
      toSpaces(width, inFile.length - columns),
    )
  }
  return converters
}

const deeper =
  (by: string): IndentConverter =>
  (indent) =>
    by + indent

const shallower =
  (by: string): IndentConverter =>
  (indent) =>
    indent.startsWith(by) ? indent.slice(by.length) : undefined

/** Converts each `width` columns to a tab, then adds `moved` tabs. */
const toTabs =
  (width: number, moved: number): IndentConverter =>
  (indent) => {
    const columns = columnsOf(indent, width)
    const count = Math.floor(columns / width) + moved
    return count < 0 ? undefined : '\t'.repeat(count) + ' '.repeat(columns % width)
  }

/** Converts each tab to `width` spaces, then adds `moved` spaces. */
const toSpaces =
  (width: number, moved: number): IndentConverter =>
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
  readonly newLines: readonly string[]
  /** The indentation before the old text, in the file. */
  readonly indent: string
}

/**
 * The match starts after the indentation of its line, so the first new line stands behind that indentation. Decides about the
 * later new lines: `as written` if they include that indentation too, `indented` if they lack it and get it, `unclear` if either
 * may be meant. The examples give new lines (⏎ is a line break) for the old text `a()` where the file has two spaces before it.
 */
export function laterLinesIndentation({
  old,
  newLines,
  indent,
}: OneLineReplacement): 'as written' | 'indented' | 'unclear' {
  const later = newLines.slice(1).filter((line) => line.trim() !== '')
  const [second] = later
  // `b()`
  if (second === undefined) return 'as written'
  const kept = later.find((line) => line.trim() === old.trim())
  // `b()⏎  a()`
  if (kept !== undefined && indentOf(kept) === indent) return 'as written'
  // `b()⏎a()`
  if (kept !== undefined && indentOf(kept) === '') return 'indented'
  const isOpening = /(?:[{([:,=?]|=>|&&|\|\|)$/.test(newLines[0]!.trimEnd())
  if (later.every((line) => line.startsWith(indent))) {
    // `if (b) {⏎  c()`: the two spaces may be those of the file, or one level below the `if`.
    if (isOpening && indentOf(second) === indent) return 'unclear'
    // `b()⏎  c()`
    return 'as written'
  }
  // `b()⏎}`: the brace closes an outer block, so it stands further left than the first new line.
  if (closesOuterBlock(newLines)) return 'as written'
  if (later.some((line) => indentOf(line) === '')) {
    // `b()⏎⏎c()`: a line after a blank line may be meant to have no indentation, such as the next function.
    if (newLines.some((line, i) => i > 0 && /^\S/.test(line) && newLines[i - 1]!.trim() === '')) return 'unclear'
    // `b()⏎c()`
    return 'indented'
  }
  // With four spaces in the file: `if (b) {⏎  c()` is indented, `b()⏎  c()` is unclear.
  return isOpening ? 'indented' : 'unclear'
}

/** Whether a line after the first begins with a closing bracket for which these lines have no opening one. */
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

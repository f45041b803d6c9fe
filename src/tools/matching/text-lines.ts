/** The lines of a text and their start positions. */
export interface TextLines {
  /** Without their endings, and without a byte order mark. */
  readonly lines: readonly string[]
  readonly starts: readonly number[]
}

/** Splits a text into lines, which end with `\n`, `\r\n` or `\r`. */
export function linesWithOffsets(text: string): TextLines {
  const lines: string[] = []
  const starts: number[] = []
  let start = text.startsWith('\uFEFF') ? 1 : 0
  let newline = text.indexOf('\n')
  let carriage = text.indexOf('\r')
  while (newline >= 0 || carriage >= 0) {
    const isCarriage = carriage >= 0 && (newline < 0 || carriage < newline)
    const end = isCarriage ? carriage : newline
    starts.push(start)
    lines.push(text.slice(start, end))
    start = isCarriage && newline === carriage + 1 ? newline + 1 : end + 1
    if (newline >= 0 && newline < start) newline = text.indexOf('\n', start)
    if (carriage >= 0 && carriage < start) carriage = text.indexOf('\r', start)
  }
  // The text after the last line ending is a line only if it is not empty.
  if (start < text.length || lines.length === 0) {
    starts.push(start)
    lines.push(text.slice(start))
  }
  return { lines, starts }
}

/**
 * The line numbers, from 1, of these ascending positions. Lines are counted by `\n`, and by `\r` only in a file that has
 * no `\n`.
 */
export function lineNumbersAt(text: string, positions: readonly number[]): number[] {
  const ending = countedEnding(text)
  let line = 1
  let next = text.indexOf(ending)
  return positions.map((position) => {
    for (; next >= 0 && next < position; next = text.indexOf(ending, next + 1)) line++
    return line
  })
}

const countedEnding = (text: string): string => (text.includes('\n') || !text.includes('\r') ? '\n' : '\r')

/** The numbers of the first `max` lines that contain one of the ascending positions, and how many more there are. */
export function distinctLinesAt(
  text: string,
  positions: ArrayLike<number>,
  max: number,
): { readonly lines: number[]; readonly more: number } {
  const ending = countedEnding(text)
  const firsts: number[] = []
  let count = 0
  /** The end of the line that contains the previous position. */
  let end = -1
  for (let i = 0; i < positions.length && end < text.length; i++) {
    const position = positions[i]!
    if (count > 0 && position <= end) continue
    if (count++ < max) firsts.push(position)
    end = text.indexOf(ending, position)
    if (end < 0) end = text.length
  }
  return { lines: lineNumbersAt(text, firsts), more: count - firsts.length }
}

/** `lines 4, 19, 57 and 12 more` */
export function formatLineNumbers(numbers: readonly number[], more = 0): string {
  const distinct = [...new Set(numbers)]
  return `${distinct.length + more > 1 ? 'lines' : 'line'} ${distinct.join(', ')}${more > 0 ? ` and ${more} more` : ''}`
}

/** Longer lines are cut when they are shown as a hint. */
export const maxShownLength = 160

/** The beginning of a long line, without half a surrogate pair at its ends. */
export function cutLine(line: string): string {
  const isLong = line.length > maxShownLength
  const whole = (isLong ? line.slice(0, maxShownLength) : line).replace(/^[\uDC00-\uDFFF]|[\uD800-\uDBFF]$/g, '')
  return isLong ? `${whole}…` : whole
}

/** The text with every line ending, `\r\n`, `\r` or `\n`, as `\n`. */
export function withLfEndings(text: string): string {
  if (!text.includes('\r')) return text
  // Several times faster than one regular expression.
  return text.split('\r\n').join('\n').replaceAll('\r', '\n')
}

/** Converts ascending positions in `withLfEndings(text)` to positions in `text`, never between `\r` and `\n`. */
export function originalPositions(text: string, positions: readonly number[]): number[] {
  let pairs = 0
  let next = text.indexOf('\r\n')
  return positions.map((position) => {
    for (; next >= 0 && next - pairs < position; next = text.indexOf('\r\n', next + 2)) pairs++
    return position + pairs
  })
}

/** Lines and the line endings between them: there is one fewer separator than lines. */
export interface SplitText {
  readonly lines: readonly string[]
  readonly separators: readonly string[]
}

/** Splits a text into its lines and the line endings between them: nothing is lost. */
export function splitKeepingEndings(text: string): SplitText {
  const parts = text.split(/(\r\n|\r|\n)/)
  return { lines: parts.filter((_, i) => i % 2 === 0), separators: parts.filter((_, i) => i % 2 === 1) }
}

/** The old and the new text of an edit, as the model wrote them, and their lines. */
export interface EditTexts {
  readonly old: string
  readonly new: string
  /** A line ends with `\n`, `\r\n` or `\r`. If the text ends with one of these, the last line is empty. */
  readonly oldLines: readonly string[]
  /** The same, but a lone `\r` does not end a line: the model may want this character in the file. */
  readonly newLines: readonly string[]
}

/** Splits the texts of an edit into lines. */
export const editTexts = (edit: { readonly old: string; readonly new: string }): EditTexts => ({
  old: edit.old,
  new: edit.new,
  oldLines: withLfEndings(edit.old).split('\n'),
  newLines: edit.new.split(/\r?\n/),
})

/** Finds, for ascending positions, the line ending to use there: the next one after it, else the last one of the text, else none. */
export function endingsIn(text: string): (position: number) => string | undefined {
  let next = -1
  let isOver = false
  return (position) => {
    if (!isOver && next < position) {
      next = nextEnding(text, position)
      isOver = next < 0
      if (isOver) next = Math.max(text.lastIndexOf('\n'), text.lastIndexOf('\r'))
    }
    return next < 0 ? undefined : endingAt(text, next)
  }
}

function nextEnding(text: string, from: number): number {
  for (let at = from; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === 10 || code === 13) return at
  }
  return -1
}

function endingAt(text: string, at: number): string {
  if (text[at] === '\r') return text[at + 1] === '\n' ? '\r\n' : '\r'
  return text[at - 1] === '\r' ? '\r\n' : '\n'
}

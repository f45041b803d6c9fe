/** A text cut into lines, and where each begins. */
export interface TextLines {
  /** Without their endings, and without a byte order mark. */
  readonly texts: readonly string[]
  readonly starts: readonly number[]
}

/** Lines that end with `\n`, `\r\n` or `\r`. */
export function textLines(text: string): TextLines {
  const texts: string[] = []
  const starts: number[] = []
  let start = text.startsWith('\uFEFF') ? 1 : 0
  let newline = text.indexOf('\n')
  let carriage = text.indexOf('\r')
  while (newline >= 0 || carriage >= 0) {
    const isCarriage = carriage >= 0 && (newline < 0 || carriage < newline)
    const end = isCarriage ? carriage : newline
    starts.push(start)
    texts.push(text.slice(start, end))
    start = isCarriage && newline === carriage + 1 ? newline + 1 : end + 1
    if (newline >= 0 && newline < start) newline = text.indexOf('\n', start)
    if (carriage >= 0 && carriage < start) carriage = text.indexOf('\r', start)
  }
  // What follows the last ending is a line only if there is something.
  if (start < text.length || texts.length === 0) {
    starts.push(start)
    texts.push(text.slice(start))
  }
  return { texts, starts }
}

/**
 * The numbers, from 1, of the lines on which these ascending positions lie, as a reader of the file counts them: by `\n`,
 * and by `\r` only where a file knows no other ending.
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

/** The first few lines on which ascending positions lie, and how many more there are. */
export function distinctLinesAt(
  text: string,
  positions: ArrayLike<number>,
  most: number,
): { readonly lines: number[]; readonly more: number } {
  const ending = countedEnding(text)
  const firsts: number[] = []
  let count = 0
  /** Where the line ends on which the position before lies. */
  let end = -1
  for (let i = 0; i < positions.length && end < text.length; i++) {
    const position = positions[i]!
    if (count > 0 && position <= end) continue
    if (count++ < most) firsts.push(position)
    end = text.indexOf(ending, position)
    if (end < 0) end = text.length
  }
  return { lines: lineNumbersAt(text, firsts), more: count - firsts.length }
}

/** `lines 4, 19, 57 and 12 more` */
export function namedLines(numbers: readonly number[], more = 0): string {
  const distinct = [...new Set(numbers)]
  return `${distinct.length + more > 1 ? 'lines' : 'line'} ${distinct.join(', ')}${more > 0 ? ` and ${more} more` : ''}`
}

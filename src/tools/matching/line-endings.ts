/** The text with every line ending, `\r\n`, `\r` or `\n`, as `\n`. */
export function plainEndings(text: string): string {
  if (!text.includes('\r')) return text
  // Several times as quick as one pattern for all of them.
  return text.split('\r\n').join('\n').replaceAll('\r', '\n')
}

/** Ascending positions in `plainEndings(text)` as positions in `text`. Beside a `\r\n` they lie, never in it. */
export function originalPositions(text: string, positions: readonly number[]): number[] {
  let pairs = 0
  let next = text.indexOf('\r\n')
  return positions.map((position) => {
    for (; next >= 0 && next - pairs < position; next = text.indexOf('\r\n', next + 2)) pairs++
    return position + pairs
  })
}

/** Lines, and what stands between them: one separator less than lines. */
export interface SplitText {
  readonly lines: readonly string[]
  readonly separators: readonly string[]
}

/** Takes a text apart; put together again it is the same. */
export function splitText(text: string): SplitText {
  const parts = text.split(/(\r\n|\r|\n)/)
  return { lines: parts.filter((_, i) => i % 2 === 0), separators: parts.filter((_, i) => i % 2 === 1) }
}

/** Lines of a text that a model wrote. A lone `\r` is a character of it. */
export const writtenLines = (text: string): string[] => text.split(/\r?\n/)

/** Tells for ascending positions what line ending is used there: the next one, else the last one, else none. */
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

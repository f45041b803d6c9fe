/** A range of a text. */
export type Span = readonly [from: number, to: number]

/** Whether the spans cover all of a text except blanks, operators and comments: then the parser skipped nothing. */
export function isCovered(text: string, spans: readonly Span[]): boolean {
  let at = 0
  let rest = ''
  for (const [from, to] of spans.toSorted(([a], [b]) => a - b)) {
    rest += `${text.slice(at, Math.max(at, from))}\0`
    at = Math.max(at, to)
  }
  rest += text.slice(at)
  // Each zero stands for a word; a comment does not start inside one.
  return /^(?:[\0 \t\n;|&]|(?<![^ \t\n;|&])#[^\n]*)*$/.test(rest)
}

/** What a person looks for: case counts only if they typed a capital letter. */
export interface Search {
  readonly text: string
  isIn(text: string): boolean
  /** The painted row with every hit in reverse. */
  highlight(row: string): string
}

export function createSearch(text: string): Search {
  const hasCapital = text !== text.toLowerCase()
  const pattern = new RegExp(text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'), hasCapital ? 'gu' : 'giu')
  return {
    text,
    isIn: (where) => where.search(pattern) >= 0,
    highlight: (row) => highlighted(row, pattern),
  }
}

/** Sequences inside a hit stay where they are: none of ours ends reverse video. */
function highlighted(row: string, pattern: RegExp): string {
  const plain = withoutSequences(row)
  const marks = [...plain.matchAll(pattern)].flatMap(({ index, 0: hit }) => [index, index + hit.length])
  if (marks.length === 0) return row
  let [painted, at, next] = ['', 0, 0]
  const mark = (): void => {
    while (marks[next] === at) painted += next++ % 2 === 0 ? '\x1b[7m' : '\x1b[27m'
  }
  for (const piece of row.split(sequences)) {
    if (piece.startsWith('\x1b')) {
      painted += piece
      continue
    }
    for (const unit of piece.split('')) {
      mark()
      painted += unit
      at++
    }
  }
  mark()
  return painted
}

/** The text of a painted row. */
export const withoutSequences = (row: string): string => (row.includes('\x1b') ? row.replace(sequence, '') : row)

// biome-ignore-start lint/suspicious/noControlCharactersInRegex: matches colours and links
const sequence = /\x1b\[[0-9;]*m|\x1b\]8;[^\x1b\x07]*(?:\x1b\\|\x07)/g
const sequences = /(\x1b\[[0-9;]*m|\x1b\]8;[^\x1b\x07]*(?:\x1b\\|\x07))/
// biome-ignore-end lint/suspicious/noControlCharactersInRegex: see above

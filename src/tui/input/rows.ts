import type { SoftWrap } from './soft-wrap.ts'

/** A row of the screen: the `row`-th of a line. */
export interface Row {
  readonly line: number
  readonly row: number
}

export function previousRow({ line, row }: Row, lines: readonly string[], wrap: SoftWrap): Row | undefined {
  if (row > 0) return { line, row: row - 1 }
  return line > 0 ? { line: line - 1, row: wrap.rows(lines[line - 1]!).length - 1 } : undefined
}

export function nextRow({ line, row }: Row, lines: readonly string[], wrap: SoftWrap): Row | undefined {
  if (row + 1 < wrap.rows(lines[line]!).length) return { line, row: row + 1 }
  return line + 1 < lines.length ? { line: line + 1, row: 0 } : undefined
}

interface Window {
  readonly lines: readonly string[]
  readonly wrap: SoftWrap
  /** The row that was on top before. */
  readonly top: Row
  readonly caret: Row
  readonly most: number
}

/** The rows to show, never empty. They move only as far as the caret makes it necessary. Looks at no other lines. */
export function visibleRows({ lines, wrap, top, caret, most }: Window): Row[] {
  const upFrom = (row: Row, count: number): Row => {
    let at = row
    for (let i = 0; i < count; i++) at = previousRow(at, lines, wrap) ?? at
    return at
  }
  const downFrom = (row: Row): Row[] => {
    const rows = [row]
    for (let next = nextRow(row, lines, wrap); next && rows.length < most; next = nextRow(next, lines, wrap))
      rows.push(next)
    return rows
  }
  const isOld = top.line >= lines.length || top.row >= wrap.rows(lines[top.line]!).length
  let first = isOld || isBefore(caret, top) ? caret : top
  if (!downFrom(first).some((row) => row.line === caret.line && row.row === caret.row)) first = upFrom(caret, most - 1)
  const rows = downFrom(first)
  return rows.length < most ? downFrom(upFrom(first, most - rows.length)) : rows
}

const isBefore = (a: Row, b: Row): boolean => a.line < b.line || (a.line === b.line && a.row < b.row)

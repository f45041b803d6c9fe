import { visibleName } from '../../platform/visible-text.ts'
import { cutToWidth, graphemes, textWidth } from '../terminal/text-width.ts'
import { isMark } from './attachments.ts'

/** How lines are broken into rows of the screen, and what is shown of them. */
export class SoftWrap {
  readonly #label: (mark: string) => string
  /** The last column stays free for the caret. */
  readonly #width: number
  /** Most lines are asked for several times while a key is handled. */
  readonly #rows = new Map<string, readonly number[]>()
  readonly #cells = new Map<string, Cell>()

  constructor(columns: number, label: (mark: string) => string) {
    this.#width = Math.max(1, columns - 1)
    this.#label = label
  }

  /** Where the rows of a line begin, in UTF-16 units. Rows break after a blank near the edge if there is one. */
  rows(line: string): readonly number[] {
    const known = this.#rows.get(line)
    if (known) return known
    const rows = isPlain(line) ? plainRows(line, this.#width) : this.#mixedRows(line)
    if (this.#rows.size >= mostRows) this.#rows.clear()
    this.#rows.set(line, rows)
    return rows
  }

  /** A part of a line as it is shown. */
  shown(text: string): string {
    if (isPlain(text)) return text
    let shown = ''
    for (const { segment } of graphemes().segment(text)) shown += this.#cell(segment).text
    return shown
  }

  /** The end of the last cluster that is not right of `column`. */
  atColumn(row: string, column: number): number {
    if (isPlain(row)) return Math.max(0, Math.min(row.length, column))
    let width = 0
    for (const { segment, index } of graphemes().segment(row)) {
      width += this.#cell(segment).width
      if (width > column) return index
    }
    return row.length
  }

  /** How a grapheme cluster is shown. Remembered, because a text has few different ones. */
  #cell(grapheme: string): Cell {
    const known = this.#cells.get(grapheme)
    if (known) return known
    const text = cutToWidth(this.#shown(grapheme), this.#width)
    const cell = { text, width: textWidth(text) }
    if (this.#cells.size >= mostCells) this.#cells.clear()
    this.#cells.set(grapheme, cell)
    return cell
  }

  #shown(grapheme: string): string {
    if (grapheme === '\t') return '    '
    return isMark(grapheme) ? this.#label(grapheme) : visibleName(grapheme)
  }

  #mixedRows(line: string): number[] {
    const starts = [0]
    let [width, blank, widthAtBlank] = [0, -1, 0]
    for (const { segment, index } of graphemes().segment(line)) {
      const more = this.#cell(segment).width
      if (segment === ' ' && width + more > this.#width) {
        starts.push(index + 1) // a blank may take the free column, so that no row begins with it
        ;[width, blank] = [0, -1]
        continue
      }
      while (width > 0 && width + more > this.#width) {
        const isNear = blank > 0 && isNearEdge(width - widthAtBlank, this.#width)
        starts.push(isNear ? blank : index)
        width = isNear ? width - widthAtBlank : 0
        blank = -1
      }
      width += more
      if (segment === ' ') [blank, widthAtBlank] = [index + 1, width]
    }
    return starts
  }
}

interface Cell {
  readonly text: string
  readonly width: number
}

const mostRows = 200
const mostCells = 5000

/** One UTF-16 unit is one column. */
const isPlain = (line: string): boolean => !/[^\x20-\x7e\xa1-\xac\xae-\u02ff]/.test(line)

const isNearEdge = (moved: number, width: number): boolean => moved < width / 3

function plainRows(line: string, width: number): number[] {
  const starts = [0]
  for (let start = 0; line.length > start + width; starts.push(start)) {
    const end = start + width
    let blank = end
    while (blank > start && isNearEdge(end - blank, width) && line[blank - 1] !== ' ') blank--
    if (line[end] === ' ') start = end + 1
    else start = blank > start && isNearEdge(end - blank, width) ? blank : end
  }
  return starts
}

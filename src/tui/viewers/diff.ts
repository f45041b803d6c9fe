import { type DiffRow, readDiff } from '../../chat/read-diff.ts'
import { own } from '../terminal/marks.ts'
import type { Paint } from '../terminal/paint.ts'
import { graphemesOf, graphemeWidth } from '../terminal/text-width.ts'
import { createPager, type PagedItems, type PagerPosition } from './pager.ts'
import type { View } from './viewer.ts'

export interface DiffViewOptions {
  readonly paint: Paint
  /** A unified diff, or what `git diff` prints. */
  readonly diff: string
  readonly title?: string
}

/** A diff: side by side from 100 columns on, else in one column. The words that changed within a line stand out. */
export function diffView({ paint, diff, title = 'Changes' }: DiffViewOptions): View<undefined> {
  const rows = readDiff(diff)
  let columnsNow = 0
  /** What the person chose by `s`. */
  let chosen: 'one' | 'two' | undefined
  const pairs = pairsOf(rows)
  const digits = String(rows.reduce((most, { before = 0, after = 0 }) => Math.max(most, before, after), 0)).length
  const layout = (): 'one' | 'two' => chosen ?? (columnsNow >= widthOfTwo ? 'two' : 'one')

  const unified: PagedItems = {
    length: rows.length,
    rows: (i, columns) => oneColumn(rows[i]!, columns, digits, paint),
    text: (i) => textOf(rows[i]!),
  }
  const sides: PagedItems = {
    length: pairs.length,
    rows: (i, columns) => twoColumns(pairs[i]!, columns, digits, paint),
    text: (i) => pairs[i]!.map((row) => (row ? textOf(row) : '')).join('\n'),
  }
  const isStart = (i: number): boolean => (layout() === 'two' ? pairs[i]?.[0]?.kind : rows[i]?.kind) === 'hunk'
  const jump = ({ top, goTo }: PagerPosition, step: 1 | -1): void => {
    const { length } = layout() === 'two' ? pairs : rows
    let at = top + step
    while (at > 0 && at < length && !isStart(at)) at += step
    if (at >= 0 && at < length) goTo(at)
  }

  const pager = createPager({
    paint,
    title,
    items: () => (layout() === 'two' ? sides : unified),
    hint: '[ ] change · s sides',
    press(key, position) {
      if (key.type !== 'text') return undefined
      if (key.text === ']') jump(position, 1)
      if (key.text === '[') jump(position, -1)
      if (key.text === 's') chosen = layout() === 'two' ? 'one' : 'two'
      return undefined
    },
  })
  return {
    ...pager,
    draw(size) {
      columnsNow = size.columns + 1
      return pager.draw(size)
    },
  }
}

const widthOfTwo = 100

type Pair = readonly [left: DiffRow | undefined, right: DiffRow | undefined]

/** Removed lines beside the added ones that replace them. A file or hunk has no right side. */
function pairsOf(rows: readonly DiffRow[]): Pair[] {
  const pairs: Pair[] = []
  for (let at = 0; at < rows.length; ) {
    const row = rows[at]!
    if (row.kind !== 'removed' && row.kind !== 'added') {
      pairs.push([row, row.kind === 'same' ? row : undefined])
      at++
      continue
    }
    const removed = runOf(rows, at, 'removed')
    const added = runOf(rows, at + removed.length, 'added')
    for (let i = 0; i < Math.max(removed.length, added.length); i++) pairs.push([removed[i], added[i]])
    at += removed.length + added.length
  }
  return pairs
}

function runOf(rows: readonly DiffRow[], from: number, kind: DiffRow['kind']): DiffRow[] {
  let end = from
  while (rows[end]?.kind === kind) end++
  return rows.slice(from, end)
}

const textOf = ({ parts }: DiffRow): string => parts.map(({ text }) => text).join('')

function oneColumn(row: DiffRow, columns: number, digits: number, paint: Paint): string[] {
  if (isHeading(row)) return [headingOf(row, paint)]
  const numbers = `${number(row.before, digits)} ${number(row.after, digits)} `
  return wrapped(row, columns - numbers.length - 2, paint).map((line, i) => {
    const gutter = paint.dim(i === 0 ? numbers : ' '.repeat(numbers.length))
    return `${gutter}${signOf(row, i, paint)} ${line.text}`
  })
}

function twoColumns([left, right]: Pair, columns: number, digits: number, paint: Paint): string[] {
  if (left && isHeading(left)) return [headingOf(left, paint)]
  const half = Math.floor((columns - 3) / 2)
  const one = side(left, left?.before, half, digits, paint)
  const two = side(right, right?.after, half, digits, paint)
  const blank = { text: '', width: 0 }
  return Array.from({ length: Math.max(one.length, two.length) }, (_, i) => {
    const { text, width } = one[i] ?? blank
    return `${text}${' '.repeat(Math.max(0, half - width))} ${paint.dim(own('│'))} ${(two[i] ?? blank).text}`
  })
}

function side(
  row: DiffRow | undefined,
  at: number | undefined,
  half: number,
  digits: number,
  paint: Paint,
): WrappedLine[] {
  if (!row) return []
  const room = half - digits - 3
  return wrapped(row, room, paint).map((line, i) => {
    const gutter = paint.dim(i === 0 ? number(at, digits) : ' '.repeat(digits))
    return { text: `${gutter} ${signOf(row, i, paint)} ${line.text}`, width: digits + 3 + line.width }
  })
}

const isHeading = ({ kind }: DiffRow): boolean => kind === 'file' || kind === 'hunk' || kind === 'note'

function headingOf(row: DiffRow, paint: Paint): string {
  const text = textOf(row)
  if (row.kind === 'file') return paint.bold(text.replace(/^\+\+\+ (?:b\/)?/, ''))
  return row.kind === 'hunk' ? paint.cyan(text) : paint.dim(text)
}

const number = (at: number | undefined, digits: number): string => String(at ?? '').padStart(digits)

function signOf({ kind }: DiffRow, i: number, paint: Paint): string {
  if (i > 0 || kind === 'same') return ' '
  return kind === 'added' ? paint.green('+') : paint.red('-')
}

interface WrappedLine {
  readonly text: string
  readonly width: number
}

/** The line wrapped to a width, the changed words in reverse. */
function wrapped({ kind, parts }: DiffRow, columns: number, paint: Paint): WrappedLine[] {
  const style = styles[kind]
  const lines: WrappedLine[] = []
  let [line, used] = ['', 0]
  for (const { text, isChanged } of parts) {
    let run = ''
    const close = (): void => {
      const shown = style === undefined ? run : paint[style](run)
      line += isChanged ? paint.inverse(shown) : shown
      run = ''
    }
    for (const grapheme of graphemesOf(text)) {
      const width = graphemeWidth(grapheme)
      if (used + width > Math.max(4, columns)) {
        close()
        lines.push({ text: line, width: used })
        line = ''
        used = 0
      }
      run += grapheme
      used += width
    }
    close()
  }
  return [...lines, { text: line, width: used }]
}

const styles: Partial<Record<DiffRow['kind'], 'green' | 'red'>> = { added: 'green', removed: 'red' }

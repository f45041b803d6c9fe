import type { Row } from '../../view/rows.ts'
import type { SessionView } from '../../view/session-view.ts'
import { blocksText, renderRow } from '../rows/render-row.ts'
import type { Paint } from '../terminal/paint.ts'
import { createPager, type PagedItems } from './pager.ts'
import type { View } from './viewer.ts'

export interface TranscriptOptions {
  readonly paint: Paint
  /** Paths are shown relative to it. */
  readonly cwd: string
  /** What is known of the session now. */
  view(): SessionView
  /** The view with all rows, if `view()` has only the last ones. Called when the person scrolls to the top or searches. */
  readonly whole?: () => Promise<SessionView>
  /** Where to begin: the row with this id, or the end, which is the default. */
  readonly at?: string
  readonly title?: string
  subscribe?(changed: () => void): () => void
}

/** The whole conversation: tool output unfolded, thinking shown. Only rows in sight are rendered. */
export function transcriptView(options: TranscriptOptions): View<undefined> {
  const { paint, cwd, whole, at, title = 'Transcript', subscribe } = options
  const rendered = new WeakMap<Row, { readonly columns: number; readonly rows: readonly string[] }>()
  /** Rows from before those that `view()` began with. */
  let before: readonly Row[] = []

  const rowAt = (index: number): Row =>
    index < before.length ? before[index]! : options.view().rows.at(index - before.length)!
  const items: PagedItems = {
    get length() {
      return before.length + options.view().rows.length
    },
    rows(index, columns) {
      const row = rowAt(index)
      const known = rendered.get(row)
      if (known?.columns === columns) return known.rows
      const lines = renderRow(row, { paint, cwd, columns })
      // Calls stand together.
      const isApart = row.kind !== 'call' || (index > 0 && rowAt(index - 1).kind !== 'call')
      const rows = lines.length === 0 || !isApart || index === 0 ? lines : ['', ...lines]
      rendered.set(row, { columns, rows })
      return rows
    },
    text: (index) => textOf(rowAt(index)),
  }
  async function older(): Promise<number> {
    const first = options.view().rows.at(0)
    const { rows } = await whole!()
    let count = 0
    while (count < rows.length && rows.at(count)!.id !== first?.id && rows.at(count)!.seq <= (first?.seq ?? 0)) count++
    const added = count - before.length
    before = rows.slice(0, count)
    return added
  }
  return createPager({
    paint,
    title,
    items: () => items,
    start: at === undefined ? 'end' : indexOf(options.view(), at),
    ...(whole && { older }),
    ...(subscribe && { subscribe }),
  })
}

function indexOf({ rows }: SessionView, id: string): number | 'end' {
  for (let i = rows.length - 1; i >= 0; i--) if (rows.at(i)!.id === id) return i
  return 'end'
}

function textOf(row: Row): string {
  switch (row.kind) {
    case 'message':
      return blocksText(row.content)
    case 'answer':
      return `${row.thinking}\n${row.text}`
    case 'call': {
      const { output = '' } = row.result ?? {}
      const said = typeof output === 'string' ? output : blocksText(output)
      return `${row.name} ${JSON.stringify(row.input)}\n${said}\n${row.result?.diff ?? ''}`
    }
    case 'notice':
      return row.text
    case 'compaction':
      return blocksText(row.summary)
  }
}

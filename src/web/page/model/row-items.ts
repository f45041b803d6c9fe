import type { CallRow, PersistentList, Row } from '../libero.ts'

/** What stands as one in the list of a conversation: a row, or several calls of one kind. */
export interface RowItem {
  /** The id of its first row. */
  readonly key: string
  /** The indexes of its rows, ascending. */
  readonly rows: readonly number[]
}

type Rows = PersistentList<Row>

/** The items of rows. What did not change since `before` is the same object; if nothing did, the list is. */
export function itemsOf(
  rows: Rows,
  before: { readonly rows: Rows; readonly items: readonly RowItem[] } | undefined,
): readonly RowItem[] {
  if (!before) return build(rows, 0)
  if (rows === before.rows) return before.items
  const [changed = Number.POSITIVE_INFINITY] = rows.changesSince(before.rows)
  const first = Math.min(changed, rows.length, before.rows.length)
  const at = Math.max(0, itemAt(before.items, first) - 1)
  const from = before.items[at]?.rows[0] ?? 0
  const end = build(rows, from)
  const old = before.items.slice(at)
  const merged = end.map((item, i) => (isSame(item, old[i]) ? old[i]! : item))
  const isUnchanged = merged.length === old.length && merged.every((item, i) => item === old[i])
  return isUnchanged ? before.items : [...before.items.slice(0, at), ...merged]
}

/** The index of the item that has a row, or of the last one before it. */
export function itemAt(items: readonly RowItem[], row: number): number {
  let [low, high] = [0, items.length - 1]
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if (items[middle]!.rows[0]! <= row) low = middle
    else high = middle - 1
  }
  return low
}

function build(rows: Rows, from: number): RowItem[] {
  const items: RowItem[] = []
  let group: { readonly kind: string; readonly key: string; readonly rows: number[] } | undefined
  for (let at = from; at < rows.length; at++) {
    const row = rows.at(at)!
    if (isEmpty(row)) continue
    const kind = groupOf(row)
    if (kind !== undefined && group?.kind === kind) {
      group.rows.push(at)
      continue
    }
    const item = { key: row.id, rows: [at] }
    items.push(item)
    group = kind === undefined ? undefined : { kind, ...item }
  }
  return items
}

/** An answer that only makes calls shows nothing itself, nor does a run that ended to wait: its call says so. */
function isEmpty(row: Row): boolean {
  if (row.kind === 'notice') return row.run?.status === 'suspended'
  if (row.kind !== 'answer' || row.error !== undefined || row.isInterrupted) return false
  return row.text.trim() === '' && row.thinking.trim() === '' && row.content.every(({ type }) => type !== 'image')
}

/** Calls that only looked at something, one after the other, are one line together. */
function groupOf(row: Row): string | undefined {
  if (row.kind !== 'call' || !row.result || row.result.isError || row.approvals || row.result.diff) return undefined
  return row.result.outcome === 'done' && lookingTools.has(row.name) ? row.name : undefined
}

const lookingTools: ReadonlySet<CallRow['name']> = new Set([
  ...['read', 'read_file', 'list', 'list_files', 'ls', 'glob', 'grep', 'search', 'find'],
])

const isSame = (a: RowItem, b: RowItem | undefined): boolean =>
  b !== undefined && a.key === b.key && a.rows.length === b.rows.length && a.rows.every((row, i) => row === b.rows[i])

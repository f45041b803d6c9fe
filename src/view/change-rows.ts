import type { CallRow, Row } from './rows.ts'
import type { SessionView } from './session-view.ts'

/** Adds a committed row, before rows that only stream. */
export function addRow(view: SessionView, row: Row): SessionView {
  const { rows, fold } = view
  const { committed } = fold
  let list = rows.take(committed).push(row)
  for (const streaming of rows.slice(committed)) list = list.push(streaming)
  return { ...view, rows: list, fold: { ...fold, committed: committed + 1 } }
}

/** Removes the rows that only stream. */
export function dropStreaming(view: SessionView): SessionView {
  const { rows, fold } = view
  return rows.length === fold.committed ? view : { ...view, rows: rows.take(fold.committed) }
}

/** Replaces the row of a call that has no result yet; a call that a tool made counts as part of that tool's call. */
export function changeCall(view: SessionView, callId: string, change: (row: CallRow) => CallRow): SessionView {
  const at = openIndex(view, callId)
  const row = at === undefined ? undefined : view.rows.at(at)
  if (at === undefined || row?.kind !== 'call') return view
  return { ...view, rows: view.rows.with(at, change(row)) }
}

/** `1.2.3` is a call of `1.2`, or of `1` if that is no call of the model. */
function openIndex({ fold: { open } }: SessionView, callId: string): number | undefined {
  for (let end = callId.length; end > 0; end = callId.lastIndexOf('.', end - 1)) {
    const at = open.get(callId.slice(0, end))
    if (at !== undefined) return at
  }
  return undefined
}

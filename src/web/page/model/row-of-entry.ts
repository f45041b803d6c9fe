import type { PersistentList, Row } from '../libero.ts'

/** The row that an entry is shown in: that of the call whose result it is, else the last that begins with it or before it. */
export function rowOfEntry(rows: PersistentList<Row>, seq: number): number {
  let at = rows.length - 1
  while (at > 0 && rows.at(at)!.seq > seq) at--
  for (let i = at; i >= 0 && i > at - 50; i--) {
    const row = rows.at(i)!
    if (row.kind === 'call' && (row.result?.seq === seq || row.started?.seq === seq)) return i
  }
  while (at > 0 && rows.at(at)!.seq === seq && rows.at(at - 1)!.seq === seq) at--
  return at
}

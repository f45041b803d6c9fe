import { AgentError, LeaseLostError, leaseLost } from '../../core/errors.ts'
import type { LogEntry } from '../../core/log.ts'
import { failpoint } from '../../core/log.ts'
import type { Fence } from '../../core/store.ts'
import type { Connection } from './connection.ts'
import { deliver } from './inbox.ts'
import { keyOfText, textOfKey } from './keys.ts'
import { endOf, placeOf } from './places.ts'
import { corruptError } from './problems.ts'
import { type Sealed, sumOf, unseal } from './sealed.ts'
import type { LeaseRow, SessionRow, SessionRows } from './session-rows.ts'

interface Append {
  readonly id: string
  readonly entries: readonly LogEntry[]
  /** The entries as JSON. */
  readonly bodies: readonly string[]
  readonly fence: Fence
}

/** Inside a transaction: all entries, if the fence allows it and they are not there yet. */
export function appendEntries(connection: Connection, rows: SessionRows, append: Append): void {
  const { id, entries, bodies, fence } = append
  const key = rows.advance(id, fence, entries.length) ?? makeRoom(connection, rows, append)
  if (key === undefined) return
  const insert = connection.statement('INSERT INTO entries (place, at, sum, body) VALUES (?, ?, ?, ?)')
  for (let i = 0; i < entries.length; i++) {
    const [entry, body] = [entries[i]!, bodies[i]!]
    const seq = fence.head + i + 1
    if (entry.seq !== seq) throw new AgentError(`Entry ${entry.seq} of session ${id} must have the number ${seq}`)
    insert.run(placeOf(key, seq), typeof entry.at === 'number' ? entry.at : null, sumOf(body, key), body)
    if ('clientKey' in entry && entry.clientKey) deliver(connection, key, entry.clientKey)
  }
  failpoint('sqlite.append.beforeCommit', entries)
}

/** The same as `SessionRows.advance`, for all cases. Gives the key of the session, or undefined if there is nothing to do. */
function makeRoom(connection: Connection, rows: SessionRows, append: Append): number | undefined {
  const { id, entries, fence } = append
  const { epoch, head, holder = id, parent } = fence
  const guard = rows.find(holder)
  if (!guard?.epoch || guard.epoch !== epoch) throw takenOver(holder, guard && rows.leaseOf(guard))
  const row = holder === id ? guard : rows.findOrCreate(id)
  if (row.head !== head) {
    if (areThere(connection, row, append)) return undefined
    throw new LeaseLostError(`Session ${id} has moved on to entry ${row.head}, expected ${head}`)
  }
  const update = 'UPDATE sessions SET head = ?, parent = ifnull(?, parent) WHERE key = ?'
  connection.statement(update).run(head + entries.length, parent === undefined ? null : textOfKey(parent), row.key)
  return row.key
}

/** The entries of a session after number `from`: as they were written, or an error. */
export function readEntries(connection: Connection, row: SessionRow, from: number): LogEntry[] {
  const { path } = connection
  const after = Math.max(from, 0) // before the first place lie the entries of another session
  if (after >= row.head) return []
  const found = connection.statement(following).all(placeOf(row.key, after), endOf(row.key)) as unknown as Placed[]
  const entries: LogEntry[] = []
  for (const one of found) {
    const entry = unseal(one, row.key) as LogEntry | undefined
    const seq = after + entries.length + 1
    if (one.place !== placeOf(row.key, seq) || entry?.seq !== seq)
      throw corruptError(path, `entry ${seq} of session ${keyOfText(row.id)} is not what was written`)
    entries.push(entry)
  }
  if (after + entries.length !== row.head)
    throw corruptError(path, `session ${keyOfText(row.id)} has no entry ${after + entries.length + 1}`)
  return entries
}

type Placed = Sealed & { readonly place: number }
const following = 'SELECT place, sum, body FROM entries WHERE place > ? AND place < ? ORDER BY place'

/** Whether this very append has happened before. */
function areThere(connection: Connection, row: SessionRow, { entries, fence: { head } }: Append): boolean {
  if (head + entries.length > row.head) return false
  const there = readEntries(connection, row, head)
  return entries.every((entry, i) => there[i]?.id === entry.id)
}

/** Somebody else has the right to write by now. */
export function takenOver(id: string, lease: LeaseRow | undefined): LeaseLostError {
  return leaseLost(id, lease && keyOfText(lease.owner))
}

import type { DatabaseSync } from 'node:sqlite'
import { keyOfText } from './keys.ts'
import { endOf, placeOf } from './places.ts'
import type { Losses } from './rescue-tables.ts'
import { sumOf } from './sealed.ts'

/** Gives every entry a session, every session a dense log and its head. Returns how many sessions there are. */
export function settleSessions(target: DatabaseSync, losses: Losses): number {
  nameTheNameless(target)
  const rows = target.prepare('SELECT key, id, head FROM sessions ORDER BY key').all()
  for (const { key, id, head } of rows) settle(target, losses, { key: Number(key), id: String(id), head: Number(head) })
  return rows.length
}

function nameTheNameless(target: DatabaseSync): void {
  const nameless = target.prepare(`SELECT session FROM (SELECT session FROM entries UNION SELECT session FROM inbox)
    WHERE session NOT IN (SELECT key FROM sessions)`)
  const isTaken = target.prepare('SELECT 1 FROM sessions WHERE id = ?')
  const insert = target.prepare('INSERT INTO sessions (key, id) VALUES (?, ?)')
  for (const { session } of nameless.all()) {
    let name = `rescued-${session}`
    while (isTaken.get(name)) name += '-again'
    insert.run(Number(session), name)
  }
}

/** What a session was said to be, before anybody looked at its entries. */
interface Claimed {
  readonly key: number
  readonly id: string
  readonly head: number
}

function settle(target: DatabaseSync, losses: Losses, { key, id, head }: Claimed): void {
  const name = keyOfText(id)
  let seq = 0
  let lastAt = 0
  const rows = target
    .prepare('SELECT seq, at FROM entries WHERE place > ? AND place < ? ORDER BY place')
    .all(placeOf(key, 0), endOf(key))
  for (const row of rows) {
    const found = Number(row.seq)
    if (found > seq + 1) {
      losses.add(rangeOf(seq + 1, found - 1), name)
      fillGap(target, { key, from: seq + 1, to: found - 1, at: lastAt })
    }
    seq = found
    lastAt = Number(row.at ?? lastAt)
  }
  if (head > seq) losses.add(rangeOf(seq + 1, head), name)
  target.prepare('UPDATE sessions SET head = ? WHERE key = ?').run(seq, key)
}

const rangeOf = (from: number, to: number): string => (from === to ? `entry ${from}` : `entries ${from} to ${to}`)

function fillGap(target: DatabaseSync, gap: { key: number; from: number; to: number; at: number }): void {
  const insert = target.prepare('INSERT INTO entries (place, at, sum, body) VALUES (?, ?, ?, ?)')
  for (let seq = gap.from; seq <= gap.to; seq++) {
    const body = JSON.stringify({ seq, id: `lost-${seq}`, at: gap.at, type: 'lost' })
    insert.run(placeOf(gap.key, seq), gap.at, sumOf(body, gap.key), body)
  }
}

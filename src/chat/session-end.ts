import type { LogEntry } from '../core/log.ts'
import type { SessionStore } from '../core/store.ts'
import { emptyView, foldEntries, type SessionView } from '../view/session-view.ts'

/** The end of a session, as much as a screen shows at first. */
export interface SessionEnd {
  readonly view: SessionView
  /** Turns before those in the view. */
  readonly earlierTurns: number
}

/** Reads the last entries of a session up to entry `head`, and no more than the view of them needs. */
export async function readEnd(store: SessionStore, sessionId: string, head: number): Promise<SessionEnd> {
  const summary = await store.find(sessionId)
  let entries: readonly LogEntry[] = []
  do {
    const before = entries[0]?.seq ?? head + 1
    const page = await store.read(sessionId, { before, limit: pageSize, fromEnd: true })
    if (page.length === 0) break
    entries = [...page, ...entries]
  } while (entries[0]!.seq > 1 && needsMore(entries))
  const first = entries[0]?.seq ?? head + 1
  const view = foldEntries({ ...emptyView, head: first - 1 }, entries)
  if (first === 1 || !summary) return { view, earlierTurns: 0 }
  const turns = entries.reduce((sum, { type }) => sum + (type === 'turn' ? 1 : 0), 0)
  const { title, tags, tenant, kind, folder } = summary
  const details = Object.fromEntries(
    Object.entries({ title, tags, tenant, kind, folder }).filter(([, value]) => value !== undefined),
  )
  return {
    // What the entries before have cost counts too.
    view: { ...view, details, usage: { ...view.usage, ...(summary.cost > 0 && { cost: summary.cost }) } },
    earlierTurns: Math.max(0, summary.turns - turns),
  }
}

const pageSize = 400

/** A rewind may go back behind the first entry, and leave nothing to show. */
function needsMore(entries: readonly LogEntry[]): boolean {
  const first = entries[0]!.seq
  let from = Number.POSITIVE_INFINITY
  for (const entry of entries) if (entry.type === 'rewind') from = Math.min(from, entry.toSeq)
  return from < first + leastEntries
}

const leastEntries = 100

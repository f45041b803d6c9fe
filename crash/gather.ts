import { messageOf } from '../src/core/errors.ts'
import type { LogEntry } from '../src/core/log.ts'
import type { SessionStore } from '../src/core/store.ts'
import { allSessions } from '../src/sessions/session-query.ts'
import type { Evidence, Snapshot, WaitingMessage } from './evidence.ts'
import { readEffects, readLedger } from './ledger.ts'
import { openStore, type StoreKind, sessionId } from './stores.ts'

/**
 * Reads the state of a trial without a lease and without changing anything. A process may write meanwhile, so things are read
 * in reverse order: a message goes from the inbox to the log, and only then to the ledger.
 */
export async function gather(
  kind: StoreKind,
  folder: string,
  { isDone, isQuiet, earlier }: { isDone: boolean; isQuiet: boolean; earlier: Snapshot | undefined },
): Promise<Evidence> {
  const before = readLedger(folder)
  const problems: string[] = []
  const sessions: Record<string, readonly LogEntry[]> = {}
  const summaries: Record<string, Evidence['summaries'][string]> = {}
  const waiting: WaitingMessage[] = []
  let attention: readonly string[] = []
  try {
    const store = await openStore(kind, folder)
    try {
      const before = new Map((await allSessions(store)).map((summary) => [summary.id, summary]))
      for (const id of before.keys()) waiting.push(...(await waitingIn(store, id)))
      for (const id of before.keys()) sessions[id] = await store.read(id)
      for (const id of before.keys()) summaries[id] = [before.get(id), await store.find(id)]
      attention = (await allSessions(store, { attention: true })).map(({ id }) => id)
    } finally {
      await store.close?.()
    }
    if (kind === 'sqlite') problems.push(...(await integrityOf(folder)))
  } catch (error) {
    problems.push(`the store cannot be read: ${messageOf(error)}`)
  }
  const after = readLedger(folder)
  const notes = [...before, ...after.slice(before.length).filter(({ kind }) => kind === 'append' || kind === 'lease')]
  const found = {
    root: sessionId,
    sessions,
    summaries,
    attention,
    isQuiet,
    waiting,
    notes,
    effects: readEffects(folder),
    ledger: after.length,
  }
  return { ...found, isDone, ...(earlier && { earlier }), problems }
}

/** A watch begins with the present state; from before the last entry on, it reports at once. */
async function waitingIn(store: SessionStore, id: string): Promise<readonly WaitingMessage[]> {
  const head = (await store.read(id)).length
  const stop = new AbortController()
  const timer = head === 0 && setTimeout(() => stop.abort(), 300)
  try {
    for await (const { inbox } of store.watch(id, { after: Math.max(0, head - 1), signal: stop.signal }))
      return inbox.map(({ clientKey, mode }) => ({ session: id, clientKey, mode }))
    return []
  } finally {
    if (timer) clearTimeout(timer)
    stop.abort()
  }
}

async function integrityOf(folder: string): Promise<string[]> {
  const { DatabaseSync } = await import('node:sqlite')
  const database = new DatabaseSync(`${folder}/store.db`)
  try {
    const rows = database.prepare('PRAGMA integrity_check').all() as { integrity_check: string }[]
    return rows.flatMap((row) => (row.integrity_check === 'ok' ? [] : [`integrity: ${row.integrity_check}`]))
  } finally {
    database.close()
  }
}

import type { EntryBody, LogEntry } from '../src/core/log.ts'
import type { EntryRange, SessionStore } from '../src/core/store.ts'
import { createSession } from '../src/index.ts'

interface LongSession {
  readonly turns: number
  /** After so many turns, all but the last twenty are replaced by a summary. Default 100. */
  readonly compactedEvery?: number
  /** Characters in each reply and each result. Default 40. */
  readonly size?: number
}

/**
 * Writes a session as runs of ten turns write it: a prompt, replies with a call each, the results, a last reply. Its
 * conversation is compacted again and again, and the session itself writes its checkpoints.
 */
export async function writeLongSession(store: SessionStore, id: string, options: LongSession): Promise<void> {
  const { turns, compactedEvery = 100, size = 40 } = options
  const session = await createSession({ store, id })
  await session.open()
  for (let first = 0; first < turns; first += 10) {
    await session.log.appendAll(runOf(first, 'word '.repeat(size / 5)))
    if ((first + 10) % compactedEvery > 0) continue
    const { transcript } = session.log
    const toSeq = transcript.seqOf(transcript.turns.at(-20)?.id)! - 1
    const summary = [{ type: 'text', text: `The first ${first - 10} turns.` }] as const
    await session.log.appendAll([{ type: 'compaction', toSeq, summary }])
  }
  await session.release()
}

/** Ten turns, numbered. */
function runOf(first: number, text: string): EntryBody[] {
  const runId = `r${first}`
  const said = (n: number, role: 'user' | 'assistant', calls: readonly string[] = []): EntryBody => {
    const blocks = calls.map((callId) => ({ type: 'tool_call', id: callId, name: 'read', input: { n } }) as const)
    const content = [{ type: 'text', text: `${n} ${text}` } as const, ...blocks]
    return { type: 'turn', turn: { id: `t${n}`, runId, role, content, createdAt: n } }
  }
  const called = Array.from({ length: 4 }, (_, i): EntryBody[] => {
    const n = first + 1 + 2 * i
    const callId = `c${n}`
    return [
      said(n, 'assistant', [callId]),
      { type: 'call_started', callId, key: `key-${callId}`, attempt: 1, replay: 'pure' },
      { type: 'call_result', callId, output: `${n + 1} ${text}`, outcome: 'done' },
    ]
  })
  return [
    { type: 'run_started', runId, model: 'm' },
    { ...said(first, 'user'), clientKey: `prompt-${first}` } as EntryBody,
    ...called.flat(),
    said(first + 9, 'assistant'),
    { type: 'run_ended', runId, status: 'completed', stop: 'end' },
  ]
}

/** A store that counts the entries that are read and written through it, and the calls of each method. */
export function countingStore(store: SessionStore) {
  const counts = { read: 0, written: 0, reads: 0, finds: 0, lists: 0 }
  const counting: SessionStore = {
    ...store,
    async read(id: string, range?: EntryRange): Promise<readonly LogEntry[]> {
      const entries = await store.read(id, range)
      counts.reads++
      counts.read += entries.length
      return entries
    },
    append(id, entries, fence) {
      counts.written += entries.length
      return store.append(id, entries, fence)
    },
    find(id) {
      counts.finds++
      return store.find(id)
    },
    list(query) {
      counts.lists++
      return store.list(query)
    },
  }
  /** The counts since the last call. */
  const take = () => {
    const taken = { ...counts }
    Object.assign(counts, { read: 0, written: 0, reads: 0, finds: 0, lists: 0 })
    return taken
  }
  return { store: counting, take }
}

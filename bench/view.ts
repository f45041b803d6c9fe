import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { EntryBody, LogEntry } from '../src/core/log.ts'
import type { ProvisionalEvent } from '../src/events/events.ts'
import { createSqliteStore } from '../src/index.ts'
import { emptyView, foldEntries, foldEvent, type SessionView } from '../src/view/session-view.ts'
import { createViewHistory } from '../src/view/view-history.ts'
import { compare, measure, type Result } from './measure.ts'

/** What a screen pays for a delta, and for going back, in a long session. */
export async function view(): Promise<Result[]> {
  const [short, long] = [10, 10_000].map((turns) => foldEntries(emptyView, entriesOf(turns)))
  const [floor, ours] = await measure(
    [
      { label: 'after 10 turns', run: async () => void stream(short!) },
      { label: 'after 10,000 turns', run: async () => void stream(long!) },
    ],
    deltas,
  )
  const log = entriesOf(12_500)
  return [
    compare('a delta after 10,000 turns, against after 10', ours!, floor!, 1.2, 'delta'),
    await seeking('in memory', (after, to) => log.slice(after, to)),
    await seekingOnDisk(log),
  ]
}

const deltas = 1000

function stream(view: SessionView): SessionView {
  let now = view
  for (let n = 1; n <= deltas; n++) {
    const event: ProvisionalEvent = {
      ...{ durable: false, after: view.head, n, type: 'text', turnId: 'streaming', attempt: 1, delta: 'word ' },
    }
    now = foldEvent(now, event)
  }
  return now
}

/**
 * The slowest of many jumps to any entry, once the session was read, in milliseconds of processor time: that of all
 * threads, but not that of other programs, which would count on a busy machine.
 */
async function seeking(where: string, read: Parameters<typeof createViewHistory>[0]): Promise<Result> {
  const entries = 50_000
  const history = createViewHistory(read)
  await history.at(entries)
  const times: number[] = []
  for (let i = 0; i < 500; i++) {
    const seq = (i * 7919) % entries
    const begun = process.cpuUsage()
    await history.at(seq)
    const { user, system } = process.cpuUsage(begun)
    times.push((user + system) / 1000)
  }
  const name = `seek to any of 50,000 entries ${where}, p99 in ms`
  const value = times.toSorted((a, b) => a - b)[Math.floor(times.length * 0.99)]!
  const ok = value <= 20
  console.log(`${ok ? 'ok  ' : 'MISS'} ${name.padEnd(52)} ${value.toFixed(1)} (goal 20)`)
  return { name, value, goal: 20, ok }
}

async function seekingOnDisk(log: readonly LogEntry[]): Promise<Result> {
  const folder = mkdtempSync(join(tmpdir(), 'libero-bench-'))
  const store = createSqliteStore({ path: join(folder, 'sessions.db') })
  try {
    const { epoch } = await store.lease('s', { owner: 'bench', ttlMs: 60_000, create: true })
    for (let head = 0; head < log.length; head += 1000)
      await store.append('s', log.slice(head, head + 1000), { epoch, head })
    return await seeking('on disk', (after, to) => store.read('s', { after, before: to + 1 }))
  } finally {
    await store.close?.()
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Four entries a turn: a message, a reply with a call, its start, its result. */
function entriesOf(turns: number): LogEntry[] {
  const entries: LogEntry[] = []
  const add = (body: EntryBody): void => {
    const seq = entries.length + 1
    entries.push({ ...body, seq, id: `e${seq}`, at: seq })
  }
  for (let i = 0; i < turns; i++) {
    const turn = { runId: 'r', createdAt: i }
    add({ type: 'turn', turn: { ...turn, id: `u${i}`, role: 'user', content: [{ type: 'text', text: 'go' }] } })
    const call = { type: 'tool_call', id: `c${i}`, name: 'look', input: { n: i } } as const
    add({
      type: 'turn',
      turn: { ...turn, id: `a${i}`, role: 'assistant', content: [{ type: 'text', text: 'I look.' }, call] },
    })
    add({ type: 'call_started', callId: `c${i}`, key: 'k', attempt: 1, replay: 'opaque' })
    add({ type: 'call_result', callId: `c${i}`, output: 'a lake', outcome: 'done' })
  }
  return entries
}

import { execFile } from 'node:child_process'
import { appendFileSync, closeSync, fdatasync, mkdtempSync, openSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { LogEntry } from '../src/core/log.ts'
import type { SessionStore } from '../src/core/store.ts'
import { createJsonlStore } from '../src/sessions/jsonl-store.ts'
import { createMemoryStore } from '../src/sessions/memory-store.ts'
import { loadSession } from '../src/sessions/session.ts'
import { createSqliteStore } from '../src/sessions/sqlite-store.ts'
import { longSessions } from './long-sessions.ts'
import { compare, measure, type Result, wall } from './measure.ts'
import { listRatios } from './session-lists.ts'
import { lagUnderLoad } from './session-load.ts'

/** What it costs to keep a session: appending, resuming, and having one open. */
export async function sessions(): Promise<Result[]> {
  const folder = mkdtempSync(join(tmpdir(), 'libero-bench-'))
  try {
    return [
      ...(await appends(folder)),
      ...(await resumes(folder)),
      await idle(folder),
      ...(await load(folder)),
      ...(await lists(folder)),
      ...(await long(folder)),
    ]
  } finally {
    rmSync(folder, { recursive: true })
  }
}

const text = 'lorem ipsum dolor sit amet '.repeat(150) // 4 KB

const entryOf = (seq: number): LogEntry => ({
  seq,
  id: `entry-${seq}`,
  at: 1_700_000_000_000 + seq,
  type: 'label',
  text,
})

/** A store to append to, one entry at a time, as a run does. */
async function appender(store: SessionStore): Promise<() => Promise<void>> {
  const { epoch } = await store.lease('s', { owner: 'bench', ttlMs: 3_600_000, create: true })
  let head = 0
  return async () => {
    await store.append('s', [entryOf(head + 1)], { epoch, head })
    head++
  }
}

/**
 * The least that makes an entry durable, and its session the first of a list: the same text and a row with an index, in a
 * transaction of its own; or a line and a sync that does not block the event loop.
 */
function sqliteFloor(path: string, synchronous: 'FULL' | 'NORMAL'): () => Promise<void> {
  const db = new DatabaseSync(path)
  db.exec(`PRAGMA journal_mode=WAL; PRAGMA synchronous=${synchronous}; CREATE TABLE entry(seq INTEGER PRIMARY KEY, body TEXT);
    CREATE TABLE session(id TEXT PRIMARY KEY, head INTEGER, updated REAL); CREATE INDEX latest ON session(updated);
    INSERT INTO session VALUES('s', 0, 0)`)
  const [begin, insert, update, commit] = [
    db.prepare('BEGIN IMMEDIATE'),
    db.prepare('INSERT INTO entry VALUES(?, ?)'),
    db.prepare(`UPDATE session SET head = ?, updated = ? WHERE id = 's'`),
    db.prepare('COMMIT'),
  ]
  let seq = 0
  return async () => {
    const entry = entryOf(++seq)
    begin.run()
    insert.run(seq, JSON.stringify(entry))
    update.run(seq, entry.at)
    commit.run()
  }
}

const sync = promisify(fdatasync)

function lineFloor(path: string, isSynced: boolean): () => Promise<void> {
  const file = openSync(path, 'a')
  process.once('exit', () => closeSync(file))
  let seq = 0
  return async () => {
    appendFileSync(file, `${JSON.stringify(entryOf(++seq))}\n`)
    if (isSynced) await sync(file)
  }
}

async function appends(folder: string): Promise<Result[]> {
  const at = (name: string): string => join(folder, name)
  const full = createSqliteStore({ path: at('full.db') })
  const normal = createSqliteStore({ path: at('normal.db'), synchronous: 'NORMAL' })
  const lines = createJsonlStore({ dir: at('lines') })
  const fast = createJsonlStore({ dir: at('fast'), sync: false })
  const cases = [
    { name: 'SQLite, synchronous FULL', floor: sqliteFloor(at('raw-full.db'), 'FULL'), ours: await appender(full) },
    { name: 'SQLite, synchronous NORMAL', floor: sqliteFloor(at('raw.db'), 'NORMAL'), ours: await appender(normal) },
    { name: 'JSONL', floor: lineFloor(at('raw.jsonl'), true), ours: await appender(lines) },
    { name: 'JSONL without sync', floor: lineFloor(at('fast.jsonl'), false), ours: await appender(fast) },
  ]
  const results: Result[] = []
  for (const { name, floor, ours } of cases) {
    const contenders = [
      { label: 'floor', run: floor },
      { label: 'ours', run: ours },
    ]
    for (const [meter, what] of [
      [undefined, 'CPU'],
      [wall, 'time'],
    ] as const) {
      const [least, mine] = await measure(contenders, 1, 150, 500, meter)
      // SQLite waits for the disk in a thread, so that the process goes on meanwhile: that costs CPU, not time.
      const goal = what === 'CPU' && name.endsWith('FULL') ? 2 : 1.5
      results.push(compare(`append of 4 KB, ${name}, ${what}`, mine!, least!, goal, 'append'))
      if (meter) console.log(`     ${Math.round(1e6 / mine!)} appends a second`)
    }
  }
  for (const store of [full, normal, lines, fast]) await store.close?.()
  return results
}

/** A turn as it stands in a log: what was asked, the reply with a call, the call's result. */
function turnEntries(count: number): LogEntry[] {
  const entries: LogEntry[] = []
  const add = (body: object): void => {
    const seq = entries.length + 1
    entries.push({ seq, id: `e${seq}`, at: seq, ...body } as LogEntry)
  }
  const said = (id: string, role: string, content: object[]): object => ({
    type: 'turn',
    turn: {
      id,
      runId: 'r',
      role,
      content,
      createdAt: 1,
      ...(role === 'assistant' && { usage: { input: 900, output: 90 } }),
    },
  })
  add(said('first', 'user', [{ type: 'text', text: 'Go.' }]))
  for (let i = 1; entries.length < count * 3; i++) {
    add(
      said(`t${i}`, 'assistant', [
        { type: 'text', text: text.slice(0, 400) },
        { type: 'tool_call', id: `c${i}`, name: 'read', input: { path: `file-${i}` } },
      ]),
    )
    add({ type: 'call_started', callId: `c${i}`, key: `s/c${i}`, attempt: 1, replay: 'keyed' })
    add({ type: 'call_result', callId: `c${i}`, output: text.slice(0, 1200), outcome: 'done' })
  }
  return entries
}

async function resumes(folder: string): Promise<Result[]> {
  const stores = {
    SQLite: createSqliteStore({ path: join(folder, 'resume.db') }),
    JSONL: createJsonlStore({ dir: join(folder, 'resume') }),
  }
  const results: Result[] = []
  for (const [name, store] of Object.entries(stores)) {
    for (const [turns, goal] of [
      [1000, 200],
      [10_000, 1000],
    ] as const) {
      const id = `${turns} turns`
      const { epoch } = await store.lease(id, { owner: 'bench', ttlMs: 1000, create: true })
      await store.append(id, turnEntries(turns), { epoch, head: 0 })
      await store.lease(id, { owner: 'bench', ttlMs: 0, epoch })
      const times: number[] = []
      for (let i = 0; i < 20; i++) {
        const begun = performance.now()
        const session = await loadSession(store, id)
        await session.open()
        times.push(performance.now() - begun)
        await session.release()
      }
      const value = Math.round(times.toSorted((a, b) => a - b)[18]!)
      const result = { name: `resume of ${turns} turns, ${name}, p95 in ms`, value, goal, ok: value < goal }
      console.log(
        `${result.ok ? 'ok  ' : 'MISS'} ${result.name.padEnd(52)} ${String(value).padStart(6)} (goal ${goal})`,
      )
      results.push(result)
    }
    await store.close?.()
  }
  return results
}

async function load(folder: string): Promise<Result[]> {
  const stores = {
    SQLite: createSqliteStore({ path: join(folder, 'load.db') }),
    JSONL: createJsonlStore({ dir: join(folder, 'load') }),
  }
  const results: Result[] = []
  for (const [name, store] of Object.entries(stores)) {
    results.push(await lagUnderLoad(name, store))
    await store.close?.()
  }
  return results
}

async function lists(folder: string): Promise<Result[]> {
  const memory = new Map<string, SessionStore>()
  const inMemory = (name: string): SessionStore => {
    const store = memory.get(name) ?? createMemoryStore()
    memory.set(name, store)
    return store
  }
  return [
    ...(await listRatios('SQLite', (name) => createSqliteStore({ path: join(folder, `list-${name}.db`) }))),
    ...(await listRatios('JSONL', (name) => createJsonlStore({ dir: join(folder, `list-${name}`), sync: false }))),
    ...(await listRatios('memory', inMemory, { isKept: false })),
  ]
}

/** Sessions that are loaded and at rest, each with an agent, in a process of its own. */
async function idle(folder: string): Promise<Result> {
  const path = join(folder, 'idle.db')
  const store = createSqliteStore({ path })
  for (let i = 0; i < 50; i++) {
    const { epoch } = await store.lease(`s${i}`, { owner: 'bench', ttlMs: 1000, create: true })
    await store.append(`s${i}`, turnEntries(100), { epoch, head: 0 })
    await store.lease(`s${i}`, { owner: 'bench', ttlMs: 0, epoch })
  }
  await store.close?.()
  const child = fileURLToPath(new URL('sessions-child.ts', import.meta.url))
  const { stdout } = await promisify(execFile)(process.execPath, [
    '--expose-gc',
    '--conditions=libero-source',
    child,
    path,
  ])
  const value = Number((Number(stdout) / 1024 / 1024).toFixed(2))
  const result = { name: 'memory of an idle session of 100 turns, in MB', value, goal: 2, ok: value < 2 }
  console.log(`${result.ok ? 'ok  ' : 'MISS'} ${result.name.padEnd(52)} ${String(value).padStart(6)} (goal 2)`)
  return result
}

async function long(folder: string): Promise<Result[]> {
  const [database, lines] = [join(folder, 'long.db'), join(folder, 'long')]
  return [
    ...(await longSessions('SQLite', database, createSqliteStore({ path: database }))),
    ...(await longSessions('JSONL', lines, createJsonlStore({ dir: lines }))),
  ]
}

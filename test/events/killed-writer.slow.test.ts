import type { ChildProcess } from 'node:child_process'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import type { SessionStore } from '../../src/core/store.ts'
import { readEvents } from '../../src/events/read-events.ts'
import { joinLocalRuns } from '../../src/rpc/join-local-runs.ts'
import { emptyView, foldEntries, foldEvent, type SessionView } from '../../src/view/session-view.ts'
import { sampleOf } from '../soak.ts'
import { temporary } from '../temporary.ts'
import { withoutLive } from '../view/random-log.ts'
import { startWriter } from './start-writer.ts'
import { openStore } from './stores.ts'

/** The writer has so many events, the last one of which ends its run, and is killed at each of them. */
const eventsOfWriter = 111

test('VE10 a reader whose writer is killed at any event has the view of a fresh fold, then and when another process went on', async () => {
  const lines = await Promise.all((['SQLite', 'JSONL'] as const).map(sweep))
  const sum = (of: (line: (typeof lines)[number]) => number): number => lines.reduce((all, line) => all + of(line), 0)
  const each = lines.map(({ kind, kills, streamed }) => `${kind} ${kills} kills, ${streamed} streamed events`)
  console.log(
    `killed writers: ${sum(({ kills }) => kills)} kills, ${sum(({ compared }) => compared)} views compared, ` +
      `${sum(({ differences }) => differences)} differences (${each.join('; ')})`,
  )
  expect(sum(({ differences }) => differences)).toBe(0)
  for (const { streamed } of lines) expect(streamed).toBeGreaterThan(0)
}, 1_200_000)

/** Each process goes on with the session of the one before, which was killed, and is killed in one of its own. */
async function sweep(kind: 'SQLite' | 'JSONL') {
  const folder = await temporary('ve-')
  const offers = join(folder, 'run')
  const store = await openStore({ kind, folder })
  onTestFinished(() => store.close?.())
  const killsAt = sampleOf(
    Array.from({ length: eventsOfWriter }, (_, i) => i + 1),
    3,
  )
  const counts = { kind, kills: 0, compared: 0, differences: 0, streamed: 0 }
  const compare = async (reader: Reader, { isOver }: { isOver: boolean }): Promise<void> => {
    counts.compared++
    if (!(await reader.isSameAsFresh(isOver))) counts.differences++
  }
  let left: Reader | undefined
  for (const killAt of [...killsAt, undefined]) {
    const id = killAt === undefined ? undefined : `killed-at-${killAt}`
    const task = { ...(left && { goOnWith: left.id }), ...(id && { write: id, killAt }) }
    const writer = startWriter({ store: { kind, folder }, offers, ...task })
    const reader = id === undefined ? undefined : new Reader(store, id, offers)
    const signal = await writer.ended((what) => reader?.answer(what, writer.child))
    if (left) {
      await compare(left, { isOver: true })
      counts.streamed += left.streamed
      await left.stop()
    }
    if (reader) {
      expect(signal).toBe('SIGKILL') // it had that many events
      if (killAt === eventsOfWriter) expect((await store.read(id!)).at(-1)?.type).toBe('run_ended')
      counts.kills++
      await compare(reader, { isOver: false })
    }
    left = reader
  }
  return counts
}

/** Follows one session, and folds what it gets. */
class Reader {
  readonly id: string
  streamed = 0
  readonly #store: SessionStore
  readonly #offers: string
  readonly #stop = new AbortController()
  #view: SessionView = emptyView
  #reading: Promise<void> | undefined
  readonly #seen = new Set<string>()

  constructor(store: SessionStore, id: string, offers: string) {
    this.#store = store
    this.id = id
    this.#offers = offers
  }

  /** What the writer waits for. */
  async answer(what: unknown, writer: ChildProcess): Promise<void> {
    const wanted = what === 'is there' ? 'state' : 'attempt'
    this.#reading ??= this.#read()
    await until(() => this.#seen.has(wanted))
    if (wanted === 'attempt') await new Promise((resolve) => setTimeout(resolve, 30)) // for the socket
    if (writer.connected) writer.send('go on')
  }

  /**
   * Once it has all that is committed: whether its view is that of a fresh fold. Of a run that is not over, what was
   * streamed last may still be shown.
   */
  async isSameAsFresh(isOver: boolean): Promise<boolean> {
    const { head } = (await this.#store.find(this.id))!
    await until(() => this.#view.head >= head)
    const fresh = foldEntries(emptyView, await this.#store.read(this.id))
    const { rows, fold } = this.#view
    const settled = withoutLive(isOver ? this.#view : { ...this.#view, rows: rows.take(fold.committed) })
    return JSON.stringify(settled) === JSON.stringify(withoutLive(fresh))
  }

  async stop(): Promise<void> {
    this.#stop.abort()
    await this.#reading
  }

  async #read(): Promise<void> {
    const joinRuns = joinLocalRuns({ folder: this.#offers })
    for await (const event of readEvents(this.#store, this.id, { join: joinRuns, signal: this.#stop.signal })) {
      this.#view = foldEvent(this.#view, event)
      if (event.durable) this.#seen.add(event.entry.type)
      else this.streamed++
    }
  }
}

const until = (isTrue: () => boolean): Promise<void> => expect.poll(isTrue, { timeout: 20_000, interval: 5 }).toBe(true)

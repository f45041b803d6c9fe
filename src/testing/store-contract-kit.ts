import type { InboxItem, LogEntry } from '../core/log.ts'
import type { SessionStore } from '../core/store.ts'
import { sleep } from '../core/waiting.ts'
import { check, within } from './contract.ts'

/** One case of the store contract. */
export type StoreCase = (store: SessionStore, advance: (ms: number) => Promise<void>) => Promise<void>

export const hour = 3_600_000
export const timeoutMs = 2000
export const bytes = Uint8Array.of(0, 255, 10)

export const lease = (store: SessionStore, id = 's', owner = 'ann') =>
  store.lease(id, { owner, ttlMs: hour, create: true })

export const entry = (seq: number, text = `entry ${seq}`): LogEntry => ({
  seq,
  id: `${seq}-${text.slice(0, 20)}`,
  at: 1_700_000_000_000 + seq,
  type: 'label',
  text,
})

export const textOf = (one: LogEntry): string => (one.type === 'label' ? one.text : '')

export const item = (clientKey: string, text: string): InboxItem => ({
  clientKey,
  mode: 'steer',
  content: [{ type: 'text', text }],
})

export const input = (seq: number, clientKey: string, text: string): LogEntry => ({
  ...item(clientKey, text),
  seq,
  id: `input-${seq}`,
  at: seq,
  type: 'input',
})

/** Writes a session with `count` entries, and keeps its lease. */
export async function write(
  store: SessionStore,
  id: string,
  count: number,
  text?: string,
  owner = 'ann',
): Promise<number> {
  const { epoch } = await lease(store, id, owner)
  const entries = Array.from({ length: count }, (_, i) => entry(i + 1, text))
  await store.append(id, entries, { epoch, head: 0 })
  return epoch
}

export const oddEntries: LogEntry[] = [
  {
    seq: 1,
    id: 'one',
    at: 0,
    type: 'turn',
    turn: {
      id: 't1',
      runId: 'r1',
      role: 'assistant',
      createdAt: 0.5,
      usage: { input: 0, output: 3, cost: 0.000_001 },
      content: [
        { type: 'text', text: 'e\u0301 \u00e9 \u{1F469}\u200D\u{1F680} \u0000 \u2028 \r\n "\\" </script>' },
        { type: 'tool_call', id: 'c1', name: 'f', input: JSON.parse('{"__proto__": {"x": 1}, "": null}') },
      ],
    },
  },
  { seq: 2, id: 'two', at: 1, type: 'state', owner: 'o', value: [null, true, -1.5e300, [], {}, [[['deep']]]] },
  JSON.parse('{"seq": 3, "id": "three", "at": 2, "type": "invented_later", "constructor": {"of": ["something"]}}'),
]

/** Collects the changes that one watcher gets. */
export class Watcher {
  readonly entries: LogEntry[] = []
  readonly inbox: InboxItem[] = []
  readonly done: Promise<void>
  readonly #abort = new AbortController()

  constructor(store: SessionStore, id: string, after = 0, signal: AbortSignal = this.#abort.signal, inboxOnly = false) {
    this.done = this.#listen(store.watch(id, { after, signal, inboxOnly }))
    this.done.catch(() => {}) // it is awaited later
  }

  async stop(): Promise<void> {
    this.#abort.abort()
    await within(timeoutMs, this.done, 'a watcher whose signal was aborted')
  }

  async #listen(changes: ReturnType<SessionStore['watch']>): Promise<void> {
    for await (const { entries, inbox } of changes) {
      this.entries.push(...entries)
      this.inbox.push(...inbox)
    }
  }
}

/** Advances time, which a polling store needs, until the condition is true. */
export async function until(
  advance: (ms: number) => Promise<void>,
  isDone: () => boolean,
  what: string,
): Promise<void> {
  for (let tries = 0; tries < 200 && !isDone(); tries++) {
    await advance(250)
    // A store may need real time, for a server or a disk.
    if (tries > 20) await sleep(5)
  }
  check(isDone(), `a watcher waits for ${what} in vain`)
}

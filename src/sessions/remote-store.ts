import type { Clock } from '../core/clock.ts'
import { StoreError } from '../core/errors.ts'
import type { LogEntry } from '../core/log.ts'
import type {
  EntryRange,
  Fence,
  Lease,
  LeaseRequest,
  SessionPage,
  SessionQuery,
  SessionStore,
  SessionSummary,
  StoreChange,
} from '../core/store.ts'
import { sleep } from '../core/waiting.ts'
import { sha256Hex } from './bytes.ts'
import { type Answer, errorOf } from './remote/answer.ts'
import { backoff, type Call, openConnection } from './remote/connection.ts'
import { checkRemoteOptions, maxPageBytes, type RemoteStoreOptions } from './remote/options.ts'
import { fenceHeader, protocolVersion, reprDigestOf, segmentOf } from './remote/protocol.ts'
import {
  asEntries,
  asInbox,
  asSummaries,
  entriesFlaw,
  inboxFlaw,
  leaseOf,
  pageFlaw,
  summaryFlaw,
} from './remote/validate.ts'
import { parseQuery } from './session-query.ts'

export type { RemoteStoreOptions } from './remote/options.ts'

/** Added to the time limit of a watch request, which the server holds open. */
const holdMs = 30_000

/** Sessions on another machine, behind a `createStoreHandler` or any server with its protocol. */
export function createRemoteStore(options: RemoteStoreOptions): SessionStore {
  const settings = checkRemoteOptions(options)
  const { origin, clock, timeoutMs, retries, maxBytes, pollMs } = settings
  const connection = openConnection(settings)
  const pageBytes = Math.min(maxPageBytes, maxBytes)

  /** The answer about the right session, or the problem that the server reports. */
  async function ask(call: Call, id?: string): Promise<Exclude<Answer, { kind: 'bytes' }>> {
    const answer = await connection.send({ maxBytes: pageBytes, ...call })
    if (answer.kind === 'bytes') throw unexpected('bytes where JSON was expected')
    if (answer.kind === 'json' && id !== undefined && answer.body.session !== id)
      throw unexpected(`something about another session than "${id}"`)
    return answer
  }

  async function request(call: Call, id?: string): Promise<Record<string, unknown> & { readonly size: number }> {
    const answer = await ask(call, id)
    if (answer.kind === 'problem') throw errorOf(answer.problem, { origin, id })
    return { ...answer.body, size: answer.size }
  }

  /** The entries of a range, page by page. The first page tells where a range from the end begins. */
  async function* pagesOf(id: string, range: EntryRange): AsyncGenerator<readonly LogEntry[]> {
    const { before, limit = Number.POSITIVE_INFINITY, fromEnd = false } = range
    let [seen, left, bytesLeft] = [range.after ?? 0, limit, maxBytes]
    let isFromEnd = fromEnd && Number.isFinite(limit)
    while (left > 0) {
      const query = new URLSearchParams({ after: String(seen) })
      if (before !== undefined) query.set('before', String(before))
      if (Number.isFinite(left)) query.set('limit', String(left))
      if (isFromEnd) query.set('fromEnd', 'true')
      const path = `${pathOf(id)}/entries?${query}`
      const answer = await request({ method: 'GET', path, maxBytes: Math.min(bytesLeft, pageBytes) }, id)
      const flaw = pageFlaw(answer.entries, { after: seen, before, limit: left, isFromEnd })
      if (flaw) throw unexpected(flaw)
      const entries = asEntries(answer.entries)
      yield entries
      const { next, size } = answer
      if (next === undefined) return
      seen = entries.at(-1)?.seq ?? seen
      if (entries.length === 0 || next !== seen) throw unexpected(`a page that is followed by ${show(next)}`)
      isFromEnd = false
      left -= entries.length
      bytesLeft = Math.max(0, bytesLeft - size)
    }
  }

  async function hasAll(id: string, entries: readonly LogEntry[], head: number): Promise<boolean> {
    const stored: LogEntry[] = []
    for await (const page of pagesOf(id, { after: head, limit: entries.length })) stored.push(...page)
    return entries.every((entry, i) => entry.id === stored[i]?.id)
  }

  async function append(id: string, entries: readonly LogEntry[], fence: Fence): Promise<void> {
    const { epoch, head, holder, parent, base } = fence
    const body = JSON.stringify({ protocol: protocolVersion, entries, holder, parent, base })
    const key = await sha256Hex(JSON.stringify([id, head, ...entries.map((entry) => entry.id)]))
    const headers = { 'if-match': fenceHeader(epoch, head), 'idempotency-key': key }
    const answer = await ask({ method: 'POST', path: `${pathOf(id)}/entries`, body, headers }, id)
    if (answer.kind === 'json') {
      if (answer.body.head === head + entries.length) return
      throw unexpected(`the head ${show(answer.body.head)} after entry ${head + entries.length} was appended`)
    }
    const { problem } = answer
    // An earlier attempt may have succeeded, and another writer may hold the session since.
    if (problem.code === 'head_moved' && (await hasAll(id, entries, head))) return
    throw errorOf(problem, { origin, id, head })
  }

  async function lease(id: string, { owner, ttlMs, epoch, takeOver, create }: LeaseRequest): Promise<Lease> {
    const path = `${pathOf(id)}/lease`
    const body = JSON.stringify({ protocol: protocolVersion, owner, ttlMs, epoch, takeOver, create })
    // A renewal after the lease has expired is useless, so a dead connection is given up early.
    const limitMs = Math.min(timeoutMs, Math.max(1000, ttlMs / 3))
    const query = new URLSearchParams({ owner, epoch: String(epoch) })
    const call = ((): Call => {
      if (epoch === undefined) return { method: 'POST', path, body }
      // A lease that cannot be released expires, so this is not retried for long.
      if (ttlMs === 0) return { method: 'DELETE', path: `${path}?${query}`, retries: Math.min(1, retries) }
      return { method: 'PUT', path, body, limitMs }
    })()
    const lease = leaseOf(await request(call, id))
    if (typeof lease === 'string') throw unexpected(lease)
    return lease
  }

  async function list(query: SessionQuery = {}): Promise<SessionPage> {
    parseQuery(query) // a wrong option is reported here, not by the server
    const path = `/sessions?${new URLSearchParams({ query: JSON.stringify(query) })}`
    const { sessions, next } = await request({ method: 'GET', path })
    if (!Array.isArray(sessions)) throw unexpected('sessions that are not a list')
    const checked = checkedSummaries(sessions)
    if (next !== undefined && (typeof next !== 'string' || checked.length === 0 || next === query.cursor))
      throw unexpected(`a page of ${checked.length} sessions that is followed by ${show(next)}`)
    return { sessions: checked, ...(next !== undefined && { next }) }
  }

  function checkedSummaries(values: readonly unknown[]): readonly SessionSummary[] {
    for (const value of values) {
      const flaw = summaryFlaw(value)
      if (flaw) throw unexpected(flaw)
    }
    return asSummaries(values)
  }

  async function changesOf(id: string, { after, seen, inboxOnly, once, signal }: Asked): Promise<WatchAnswer> {
    const query = new URLSearchParams(inboxOnly ? { inboxOnly: 'true' } : { after: String(after) })
    if (once) query.set('once', 'true')
    for (const key of seen) query.append('seen', key)
    const path = `${pathOf(id)}/watch?${query}`
    const change = await request({ method: 'GET', path, signal, retries: 0, limitMs: timeoutMs + holdMs }, id)
    const flaw = entriesFlaw(change.entries, after) ?? inboxFlaw(change.inbox)
    if (flaw) throw unexpected(flaw)
    const { waiting } = change
    return {
      entries: inboxOnly ? [] : asEntries(change.entries),
      inbox: asInbox(change.inbox),
      ...(Array.isArray(waiting) && { waiting: new Set(waiting) }),
    }
  }

  async function putBlob(id: string, bytes: Uint8Array): Promise<string> {
    const body = new Uint8Array(bytes)
    const path = `${pathOf(id)}/blobs/${await sha256Hex(body)}`
    const { name } = await request({ method: 'PUT', path, body }, id)
    if (typeof name !== 'string') throw unexpected('a blob without a name')
    return name
  }

  async function getBlob(id: string, name: string): Promise<Uint8Array | undefined> {
    const answer = await connection.send({ method: 'GET', path: `${pathOf(id)}/blobs/${segmentOf(name)}`, maxBytes })
    if (answer.kind === 'problem' && answer.problem.code === 'no_blob') return undefined
    if (answer.kind === 'problem') throw errorOf(answer.problem, { origin, id })
    if (answer.kind === 'json') throw unexpected('JSON where a blob was expected')
    const { bytes, headers } = answer
    if (headers.get('libero-session') !== segmentOf(id)) throw unexpected(`a blob of another session than "${id}"`)
    if (headers.get('repr-digest') !== (await reprDigestOf(bytes))) throw unexpected('a blob that is damaged')
    return bytes
  }

  const unexpected = (what: string): StoreError =>
    new StoreError('corrupt', `${origin} answered with ${what}; nothing of it was used: check the server`)

  return {
    append,
    lease,
    list,

    async read(id, range = {}) {
      const entries: LogEntry[] = []
      for await (const page of pagesOf(id, range)) for (const entry of page) entries.push(entry)
      return entries
    },

    async find(id) {
      const answer = await ask({ method: 'GET', path: pathOf(id) })
      if (answer.kind === 'problem' && answer.problem.code === 'no_session') return undefined
      if (answer.kind === 'problem') throw errorOf(answer.problem, { origin, id })
      const [summary] = checkedSummaries([answer.body.summary])
      if (summary?.id !== id) throw unexpected(`something about another session than "${id}"`)
      return summary
    },

    async delete(id) {
      await request({ method: 'DELETE', path: pathOf(id) }, id)
    },

    async send(id, item) {
      const body = JSON.stringify({ protocol: protocolVersion, item })
      await request({ method: 'POST', path: `${pathOf(id)}/inbox`, body }, id)
    },

    watch(id, { after = 0, signal, inboxOnly = false, once = false }) {
      const poll = (seenSeq: number, seen: readonly string[]) =>
        changesOf(id, { after: seenSeq, seen, inboxOnly, once, signal })
      return watchByLongPolling(poll, { after, signal, once, closing: connection.closing, clock, pollMs })
    },

    blobs: (id) => ({
      put: (bytes) => putBlob(id, bytes),
      get: (name) => getBlob(id, name),
      async names() {
        const { names } = await request({ method: 'GET', path: `${pathOf(id)}/blobs` }, id)
        if (!Array.isArray(names)) throw unexpected('blobs that are not a list')
        return names.map(String)
      },
      async delete(name) {
        await request({ method: 'DELETE', path: `${pathOf(id)}/blobs/${segmentOf(name)}` }, id)
      },
    }),

    async identity() {
      const { identity } = await request({ method: 'GET', path: '/identity' })
      return typeof identity === 'string' ? identity : settings.base
    },

    async close() {
      connection.close()
    },
  }
}

const pathOf = (id: string): string => `/sessions/${segmentOf(id)}`

const show = (value: unknown): string => (typeof value === 'number' ? String(value) : typeof value)

interface Asked {
  readonly after: number
  /** Keys of messages that were shown. */
  readonly seen: readonly string[]
  readonly inboxOnly: boolean
  readonly once: boolean
  readonly signal: AbortSignal
}

/** A change, and the keys of all messages that wait, unless there are many. */
interface WatchAnswer extends StoreChange {
  readonly waiting?: ReadonlySet<string>
}

interface LongPolling {
  readonly after: number
  readonly signal: AbortSignal
  readonly once: boolean
  /** Aborted when the store closes; watchers then get an error. */
  readonly closing: AbortSignal
  readonly clock: Clock
  readonly pollMs: number
}

/** After a request that the server held this long, the next one follows at once. */
const heldMs = 1000
/** At most this many characters of known keys fit into the query; without the others the server answers earlier than needed. */
const maxSeenLength = 4000

/**
 * Watches a session by long polling: asks for entries after `after` and for messages that are not in `seen`; the server holds
 * the request while there is nothing new. Continues after temporary failures, until the signal aborts.
 */
async function* watchByLongPolling(
  ask: (after: number, seen: readonly string[]) => Promise<WatchAnswer>,
  { after, signal, once, closing, clock, pollMs }: LongPolling,
): AsyncGenerator<StoreChange, void, undefined> {
  const shown = new Set<string>()
  let seen = after
  let failures = 0
  while (!signal.aborted) {
    const askedAt = clock.now()
    let change: WatchAnswer | undefined
    try {
      change = await ask(seen, keysForQuery(shown))
      failures = 0
    } catch (error) {
      if (signal.aborted) return
      if (closing.aborted || !isRetryable(error)) throw error
      await sleep(backoff(++failures), { clock, signals: [signal, closing] })
      continue
    }
    if (signal.aborted) return
    const { waiting } = change
    const inbox = change.inbox.filter((item) => !shown.has(item.clientKey))
    for (const item of inbox) shown.add(item.clientKey)
    // A message that has left the inbox never comes back.
    if (waiting) for (const key of [...shown]) if (!waiting.has(key)) shown.delete(key)
    seen = change.entries.at(-1)?.seq ?? seen
    if (change.entries.length > 0 || inbox.length > 0) yield { entries: change.entries, inbox }
    else if (once) return
    else if (clock.now() - askedAt < heldMs) await sleep(pollMs, { clock, signals: [signal, closing] })
  }
}

const isRetryable = (error: unknown): boolean =>
  error instanceof StoreError && (error.code === 'unavailable' || error.code === 'busy')

/** The newest keys, as many as fit into an address. */
function keysForQuery(keys: ReadonlySet<string>): string[] {
  const some: string[] = []
  let length = 0
  for (const key of [...keys].reverse()) {
    if (!key.isWellFormed()) continue // it cannot be encoded
    length += encodeURIComponent(key).length + '&seen='.length
    if (length > maxSeenLength) break
    some.push(key)
  }
  return some
}

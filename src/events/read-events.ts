import { SessionNotFoundError, StoreError } from '../core/errors.ts'
import type { LogEntry } from '../core/log.ts'
import type { SessionStore, SessionSummary } from '../core/store.ts'
import { orAborted } from '../core/waiting.ts'
import { endAtOnce } from './end-at-once.ts'
import { EventQueue, type SessionEvent } from './event-queue.ts'
import { joinRun } from './live-feed.ts'
import { followRuns } from './live-runs.ts'
import { type JoinRun, RunsElsewhere, runAt } from './runs-elsewhere.ts'

export interface ReadEventsOptions {
  /** The number of the last log entry that the reader has. Default 0: all are replayed. */
  readonly after?: number
  /** Ends the reading. */
  readonly signal?: AbortSignal
  /** Joins runs of other processes, such as `joinLocalRuns` of `libero/rpc`. Default: only their entries come. */
  readonly join?: JoinRun
  /** The messages that wait in the inbox of the store come too, as events `inbox`. Default false. */
  readonly inbox?: boolean
}

/**
 * The events of a session: first the log entries after a number, then each new one as it is written, by any process. While
 * a run of this process writes the session, what it streams comes too. A slow reader never slows the run down. Throws a
 * SessionNotFoundError if there is no such session, or when it is deleted.
 */
export function readEvents(
  store: SessionStore,
  sessionId: string,
  { after = 0, signal, join, inbox = false }: ReadEventsOptions = {},
): AsyncGenerator<SessionEvent, void, undefined> {
  if (!Number.isSafeInteger(after) || after < 0)
    throw new TypeError(`readEvents: after must be the number of a log entry, 0 for none, got ${String(after)}`)
  const stop = new AbortController()
  return endAtOnce(read({ store, sessionId, after, join, inbox, stop, until: signal }), () => stop.abort())
}

interface Reading {
  readonly store: SessionStore
  readonly sessionId: string
  readonly after: number
  readonly join: JoinRun | undefined
  readonly inbox: boolean
  /** Aborted when the reading ends. */
  readonly stop: AbortController
  readonly until: AbortSignal | undefined
}

async function* read(reading: Reading): AsyncGenerator<SessionEvent, void, undefined> {
  const { store, sessionId, after, stop, until } = reading
  const end = (): void => stop.abort()
  until?.addEventListener('abort', end)
  if (until?.aborted) end()
  try {
    const found = await orAborted(store.find(sessionId), stop.signal)
    if (!found) throw new SessionNotFoundError(sessionId)
    if (after > found.head) throw beyondHead(found, after)
    yield* follow(reading, found.isHeld === true)
  } catch (error) {
    if (error !== stop.signal.reason) throw error
  } finally {
    until?.removeEventListener('abort', end)
    end()
  }
}

/** The reader has entries that the session does not have: the store was restored from a copy, or the session is another one. */
export function beyondHead({ id, head }: Pick<SessionSummary, 'id' | 'head'>, after: number): RangeError {
  return new RangeError(
    `Session "${id}" ends with entry ${head}, so no event can follow entry ${after}: this is not what was read before; ` +
      'read the session from the beginning',
  )
}

async function* follow(
  { store, sessionId, after, join, inbox: withInbox, stop }: Reading,
  isHeld: boolean,
): AsyncGenerator<SessionEvent, void, undefined> {
  const { signal } = stop
  const queue = new EventQueue(after, () => void readNow().catch(() => {})) // the watch reports what fails
  const elsewhere = join && new RunsElsewhere(queue, join)
  let isReading = false
  let unsubscribe = (): void => {}

  const readPage = (): Promise<readonly LogEntry[]> =>
    orAborted(store.read(sessionId, { after: queue.last, limit: pageSize }), signal)

  /** A run of this process brings the entry of a message before the store, whose inbox was read earlier. */
  const accepted = new Set<string | undefined>()

  function take(entries: readonly LogEntry[]): void {
    queue.add(entries)
    if (withInbox) for (const entry of entries) if ('clientKey' in entry) accepted.add(entry.clientKey)
    elsewhere?.note(entries)
  }

  /** What a run has streamed for newer entries is shown as soon as they are read, not with the next look of the watch. */
  async function readNow(): Promise<void> {
    if (isReading) return
    isReading = true
    const page = await readPage().finally(() => {
      isReading = false
    })
    take(page)
  }

  /** Brings the entries of the store, no faster than they are read. */
  async function pump(): Promise<void> {
    if (after > 0 && isHeld) elsewhere?.begin(await orAborted(runAt(store, sessionId, after), signal))
    for (let isMore = true; isMore; ) {
      const page = await readPage()
      isMore = page.length === pageSize
      take(page)
      await queue.drained()
    }
    elsewhere?.start()
    for await (const { entries, inbox } of store.watch(sessionId, { after: queue.last, signal })) {
      take(entries)
      if (withInbox) queue.addInbox(inbox.filter(({ clientKey }) => !accepted.has(clientKey)))
      await queue.drained()
    }
    if (!signal.aborted)
      throw new StoreError('unavailable', `The store was closed while session "${sessionId}" was read`)
  }

  const end = (): void => queue.end()
  signal.addEventListener('abort', end)
  const unfollow = followRuns(store, sessionId, (run) => {
    elsewhere?.pause(run !== undefined)
    unsubscribe()
    unsubscribe = run?.log.subscribe((entry) => void (queue.mayTake(entry) && take([entry]))) ?? (() => {})
    queue.join(run && ((emit) => joinRun(run, emit)))
  })
  const pumping = pump().catch((error: unknown) => queue.fail(error))
  try {
    for (;;) {
      const event = await queue.next()
      if (!event) return
      yield event
    }
  } finally {
    signal.removeEventListener('abort', end)
    unfollow()
    unsubscribe()
    end()
    stop.abort()
    await pumping // so that no watcher is left when the reading has ended
  }
}

const pageSize = 500

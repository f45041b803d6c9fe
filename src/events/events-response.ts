import { SessionNotFoundError } from '../core/errors.ts'
import type { LogEntry } from '../core/log.ts'
import type { SessionStore } from '../core/store.ts'
import type { SessionEvent } from './event-queue.ts'
import { beyondHead, type ReadEventsOptions, readEvents } from './read-events.ts'
import type { JoinRun } from './runs-elsewhere.ts'
import { type SseFrame, sseResponse } from './sse-response.ts'

export interface EventsResponseOptions {
  /** Default true: what a run streams comes too. */
  readonly deltas?: boolean
  /** Only entries of these types. Default: all. */
  readonly types?: readonly LogEntry['type'][]
  /** How often a `beat` is sent. Default 15,000. */
  readonly beatMs?: number
  /** Joins runs of other processes, as for `readEvents`. */
  readonly join?: JoinRun
}

/**
 * Answers a GET request with the events of a session as server-sent events: `entry` with the number of the log entry as
 * its id, so that a client which connects again with `Last-Event-ID` (or `?after=`) misses none, and `delta` for what a run
 * streams. Every 15 seconds an event `beat` tells the number of the last entry.
 */
export async function eventsResponse(
  store: SessionStore,
  sessionId: string,
  request: Request,
  { beatMs = 15_000, join, ...filter }: EventsResponseOptions = {},
): Promise<Response> {
  if (!(beatMs > 0)) throw new TypeError(`eventsResponse: beatMs must be more than 0, got ${String(beatMs)}`)
  if (request.method !== 'GET')
    return problem(405, `The events of a session are read with GET, not ${request.method}`, { allow: 'GET' })
  const { after, wrong } = lastSeen(request)
  if (wrong !== undefined) return problem(400, wrong)
  const found = await store.find(sessionId)
  if (!found) return problem(404, new SessionNotFoundError(sessionId).message)
  if (after > found.head) return problem(409, beyondHead(found, after).message)
  let { head } = found
  const onEntry = (seq: number): void => {
    head = Math.max(head, seq)
  }
  const reading = { after, signal: request.signal, ...(join && { join }), ...filter, onEntry }
  return sseResponse(eventFrames(store, sessionId, reading), { beat: () => ({ head }), beatMs })
}

interface FrameOptions extends ReadEventsOptions, Pick<EventsResponseOptions, 'deltas' | 'types'> {
  /** Called with the number of each entry, also of those that the client does not want. */
  readonly onEntry?: (seq: number) => void
}

/** The events of a session as server-sent events. `return()` ends it at once, also while it waits for an event. */
export function eventFrames(
  store: SessionStore,
  sessionId: string,
  { deltas = true, types, onEntry, ...options }: FrameOptions,
): AsyncGenerator<SseFrame, void, undefined> {
  const events = readEvents(store, sessionId, options)
  const frames: AsyncGenerator<SseFrame, void, undefined> = {
    async next() {
      for (;;) {
        const { done, value: event } = await events.next()
        if (done) return { done, value: undefined }
        if (event.durable) onEntry?.(event.seq)
        const isWanted = event.durable ? !types || types.includes(event.entry.type) : deltas || event.type === 'inbox'
        if (isWanted) return { done: false, value: frameOf(event) }
      }
    },
    async return() {
      await events.return()
      return { done: true, value: undefined }
    },
    async throw(error) {
      await events.return()
      throw error
    },
    [Symbol.asyncIterator]: () => frames,
    [Symbol.asyncDispose]: () => events[Symbol.asyncDispose](),
  }
  return frames
}

function frameOf(event: SessionEvent): SseFrame {
  if (event.durable) return { id: event.seq, event: 'entry', data: event }
  return { event: event.type === 'gap' || event.type === 'inbox' ? event.type : 'delta', data: event }
}

/** The number of the last entry that the client has. A browser that connects again sends it in the header. */
export function lastSeen({ headers, url }: Request): { readonly after: number; readonly wrong?: string } {
  const given = headers.get('last-event-id') ?? new URL(url).searchParams.get('after') ?? '0'
  if (/^\d{1,15}$/.test(given)) return { after: Number(given) }
  const shown = JSON.stringify(given.slice(0, 40))
  return { after: 0, wrong: `Last-Event-ID and ?after= must be the number of a log entry, got ${shown}` }
}

const problem = (status: number, error: string, headers: Record<string, string> = {}): Response =>
  Response.json({ error }, { status, headers })

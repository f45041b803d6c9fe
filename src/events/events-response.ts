import { messageOf, SessionNotFoundError } from '../core/errors.ts'
import type { SessionStore } from '../core/store.ts'
import type { SessionEvent } from './event-queue.ts'
import { beyondHead, readEvents } from './read-events.ts'
import type { JoinRun } from './runs-elsewhere.ts'

export interface EventsResponseOptions {
  /** How often a `beat` is sent. Default 15,000. */
  readonly beatMs?: number
  /** Joins runs of other processes, as for `readEvents`. */
  readonly join?: JoinRun
}

/**
 * Answers a GET request with the events of a session as server-sent events. The `id` of an event is the number of its log
 * entry, so a client that connects again with `Last-Event-ID` (or `?after=`) misses none. Every 15 seconds an event `beat`
 * tells the number of the last entry in the store.
 */
export async function eventsResponse(
  store: SessionStore,
  sessionId: string,
  request: Request,
  { beatMs = 15_000, join }: EventsResponseOptions = {},
): Promise<Response> {
  if (!(beatMs > 0)) throw new TypeError(`eventsResponse: beatMs must be more than 0, got ${String(beatMs)}`)
  if (request.method !== 'GET')
    return problem(405, `The events of a session are read with GET, not ${request.method}`, { allow: 'GET' })
  const { after, wrong } = lastSeen(request)
  if (wrong !== undefined) return problem(400, wrong)
  const found = await store.find(sessionId)
  if (!found) return problem(404, new SessionNotFoundError(sessionId).message)
  if (after > found.head) return problem(409, beyondHead(found, after).message)
  const body = bodyOf({ store, sessionId, request, after, beatMs, join })
  return new Response(body, {
    headers: { 'content-type': 'text/event-stream', 'cache-control': 'no-store', 'x-accel-buffering': 'no' },
  })
}

interface Streaming {
  readonly store: SessionStore
  readonly sessionId: string
  readonly request: Request
  readonly after: number
  readonly beatMs: number
  readonly join: JoinRun | undefined
}

function bodyOf({ store, sessionId, request, after, beatMs, join }: Streaming): ReadableStream<Uint8Array> {
  const events = readEvents(store, sessionId, { after, signal: request.signal, ...(join && { join }) })
  let timer: ReturnType<typeof setInterval> | undefined
  return new ReadableStream<Uint8Array>({
    start(controller) {
      timer = setInterval(async () => {
        const found = await store.find(sessionId).catch(() => undefined) // what is wrong, the reading reports
        // A client that reads nothing needs no beat.
        if (timer && found && (controller.desiredSize ?? 0) > 0)
          controller.enqueue(frame('event: beat', { head: found.head }))
      }, beatMs)
    },
    async pull(controller) {
      try {
        const { done, value } = await events.next()
        if (!done) return controller.enqueue(frameOf(value))
      } catch (error) {
        // The stream has begun, so its status can no longer tell.
        controller.enqueue(frame('event: failed', { error: messageOf(error) }))
      }
      end()
      controller.close()
    },
    async cancel() {
      end()
      await events.return()
    },
  })

  function end(): void {
    clearInterval(timer)
    timer = undefined
  }
}

function frameOf(event: SessionEvent): Uint8Array {
  if (event.durable) return frame(`id: ${event.seq}`, event)
  return frame(`event: ${event.type === 'gap' ? 'gap' : 'provisional'}`, event)
}

const encoder = new TextEncoder()

/** JSON has no line breaks, so an event is one line of data. */
const frame = (field: string, data: object): Uint8Array => encoder.encode(`${field}\ndata: ${JSON.stringify(data)}\n\n`)

/** The number of the last entry that the client has. A browser that connects again sends it in the header. */
function lastSeen({ headers, url }: Request): { readonly after: number; readonly wrong?: string } {
  const given = headers.get('last-event-id') ?? new URL(url).searchParams.get('after') ?? '0'
  if (/^\d{1,15}$/.test(given)) return { after: Number(given) }
  const shown = JSON.stringify(given.slice(0, 40))
  return { after: 0, wrong: `Last-Event-ID and ?after= must be the number of a log entry, got ${shown}` }
}

const problem = (status: number, error: string, headers: Record<string, string> = {}): Response =>
  Response.json({ error }, { status, headers })

import type { LogEntry } from '../../core/log.ts'
import type { SessionSummary } from '../../core/store.ts'
import { endAtOnce } from '../../events/end-at-once.ts'
import { durable } from '../../events/events.ts'
import { eventFrames, lastSeen } from '../../events/events-response.ts'
import { type SseFrame, sseResponse } from '../../events/sse-response.ts'
import { descendantsOf } from '../../sessions/family.ts'
import type { DraftChange } from '../draft-changes.ts'
import { badRequest, closingDown, Problem, problemOf } from '../problem.ts'
import { type Call, json, type Route } from '../route.ts'
import { eventPageSchema, eventSchemaRef } from '../schemas.ts'
import type { ServerContext } from '../server-context.ts'
import type { SessionNames } from '../session-names.ts'

/** Following: entries by number, from the log and then live, with what runs stream between them. */
export const eventRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: '/v1/sessions/{id}/events',
    scope: 'read',
    summary: 'The events of a session as server-sent events, or with Accept: application/json one page of entries',
    query: {
      after: { type: 'integer', description: 'The last entry that the client has. A header Last-Event-ID counts more' },
      deltas: { type: 'boolean', description: 'Default true: what a run streams comes too' },
      types: { type: 'string', description: 'Only entries of these types, with commas between them' },
      children: { type: 'boolean', description: 'The events of sub-agents too, as events "child"' },
      inbox: { type: 'boolean', description: 'Messages that wait in the inbox of the store too, as events "inbox"' },
      limit: { type: 'integer', minimum: 1, maximum: 1000, description: 'Of a page; default 500' },
    },
    headers: { 'Last-Event-ID': 'The last entry that the client has, as a browser sends it when it comes back' },
    answers: {
      200: {
        description: 'entry (with id), delta, gap, inbox, child, beat with head; for JSON `events` and `head`',
        type: 'text/event-stream',
        schema: eventSchemaRef,
        others: { 'application/json': eventPageSchema },
      },
      409: { description: 'The session does not have that many entries: read it from the beginning' },
    },
    handle: sessionEvents,
  },
  {
    method: 'GET',
    path: '/v1/events',
    scope: 'read',
    summary: 'Changes over all sessions as server-sent events: the summary of each session that changes, and drafts',
    answers: {
      200: { description: 'session; draft with session, version and text; beat', type: 'text/event-stream' },
    },
    handle: allEvents,
  },
]

async function sessionEvents({ params, query, request, names, server }: Call): Promise<Response> {
  const { store, options } = server
  const { id, head: found } = await names.find(store, params.id!)
  const { after, wrong } = lastSeen(request)
  if (wrong !== undefined) throw badRequest(wrong)
  if (after > found)
    throw new Problem(
      409,
      'beyond_head',
      `This session ends with entry ${found}, so none can follow ${after}; read it from the beginning`,
      {
        head: found,
      },
    )
  const types = query.types === undefined ? undefined : (String(query.types).split(',') as LogEntry['type'][])
  if (
    !request.headers.get('accept')?.includes('text/event-stream') &&
    request.headers.get('accept')?.includes('application/json')
  ) {
    const entries = await store.read(id, { after, limit: Number(query.limit ?? 500) })
    const events = entries.filter(({ type }) => !types || types.includes(type)).map(durable)
    return json({ events, head: found, next: entries.at(-1)?.seq ?? after })
  }
  let head = found
  const reading = {
    after,
    ...(options.join && { join: options.join }),
    ...(types && { types }),
    deltas: query.deltas !== false,
    inbox: query.inbox === true,
    onEntry: (seq: number) => {
      head = Math.max(head, seq)
    },
  }
  const frames = eventFrames(store, id, reading)
  return streamed(query.children ? withChildren(frames, { server, id, names, reading }) : frames, {
    ...{ server, tenant: names.tenant },
    beat: () => ({ head }),
  })
}

interface StreamOptions {
  readonly server: Call['server']
  readonly tenant: string | undefined
  readonly beat: () => object
  readonly onEnd?: () => void
}

/** A response that counts as a stream of the tenant, and ends when the client goes or the server closes. */
export function streamed(
  frames: AsyncGenerator<SseFrame, void, undefined>,
  { server: { rates, openStreams, closing, options }, tenant, beat, onEnd }: StreamOptions,
): Response {
  if (closing.aborted) throw closingDown()
  const release = rates.openStream(tenant ?? '')
  const end = (): void => void frames.return()
  openStreams.add(end)
  return sseResponse(frames, {
    beat,
    // What a store says may be about the machine.
    describe(error) {
      const problem = problemOf(error)
      if (!problem) options.onError?.(error instanceof Error ? error : new Error(String(error)))
      return problem?.message ?? 'The server failed; its log says why'
    },
    onEnd() {
      openStreams.delete(end)
      release()
      onEnd?.()
    },
  })
}

const longestDraft = 10_000

async function allEvents({ names, server }: Call): Promise<Response> {
  const { store, changes, drafts } = server
  const waiting: (SessionSummary | DraftChange)[] = []
  let wake = (): void => {}
  let isOver = false
  const add = (change: SessionSummary | DraftChange): void => {
    waiting.push(change)
    if (waiting.length > 1000) waiting.shift() // a client that reads nothing lists again when it does
    wake()
  }
  const unfollowAll = [await changes.follow(add), drafts.follow(add)]
  const unfollow = (): void => {
    for (const stop of unfollowAll) stop()
  }

  async function frameOf(change: SessionSummary | DraftChange): Promise<SseFrame | undefined> {
    if ('head' in change)
      return (await names.owns(store, change)) ? { event: 'session', data: names.summary(change) } : undefined
    const { id, text, version } = change
    const summary = await store.find(id)
    if (!summary || !(await names.owns(store, summary))) return undefined
    // A long one is read from its own route.
    const data = { session: names.shown(id), version, ...(text.length <= longestDraft && { text }) }
    return { event: 'draft', data }
  }

  async function* changed(): AsyncGenerator<SseFrame, void, undefined> {
    while (!isOver) {
      const change = waiting.shift()
      if (!change) await new Promise<void>((resolve) => void (wake = resolve))
      const frame = change && (await frameOf(change))
      if (frame) yield frame
    }
  }

  const frames = endAtOnce(changed(), () => {
    isOver = true
    wake()
  })
  try {
    return streamed(frames, { server, tenant: names.tenant, beat: () => ({}), onEnd: unfollow })
  } catch (error) {
    unfollow()
    throw error
  }
}

interface ChildrenOptions {
  readonly server: ServerContext
  readonly id: string
  readonly names: SessionNames
  readonly reading: Parameters<typeof eventFrames>[2]
}

/** How often new sub-agents are looked for. */
const lookMs = 500

/** The frames of a session, and those of its sub-agents as `child`, from their beginning. They have no id: a client that comes back gets them anew. */
function withChildren(
  own: AsyncGenerator<SseFrame, void, undefined>,
  { server: { store, clock }, id, names, reading }: ChildrenOptions,
): AsyncGenerator<SseFrame, void, undefined> {
  const ready: SseFrame[] = []
  const stop = new AbortController()
  const { signal } = stop
  /** By id: how many levels below the session. Parents come before their children. */
  const followed = new Map<string, number>()
  let wake = (): void => {}
  let isOver = false
  let failure: { readonly error: unknown } | undefined
  /** Resolves when the reader has taken what is ready. */
  let taken: Promise<void> = Promise.resolve()
  let setTaken = (): void => {}
  let cancelTimer: (() => void) | undefined

  async function pump(frames: AsyncIterable<SseFrame>, wrap: (frame: SseFrame) => SseFrame): Promise<void> {
    for await (const frame of frames) {
      if (ready.length >= 100) await taken
      if (ready.length === 0) taken = new Promise((resolve) => void (setTaken = resolve))
      ready.push(wrap(frame))
      wake()
    }
  }

  async function look(): Promise<void> {
    for (const child of await descendantsOf(store, id).catch(() => [])) {
      if (followed.has(child.id) || signal.aborted) continue
      const depth = (followed.get(child.parent ?? '') ?? 0) + 1
      followed.set(child.id, depth)
      const { types, deltas, join } = reading
      const filter = { ...(types && { types }), ...(deltas !== undefined && { deltas }), ...(join && { join }) }
      const session = names.shown(child.id)
      const wrap = ({ id: seq, event, data }: SseFrame): SseFrame => ({
        event: 'child',
        data: { session, depth, event, ...(seq !== undefined && { seq }), data },
      })
      void pump(eventFrames(store, child.id, { ...filter, signal }), wrap).catch(() => {}) // a deleted one ends
    }
    if (!signal.aborted) cancelTimer = clock.timer(lookMs, () => void look())
  }

  const end = (): void => {
    isOver = true
    wake()
  }

  async function* merged(): AsyncGenerator<SseFrame, void, undefined> {
    void pump(own, (frame) => frame).then(end, (error: unknown) => {
      failure = { error }
      end()
    })
    void look()
    try {
      while (!signal.aborted) {
        const frame = ready.shift()
        if (ready.length === 0) setTaken()
        if (frame) yield frame
        else if (failure) throw failure.error
        else if (isOver) return
        else await new Promise<void>((resolve) => void (wake = resolve))
      }
    } finally {
      stop.abort()
      cancelTimer?.()
      setTaken()
      await own.return()
    }
  }

  return endAtOnce(merged(), () => {
    stop.abort()
    wake()
  })
}

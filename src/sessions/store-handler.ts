import { show } from '../core/behavior.ts'
import { type Clock, systemClock } from '../core/clock.ts'
import type { SessionStore } from '../core/store.ts'
import { type AccessOptions, createAccessControl } from './remote/access.ts'
import { type HandlerContext, operations } from './remote/operations.ts'
import { dropBody } from './remote/protocol.ts'
import { Refusal, refusalOf, respond, routeOf } from './remote/route.ts'

export { toNodeListener } from './remote/node-listener.ts'

export interface StoreHandlerOptions extends AccessOptions {
  /** The store to serve. */
  readonly store: SessionStore
  /** The maximum size of a request. Default 24 MB, so that any accepted entry fits into one page of an answer. */
  readonly maxBytes?: number
  /** The path before the routes, such as `/store`. Default: empty. */
  readonly basePath?: string
  /** How long `watch` waits for a change. Default 25,000, which is also the maximum that clients expect. */
  readonly holdMs?: number
  readonly clock?: Clock
  /** Called with failures that the client receives only as `internal`. */
  readonly onError?: (error: unknown) => void
}

/**
 * A session store over HTTP, for `createRemoteStore` or any other client, on every runtime that has `Request` and
 * `Response`. Give `token` (every client that knows it may do everything), `authorize` (decides for each request), or both.
 *
 * ## The protocol, version 2
 *
 * Bodies are JSON objects in UTF-8 with `protocol: 2`; unknown fields are ignored. An id or a name is one percent-encoded
 * segment of the path; where it is empty, `.` or `..`, or begins with `~`, a `~` goes in front; a text with half a surrogate
 * pair is sent as JSON after `~!`. An answer about a session repeats its id as `session`. Each request carries
 * `Authorization: Bearer <token>`.
 *
 * | request | body or query | answer 200 |
 * |---|---|---|
 * | `GET /identity` | | `identity`: text or null |
 * | `GET /sessions` | `?query=<a SessionQuery as JSON>` | `sessions`: summaries that the client may see; `next`: the cursor of the next page if there is one |
 * | `GET /sessions/{id}` | | `summary` |
 * | `DELETE /sessions/{id}` | | |
 * | `GET /sessions/{id}/entries` | `?after=<seq>&before=<seq>&limit=<n>&fromEnd=true`, each optional | `entries`; `next`: the last seq of this page if more of the range follow |
 * | `POST /sessions/{id}/entries` | `If-Match: "<epoch>/<head>"`, `Idempotency-Key`; `entries`, `holder?`, `parent?`, `base?` | `head`: after these entries |
 * | `POST /sessions/{id}/lease` | `owner`, `ttlMs`, `takeOver?`, `create?` | `epoch`, `head`, `inbox`, `died?: { processId, sessions }` |
 * | `PUT /sessions/{id}/lease` | `owner`, `ttlMs`, `epoch` | the same |
 * | `DELETE /sessions/{id}/lease` | `?owner=…&epoch=…` | the same |
 * | `POST /sessions/{id}/inbox` | `item: { clientKey, mode, content, … }` | |
 * | `GET /sessions/{id}/watch` | `?after=<seq>&inboxOnly=true&once=true&seen=<clientKey>&seen=…` | `entries` (none with `inboxOnly`), `inbox` without what was seen, `waiting?`: the keys of all messages that wait; waits up to 25 s while there is nothing to tell, but not with `once` |
 * | `GET /sessions/{id}/blobs` | | `names` |
 * | `PUT /sessions/{id}/blobs/{SHA-256 in hex}` | the bytes, `application/octet-stream` | `name`: to get it by |
 * | `GET /sessions/{id}/blobs/{name}` | | the bytes, `application/octet-stream`, with `Repr-Digest: sha-256=:…:` and `Libero-Session: {id}` |
 * | `DELETE /sessions/{id}/blobs/{name}` | | |
 *
 * A lease is renewed by the client and ends `ttlMs` after its last renewal, also if the server renews its own leases in
 * another way. A page of `fromEnd` begins where the last `limit` entries begin; the rest follows with `after`, without it.
 * Entries are dense: the first of a page or an append has the number after `after` or `head`. An append is all or nothing,
 * and one that happened already, by the ids of its entries, succeeds again; a server that cannot tell so goes by the
 * `Idempotency-Key`. An inbox that is too big for one answer is given in part, the rest by `watch`.
 *
 * Any other status comes with `error: { code, message, … }`:
 *
 * | status | code | meaning |
 * |---|---|---|
 * | 400, 415, 428 | `bad_request` | malformed; do not repeat |
 * | 401, 403 | `denied` | no valid token; not allowed |
 * | 404 | `no_route`, `no_session`, `no_blob` | `no_session` also for a lease without `create`, a message, a blob and a watch after an entry that is not there |
 * | 405 | `no_method` | see `Allow` |
 * | 409 | `head_moved` | with `head`, `owner?`: read what is there; your entries may be among it |
 * | 412 | `lease_lost` | with `owner?`: another writer has the session |
 * | 413 | `too_large` | |
 * | 423 | `session_busy` | with `owner`, `since` |
 * | 500 | `internal` | |
 * | 500, 502, 503, 507 | `store_full`, `store_busy`, … | a `StoreError` of that code |
 */
export function createStoreHandler(options: StoreHandlerOptions): (request: Request) => Promise<Response> {
  const { store, maxBytes = 24 * 1024 * 1024, basePath = '', holdMs = 25_000, clock = systemClock, onError } = options
  if (typeof store?.append !== 'function' || typeof store.read !== 'function')
    throw new TypeError(`createStoreHandler needs a SessionStore such as createMemoryStore(), got ${show(store)}`)
  for (const [name, value] of Object.entries({ maxBytes, holdMs }))
    if (!Number.isSafeInteger(value) || value < 1)
      throw new TypeError(`createStoreHandler: ${name} must be a whole number from 1 on, got ${show(value)}`)
  const access = createAccessControl(options)
  const base = `/${basePath}`.replace(/\/+/g, '/').replace(/\/$/, '')

  return async (request) => {
    try {
      await access.authenticate(request)
      const route = routeOf(request, base)
      const context: HandlerContext = { store, access, request, route, maxBytes, holdMs, clock }
      const { method, sessionId } = route
      if (!(await access.isAllowed(request, { method, ...(sessionId !== undefined && { sessionId }) })))
        throw notAllowed()
      return await operations[method](context, sessionId ?? '')
    } catch (error) {
      const { status, problem, headers } = refusalOf(error)
      if (problem.code === 'internal' && !request.signal.aborted) void report(onError, error)
      return respond({ error: problem }, status, headers)
    } finally {
      dropBody(request)
    }
  }
}

async function report(listener: StoreHandlerOptions['onError'], error: unknown): Promise<void> {
  try {
    await listener?.(error)
  } catch {} // a failing listener does not change the answer
}

const notAllowed = (): Refusal => new Refusal(403, { code: 'denied', message: 'You may not do this here' })

import type { Clock } from '../../core/clock.ts'
import { LeaseLostError, messageOf, SessionNotFoundError } from '../../core/errors.ts'
import { isRecord } from '../../core/is-record.ts'
import type { InboxItem } from '../../core/log.ts'
import type { Fence, SessionPage, SessionQuery, SessionStore, SessionSummary } from '../../core/store.ts'
import { sha256Hex } from '../bytes.ts'
import { maxLimit, nextPage, parseQuery } from '../session-query.ts'
import type { AccessControl, StoreMethod } from './access.ts'
import { maxPageLength, pageOf, readPage, watchOnce } from './pages.ts'
import { dropBody, parseFenceHeader, protocolVersion, readCapped, reprDigestOf, segmentOf } from './protocol.ts'
import { badRequest, Refusal, type Route, respond } from './route.ts'
import { asEntries, entriesFlaw, isCount, isFiniteNumber, itemFlaw } from './validate.ts'

export interface HandlerContext {
  readonly store: SessionStore
  readonly access: AccessControl
  readonly request: Request
  readonly route: Route
  readonly maxBytes: number
  readonly holdMs: number
  readonly clock: Clock
}

/** A watcher that is further behind reads in pages. */
const maxWatchedEntries = 500
/** If there are more keys of waiting messages, the answer has none. */
const maxWaitingKeys = 1000

/** The operations of the handler, called after the request is authorized. */
export const operations: Readonly<Record<StoreMethod, (context: HandlerContext, id: string) => Promise<Response>>> = {
  async identity({ store }) {
    return respond({ identity: (await store.identity?.()) ?? null })
  },

  async list({ store, access, request, route }) {
    const query = queryOf(route)
    const { sessions, next } = await visiblePage(store, query, (sessionId) =>
      access.isAllowed(request, { method: 'list', sessionId }),
    )
    return respond({ sessions, ...(next !== undefined && { next }) })
  },

  async find({ store }, id) {
    const summary = await store.find(id)
    if (!summary) throw new SessionNotFoundError(id)
    return respond({ session: id, summary })
  },

  async delete({ store }, id) {
    await store.delete(id)
    return respond({ session: id })
  },

  async read({ store, route }, id) {
    const limit = countIn(route, 'limit')
    const before = countIn(route, 'before')
    const range = {
      after: countIn(route, 'after') ?? 0,
      ...(before !== undefined && { before }),
      ...(limit !== undefined && { limit, fromEnd: isSet(route, 'fromEnd') }),
    }
    const { text, next } = limit === 0 ? { text: '[]' } : await readPage(store, id, range)
    return respond(`"session":${JSON.stringify(id)},"entries":${text}${next === undefined ? '' : `,"next":${next}`}`)
  },

  async append(context, id) {
    const { store, access, request, maxBytes } = context
    const fence = parseFenceHeader(request.headers.get('if-match') ?? '')
    if (!fence) throw new Refusal(428, { code: 'bad_request', message: 'An append needs If-Match: "<epoch>/<head>"' })
    const { entries, holder, parent, base } = await objectOf(request, maxBytes)
    const flaw = entriesFlaw(entries, fence.head)
    if (flaw) throw badRequest(flaw)
    for (const [sessionId, method] of [
      [holder, 'append'],
      [parent, 'append'],
      [base, 'read'],
    ] as const) {
      if (sessionId === undefined) continue
      if (typeof sessionId !== 'string') throw badRequest('holder, parent and base must be ids of sessions')
      if (!(await access.isAllowed(request, { method, sessionId })))
        throw new Refusal(403, {
          code: 'denied',
          message: `You may not ${method === 'read' ? 'fork' : 'write under'} this session`,
        })
    }
    const family = {
      ...(holder !== undefined && { holder }),
      ...(parent !== undefined && { parent }),
      ...(base !== undefined && { base }),
    }
    const checked = asEntries(entries)
    try {
      await store.append(id, checked, { ...fence, ...(family as Pick<Fence, 'holder' | 'parent' | 'base'>) })
    } catch (error) {
      if (error instanceof LeaseLostError) throw await movedOrLost(store, id, fence.head, error)
      throw base !== undefined && error instanceof RangeError ? badRequest(error.message) : error
    }
    return respond({ session: id, head: fence.head + checked.length })
  },

  async lease({ store, request, route, maxBytes }, id) {
    const isRelease = request.method === 'DELETE'
    const { owner, ttlMs, epoch, takeOver, create } = isRelease
      ? {
          owner: route.query.get('owner'),
          ttlMs: 0,
          epoch: countIn(route, 'epoch') ?? 0,
          takeOver: undefined,
          create: undefined,
        }
      : await objectOf(request, maxBytes)
    if (typeof owner !== 'string') throw badRequest('A lease needs an owner')
    if (!isFiniteNumber(ttlMs) || ttlMs < 0) throw badRequest('A lease needs ttlMs, its time in milliseconds')
    if (request.method === 'POST' ? epoch !== undefined : !isCount(epoch))
      throw badRequest('A lease is taken with POST and no epoch, and renewed with PUT and its epoch')
    // A client that gave up may have asked again already, and this request would take the lease from that one.
    if (!isRelease && request.signal.aborted) throw badRequest('The request was aborted')
    const asked = {
      owner,
      ttlMs,
      ...(isCount(epoch) && { epoch }),
      ...(takeOver === true && { takeOver }),
      ...(create === true && { create }),
    }
    // Without `ofProcess`: the client renews it, and its lease ends with the client.
    const { epoch: held, head, inbox, died } = await store.lease(id, asked)
    const fields = JSON.stringify({ session: id, epoch: held, head, ...(died && { died }) }).slice(1, -1)
    return respond(`${fields},"inbox":${pageOf(inbox).text}`)
  },

  async send({ store, request, maxBytes }, id) {
    const { item } = await objectOf(request, maxBytes)
    const flaw = itemFlaw(item)
    if (flaw) throw badRequest(flaw)
    await store.send(id, item as InboxItem)
    return respond({ session: id })
  },

  async watch({ store, request, route, holdMs, clock }, id) {
    const after = countIn(route, 'after') ?? 0
    const inboxOnly = isSet(route, 'inboxOnly')
    const once = isSet(route, 'once')
    const session = `"session":${JSON.stringify(id)}`
    // A client that is far behind catches up in pages; the messages are still there afterwards.
    if (!inboxOnly && ((await store.find(id))?.head ?? 0) - after > maxWatchedEntries)
      return respond(`${session},"entries":${(await readPage(store, id, { after })).text},"inbox":[]`)
    const seen = new Set(route.query.getAll('seen'))
    const watching = { after, seen, inboxOnly, once, holdMs, signal: request.signal, clock }
    const change = await watchOnce(store, id, watching)
    const [entries, inbox] = [pageOf(change.entries), pageOf(change.inbox)]
    // Both together may exceed the client's limit. The inbox is still there when the client asks for the next entries.
    const isBoth = entries.count === 0 || entries.text.length + inbox.text.length <= maxPageLength
    const waiting = change.waiting.length > maxWaitingKeys ? '' : `,"waiting":${JSON.stringify(change.waiting)}`
    return respond(`${session},"entries":${entries.text},"inbox":${isBoth ? inbox.text : '[]'}${waiting}`)
  },

  async putBlob({ store, request, route, maxBytes }, id) {
    const bytes = await bytesOf(request, maxBytes)
    if ((await sha256Hex(bytes)) !== route.name)
      throw badRequest('The bytes are not those that the path names by their SHA-256; send them again')
    return respond({ session: id, name: await store.blobs(id).put(bytes) })
  },

  async listBlobs({ store }, id) {
    return respond({ session: id, names: await store.blobs(id).names() })
  },

  async deleteBlob({ store, route }, id) {
    await store.blobs(id).delete(route.name)
    return respond({ session: id })
  },

  async getBlob({ store, route }, id) {
    const blob = await store.blobs(id).get(route.name)
    if (!blob) throw new Refusal(404, { code: 'no_blob', message: 'The session has no such blob' })
    const bytes = new Uint8Array(blob)
    return new Response(bytes, {
      headers: {
        'content-type': 'application/octet-stream',
        'cache-control': 'no-store',
        'repr-digest': await reprDigestOf(bytes),
        'libero-session': segmentOf(id),
      },
    })
  },
}

function queryOf({ query }: Route): SessionQuery {
  const text = query.get('query') ?? '{}'
  const value = parsed(new TextEncoder().encode(text))
  if (!isRecord(value)) throw badRequest('The query of a list must be a JSON object')
  try {
    parseQuery(value)
  } catch (error) {
    throw badRequest(messageOf(error))
  }
  return value
}

/** A whole number of the query; undefined if it is absent. */
function countIn({ query }: Route, name: string): number | undefined {
  const text = query.get(name)
  if (text === null) return undefined
  const count = text === '' ? Number.NaN : Number(text)
  if (!isCount(count)) throw badRequest(`${name} must be a whole number`)
  return count
}

function isSet({ query }: Route, name: string): boolean {
  const text = query.get(name) ?? 'false'
  if (text !== 'true' && text !== 'false') throw badRequest(`${name} must be true or false`)
  return text === 'true'
}

/**
 * A page of the sessions that the client may see. Its cursor is the place of one of them, so that it tells nothing about the
 * others.
 */
async function visiblePage(
  store: SessionStore,
  query: SessionQuery,
  isVisible: (id: string) => Promise<boolean>,
): Promise<SessionPage> {
  const parsedQuery = parseQuery(query)
  const visible: SessionSummary[] = []
  let [cursor, limit] = [query.cursor, Math.min(parsedQuery.limit + 1, maxLimit)]
  do {
    const page = await store.list({ ...query, limit, ...(cursor !== undefined && { cursor }) })
    for (const session of page.sessions)
      if (visible.length <= parsedQuery.limit && (await isVisible(session.id))) visible.push(session)
    cursor = page.next
    limit = maxLimit // for a client that may see few of many
  } while (cursor !== undefined && visible.length <= parsedQuery.limit)
  return nextPage(visible, parsedQuery)
}

/** Stores throw the same error for both, but a client that lost an answer must know whether its entries may be stored. */
async function movedOrLost(store: SessionStore, id: string, expected: number, error: LeaseLostError): Promise<Error> {
  const before = Math.max(0, expected - 1)
  const stored = await store.read(id, { after: before })
  if (before + stored.length === expected) return error
  const { owner, message } = error
  const head = stored.at(-1)?.seq
  const details = { ...(owner !== undefined && { owner }), ...(head !== undefined && { head }) }
  return new Refusal(409, { code: 'head_moved', message, ...details })
}

/** The body of a request; throws if it is too large. */
async function bytesOf(request: Request, maxBytes: number): Promise<Uint8Array<ArrayBuffer>> {
  const announced = Number(request.headers.get('content-length') ?? 0)
  const bytes = announced > maxBytes ? undefined : await readCapped(request.body, maxBytes)
  if (bytes) return bytes
  dropBody(request)
  throw new Refusal(413, {
    code: 'too_large',
    message: `A request may have ${maxBytes} bytes; that is the server's maxBytes`,
  })
}

/** The body of a request as a JSON object. */
async function objectOf(request: Request, maxBytes: number): Promise<Record<string, unknown>> {
  const type = (request.headers.get('content-type') ?? '').split(';')[0]!.trim().toLowerCase()
  if (type !== 'application/json') {
    dropBody(request)
    throw new Refusal(415, { code: 'bad_request', message: 'The body must be application/json' })
  }
  const bytes = await bytesOf(request, maxBytes)
  const body = parsed(bytes)
  if (!isRecord(body)) throw badRequest('The body is not a JSON object in UTF-8')
  if (body.protocol !== protocolVersion)
    throw badRequest(
      `This server speaks version ${protocolVersion} of the protocol; update it, or say "protocol": ${protocolVersion}`,
    )
  return body
}

function parsed(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch {
    return undefined
  }
}

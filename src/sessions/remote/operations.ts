import type { Clock } from '../../core/clock.ts'
import { LeaseLostError, messageOf } from '../../core/errors.ts'
import { isRecord } from '../../core/is-record.ts'
import type { InboxItem } from '../../core/log.ts'
import type { Fence, SessionQuery, SessionStore, SessionSummary, StoreChange } from '../../core/store.ts'
import { sha256Hex } from '../bytes.ts'
import { eachSession, nextPage, parseQuery } from '../session-query.ts'
import type { AccessControl, StoreMethod } from './access.ts'
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

/** The operations of the handler, called after the request is authorized. */
export const operations: Readonly<Record<StoreMethod, (context: HandlerContext, id: string) => Promise<Response>>> = {
  async identity({ store }) {
    return respond({ identity: (await store.identity?.()) ?? null })
  },

  async list({ store, access, request, route }) {
    const query = queryOf(route)
    const { limit } = parseQuery(query)
    const visible: SessionSummary[] = []
    for await (const summary of eachSession(store, query)) {
      if (await access.isAllowed(request, { method: 'list', sessionId: summary.id })) visible.push(summary)
      if (visible.length > limit) break
    }
    const { sessions, next } = nextPage(visible, parseQuery(query))
    return respond({ sessions, ...(next !== undefined && { next }) })
  },

  async delete({ store }, id) {
    await store.delete(id)
    return respond({ session: id })
  },

  async read({ store, route }, id) {
    const entries = await store.read(id, { after: countOf(route, 'after') })
    const { text, count, isLast } = pageOf(entries)
    const next = isLast ? '' : `,"next":${entries[count - 1]?.seq}`
    return respond(`"session":${JSON.stringify(id)},"entries":${text}${next}`)
  },

  async append(context, id) {
    const { store, access, request, maxBytes } = context
    const fence = parseFenceHeader(request.headers.get('if-match') ?? '')
    if (!fence) throw new Refusal(428, { code: 'bad_request', message: 'An append needs If-Match: "<epoch>/<head>"' })
    const { entries, holder, parent, base } = await objectOf(request, maxBytes)
    const flaw = entriesFlaw(entries, fence.head)
    if (flaw) throw badRequest(flaw)
    for (const sessionId of [holder, parent, base]) {
      if (sessionId === undefined) continue
      if (typeof sessionId !== 'string') throw badRequest('holder, parent and base must be ids of sessions')
      if (!(await access.isAllowed(request, { method: 'append', sessionId })))
        throw new Refusal(403, { code: 'denied', message: 'You may not write under this session' })
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
      throw error instanceof LeaseLostError ? await movedOrLost(store, id, fence.head, error) : error
    }
    return respond({ session: id, head: fence.head + checked.length })
  },

  async lease({ store, request, route, maxBytes }, id) {
    const isRelease = request.method === 'DELETE'
    const { owner, ttlMs, epoch, takeOver, create } = isRelease
      ? {
          owner: route.query.get('owner'),
          ttlMs: 0,
          epoch: countOf(route, 'epoch'),
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
    const lease = await store.lease(id, asked)
    const { epoch: held, head, inbox } = lease
    return respond(`"session":${JSON.stringify(id)},"epoch":${held},"head":${head},"inbox":${pageOf(inbox).text}`)
  },

  async send({ store, request, maxBytes }, id) {
    const { item } = await objectOf(request, maxBytes)
    const flaw = itemFlaw(item)
    if (flaw) throw badRequest(flaw)
    await store.send(id, item as InboxItem)
    return respond({ session: id })
  },

  async watch({ store, request, route, holdMs, clock }, id) {
    const after = countOf(route, 'after')
    const seen = new Set(route.query.getAll('seen'))
    const change = await watchOnce(store, id, { after, seen, holdMs, signal: request.signal, clock })
    const [entries, inbox] = [pageOf(change?.entries ?? []), pageOf(change?.inbox ?? [])]
    // Both together may exceed the client's limit. The inbox is still there when the client asks for the next entries.
    const isBoth = entries.count === 0 || entries.text.length + inbox.text.length <= maxPageLength
    return respond(`"session":${JSON.stringify(id)},"entries":${entries.text},"inbox":${isBoth ? inbox.text : '[]'}`)
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

function countOf({ query }: Route, name: string): number {
  const count = Number(query.get(name) ?? 0)
  if (!isCount(count)) throw badRequest(`${name} must be a whole number`)
  return count
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

/** Characters, so at most three times as many bytes. */
const maxPageLength = 8 * 1024 * 1024
const maxPageItems = 10_000

interface Page {
  /** JSON, a list. */
  readonly text: string
  readonly count: number
  readonly isLast: boolean
}

/** As many items from the beginning of a list as fit into one answer, but at least one. */
function pageOf(items: readonly unknown[]): Page {
  const parts: string[] = []
  let length = 0
  for (const item of items) {
    const part = JSON.stringify(item)
    if (parts.length > 0 && (parts.length >= maxPageItems || length + part.length > maxPageLength)) break
    parts.push(part)
    length += part.length
  }
  return { text: `[${parts.join(',')}]`, count: parts.length, isLast: parts.length === items.length }
}

interface WatchOnce {
  readonly after: number
  /** Keys of messages that the client knows. */
  readonly seen: ReadonlySet<string>
  readonly holdMs: number
  /** Aborted when the client has gone. */
  readonly signal: AbortSignal
  readonly clock: Clock
}

/** The next change of a session; undefined if there is none within `holdMs`. */
async function watchOnce(
  store: SessionStore,
  id: string,
  { after, seen, holdMs, signal, clock }: WatchOnce,
): Promise<StoreChange | undefined> {
  const ended = new AbortController()
  const end = (): void => ended.abort()
  if (signal.aborted) return undefined
  signal.addEventListener('abort', end)
  const cancelTimer = clock.timer(holdMs, end)
  try {
    for await (const { entries, inbox } of store.watch(id, { after, signal: ended.signal })) {
      const unseen = inbox.filter((item) => !seen.has(item.clientKey))
      if (entries.length > 0 || unseen.length > 0) return { entries, inbox: unseen }
    }
    return undefined
  } finally {
    cancelTimer()
    signal.removeEventListener('abort', end)
    end()
  }
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

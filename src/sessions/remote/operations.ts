import type { Clock } from '../../core/clock.ts'
import { LeaseLostError } from '../../core/errors.ts'
import type { InboxItem } from '../../core/log.ts'
import type { Fence, SessionStore } from '../../core/store.ts'
import type { Gate, StoreMethod } from './access.ts'
import { reprDigestOf, sha256Hex } from './bytes.ts'
import { mostLength, pageOf } from './page.ts'
import { parseFenceHeader, segmentOf } from './protocol.ts'
import { badRequest, Refusal, respond } from './refusal.ts'
import { bytesOf, objectOf } from './request-body.ts'
import type { Route } from './route.ts'
import { asEntries, entriesFlaw, isCount, isFiniteNumber, itemFlaw } from './shape.ts'
import { watchOnce } from './watch-once.ts'

export interface HandlerContext {
  readonly store: SessionStore
  readonly gate: Gate
  readonly request: Request
  readonly route: Route
  readonly maxBytes: number
  readonly holdMs: number
  readonly clock: Clock
}

/** What the handler does for each route, once it is known that it may. */
export const operations: Readonly<Record<StoreMethod, (context: HandlerContext, id: string) => Promise<Response>>> = {
  async identity({ store }) {
    return respond({ identity: (await store.identity?.()) ?? null })
  },

  async list({ store, gate, request, route }) {
    const after = route.query.get('after')
    const all = (await store.list()).filter(({ id }) => after === null || id > after)
    all.sort((a, b) => (a.id < b.id ? -1 : 1))
    const mine = []
    for (const info of all) if (await gate.allows(request, { method: 'list', sessionId: info.id })) mine.push(info)
    const { text, count, isLast } = pageOf(mine)
    return respond(`"sessions":${text}${isLast ? '' : `,"next":${JSON.stringify(mine[count - 1]?.id)}`}`)
  },

  async delete({ store }, id) {
    await store.delete(id)
    return respond({ session: id })
  },

  async read({ store, route }, id) {
    const entries = await store.read(id, countOf(route, 'after'))
    const { text, count, isLast } = pageOf(entries)
    const next = isLast ? '' : `,"next":${entries[count - 1]?.seq}`
    return respond(`"session":${JSON.stringify(id)},"entries":${text}${next}`)
  },

  async append(context, id) {
    const { store, gate, request, maxBytes } = context
    const fence = parseFenceHeader(request.headers.get('if-match') ?? '')
    if (!fence) throw new Refusal(428, { code: 'bad_request', message: 'An append needs If-Match: "<epoch>/<head>"' })
    const { entries, holder, parent } = await objectOf(request, maxBytes)
    const flaw = entriesFlaw(entries, fence.head)
    if (flaw) throw badRequest(flaw)
    for (const sessionId of [holder, parent]) {
      if (sessionId === undefined) continue
      if (typeof sessionId !== 'string') throw badRequest('holder and parent must be ids of sessions')
      if (!(await gate.allows(request, { method: 'append', sessionId })))
        throw new Refusal(403, { code: 'denied', message: 'You may not write under this session' })
    }
    const family = { ...(holder !== undefined && { holder }), ...(parent !== undefined && { parent }) }
    const given = asEntries(entries)
    try {
      await store.append(id, given, { ...fence, ...(family as Pick<Fence, 'holder' | 'parent'>) })
    } catch (error) {
      throw error instanceof LeaseLostError ? await movedOrLost(store, id, fence.head, error) : error
    }
    return respond({ session: id, head: fence.head + given.length })
  },

  async lease({ store, request, route, maxBytes }, id) {
    const isGivenBack = request.method === 'DELETE'
    const { owner, ttlMs, epoch, takeOver } = isGivenBack
      ? { owner: route.query.get('owner'), ttlMs: 0, epoch: countOf(route, 'epoch'), takeOver: undefined }
      : await objectOf(request, maxBytes)
    if (typeof owner !== 'string') throw badRequest('A lease needs an owner')
    if (!isFiniteNumber(ttlMs) || ttlMs < 0) throw badRequest('A lease needs ttlMs, its time in milliseconds')
    if (request.method === 'POST' ? epoch !== undefined : !isCount(epoch))
      throw badRequest('A lease is taken with POST and no epoch, and renewed with PUT and its epoch')
    // Who does not wait any more may have asked again already, and this one would take the session from that one.
    if (!isGivenBack && request.signal.aborted) throw badRequest('The request was called off')
    const asked = { owner, ttlMs, ...(isCount(epoch) && { epoch }), ...(takeOver === true && { takeOver }) }
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
    // Together they may be more than a client takes. What waits is still there when it asks for what comes after these.
    const isBoth = entries.count === 0 || entries.text.length + inbox.text.length <= mostLength
    return respond(`"session":${JSON.stringify(id)},"entries":${entries.text},"inbox":${isBoth ? inbox.text : '[]'}`)
  },

  async putBlob({ store, request, route, maxBytes }, id) {
    const bytes = await bytesOf(request, maxBytes)
    if ((await sha256Hex(bytes)) !== route.name)
      throw badRequest('The bytes are not those that the path names by their SHA-256; send them again')
    return respond({ session: id, name: await store.blobs(id).put(bytes) })
  },

  async getBlob({ store, route }, id) {
    const found = await store.blobs(id).get(route.name)
    if (!found) throw new Refusal(404, { code: 'no_blob', message: 'The session has no such blob' })
    const bytes = new Uint8Array(found)
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

function countOf({ query }: Route, name: string): number {
  const count = Number(query.get(name) ?? 0)
  if (!isCount(count)) throw badRequest(`${name} must be a whole number`)
  return count
}

/** Stores do not tell the two apart, but a client that lost an answer must: its entries may be there. */
async function movedOrLost(store: SessionStore, id: string, expected: number, error: LeaseLostError): Promise<Error> {
  const before = Math.max(0, expected - 1)
  const there = await store.read(id, before)
  if (before + there.length === expected) return error
  const { owner, message } = error
  const head = there.at(-1)?.seq
  const known = { ...(owner !== undefined && { owner }), ...(head !== undefined && { head }) }
  return new Refusal(409, { code: 'head_moved', message, ...known })
}

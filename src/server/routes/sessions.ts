import { SessionBusyError } from '../../core/errors.ts'
import type { SessionQuery, SessionStatus, SessionSummary } from '../../core/store.ts'
import { importSession } from '../../sessions/export.ts'
import { createSession, loadSession } from '../../sessions/session.ts'
import { kindFor } from '../kind-for.ts'
import { badRequest, checked, noSession, Problem } from '../problem.ts'
import { readBytes } from '../read-request.ts'
import { type Call, done, json, type Route } from '../route.ts'
import { detailsProperties, exampleSession, messageContent, sessionSchema, statuses } from '../schemas.ts'
import { isInternalId, tenantOf } from '../session-names.ts'
import { pendingIn } from './pending.ts'
import { checkMessage, isStored, keyOf, sendMessage } from './send-message.ts'

/** Sessions: list, make, read, change, copy, delete. */
export const sessionRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: '/v1/sessions',
    scope: 'read',
    summary: 'One page of sessions, the last changed first',
    query: {
      state: { type: 'array', items: { type: 'string', enum: statuses } },
      tag: { type: 'array', items: { type: 'string' } },
      kind: { type: 'string' },
      folder: { type: 'string' },
      parent: { type: 'string', description: 'Only sub-agents of this session. Without it: no sub-agents' },
      attention: { type: 'boolean', description: 'Only sessions that a process should continue' },
      limit: { type: 'integer', minimum: 1, maximum: 1000 },
      cursor: { type: 'string', description: 'The `next` of the page before' },
    },
    answers: {
      200: {
        description: 'A page; `next` is the cursor of the next one',
        schema: {
          type: 'object',
          required: ['sessions'],
          properties: { sessions: { type: 'array', items: sessionSchema }, next: { type: 'string' } },
        },
        example: { sessions: [exampleSession] },
      },
    },
    handle: listSessions,
  },
  {
    method: 'POST',
    path: '/v1/sessions',
    scope: 'send',
    summary: 'Makes a session, with a first message if one is given',
    body: {
      type: 'object',
      additionalProperties: false,
      properties: {
        id: { type: 'string', minLength: 1, maxLength: 200 },
        kind: { type: 'string', minLength: 1, maxLength: 200 },
        folder: { type: 'string', minLength: 1, maxLength: 4096, description: 'Where its tools work' },
        ...detailsProperties,
        message: messageContent,
      },
    },
    headers: { 'Idempotency-Key': 'Of the message, as for messages' },
    answers: {
      201: { description: 'The session', schema: sessionSchema, example: exampleSession },
      409: { description: 'There is a session with this id' },
      422: { description: 'No agent can work in this folder, or no worker has this kind' },
    },
    handle: makeSession,
  },
  {
    method: 'GET',
    path: '/v1/sessions/{id}',
    scope: 'read',
    summary: 'A session: its state, usage, and the calls that wait for a person. The ETag is its head',
    headers: { 'If-None-Match': 'The ETag of what the client has' },
    answers: {
      200: {
        description: 'The session',
        schema: { allOf: [sessionSchema], properties: { pending: { type: 'array' } } },
        example: { ...exampleSession, pending: [] },
      },
      304: { description: 'Nothing has changed since the head in If-None-Match' },
    },
    handle: showSession,
  },
  {
    method: 'PATCH',
    path: '/v1/sessions/{id}',
    scope: 'send',
    summary: 'Changes the title and tags',
    body: { type: 'object', additionalProperties: false, minProperties: 1, properties: detailsProperties },
    answers: { 200: { description: 'The session', schema: sessionSchema, example: exampleSession } },
    async handle({ params, body, names, server: { store, work } }) {
      const { id } = await names.find(store, params.id!)
      await checked((work.session(id) ?? (await loadSession(store, id))).setDetails(body))
      return json(names.summary((await store.find(id))!))
    },
  },
  {
    method: 'DELETE',
    path: '/v1/sessions/{id}',
    scope: 'admin',
    summary: 'Deletes a session, its sub-agents, messages and blobs',
    answers: { 204: { description: 'It is deleted' }, 423: { description: 'A process works on it; stop it first' } },
    async handle({ params, names, server: { store, work, drafts } }) {
      const { id, isHeld } = await names.find(store, params.id!)
      if (isHeld || work.isWorking(id))
        throw new Problem(423, 'session_busy', 'A run of this session is under way; stop it before you delete it')
      await store.delete(id)
      await drafts.forget(id)
      return done()
    },
  },
  {
    method: 'POST',
    path: '/v1/sessions/{id}/fork',
    scope: 'send',
    summary: 'A new session with the same entries, up to one of them',
    body: {
      type: 'object',
      additionalProperties: false,
      properties: {
        at: { type: 'integer', minimum: 1, description: 'The last entry that both have. Default: all' },
        id: { type: 'string', minLength: 1, maxLength: 200 },
      },
    },
    answers: { 201: { description: 'The new session', schema: sessionSchema, example: exampleSession } },
    async handle({ params, body, names, server: { store } }) {
      const { id, head } = await names.find(store, params.id!)
      const at = Number(body.at ?? head)
      if (at > head) throw badRequest(`This session has ${head} entries, so none can be copied up to ${at}`)
      const copyId = names.stored(String(body.id ?? crypto.randomUUID()))
      if (await store.find(copyId)) throw exists(names.shown(copyId))
      const tenant = await tenantOf(store, id)
      const details = tenant === undefined ? {} : { details: { tenant } }
      const copy = await checked((await loadSession(store, id)).fork(at, { id: copyId, ...details }))
      return json(names.summary((await store.find(copy.id))!), 201)
    },
  },
  {
    method: 'POST',
    path: '/v1/sessions/{id}/rewind',
    scope: 'send',
    summary: 'Turns after an entry are no longer part of the conversation; the log keeps them',
    body: {
      type: 'object',
      additionalProperties: false,
      required: ['to'],
      properties: { to: { type: 'integer', minimum: 0 } },
    },
    answers: { 200: { description: 'The session', schema: sessionSchema, example: exampleSession } },
    async handle({ params, body, names, server: { store } }) {
      const { id, head } = await names.find(store, params.id!)
      const to = Number(body.to)
      if (to > head) throw badRequest(`This session has ${head} entries, so it cannot go back to ${to}`)
      await checked((await loadSession(store, id)).rewind(to))
      return json(names.summary((await store.find(id))!))
    },
  },
  {
    method: 'POST',
    path: '/v1/sessions/{id}/label',
    scope: 'send',
    summary: 'Labels the last entry, for people and for fork',
    body: {
      type: 'object',
      additionalProperties: false,
      required: ['text'],
      properties: { text: { type: 'string', minLength: 1, maxLength: 1000 } },
    },
    answers: {
      200: {
        description: 'The number of the labelled entry',
        schema: { type: 'object', required: ['seq'], properties: { seq: { type: 'integer' } } },
        example: { seq: 12 },
      },
    },
    async handle({ params, body, names, server: { store, work } }) {
      const { id } = await names.find(store, params.id!)
      const session = work.session(id) ?? (await loadSession(store, id))
      return json({ seq: await checked(session.label(String(body.text))) })
    },
  },
  {
    method: 'POST',
    path: '/v1/sessions/{id}/unpark',
    scope: 'admin',
    summary: 'Allows runs again in a session that was parked after repeated crashes',
    answers: { 204: { description: 'It is no longer parked' } },
    async handle({ params, names, server: { store } }) {
      const { id } = await names.find(store, params.id!)
      await (await loadSession(store, id)).unpark()
      return done()
    },
  },
  {
    method: 'POST',
    path: '/v1/sessions/import',
    scope: 'send',
    summary: 'Makes a session from an export',
    query: { id: { type: 'string', description: 'The id here. Default: a new one' } },
    rawBody: 'application/jsonl',
    answers: {
      201: { description: 'The session', schema: sessionSchema, example: exampleSession },
      422: { description: 'The text is no export' },
    },
    handle: importOne,
  },
]

async function listSessions({ query, names, server: { store } }: Call): Promise<Response> {
  const { state, tag, kind, folder, parent, attention, limit, cursor } = query as ListParameters
  const request: SessionQuery = {
    parent: parent === undefined ? null : (await names.find(store, parent)).id,
    ...(parent === undefined && names.tenant !== undefined && { tenant: names.tenant, prefix: names.prefix }),
    ...(state !== undefined && { status: statusesIn(state) }),
    ...(tag !== undefined && { tags: tag }),
    ...(kind !== undefined && { kind }),
    ...(folder !== undefined && { folder }),
    ...(attention === true && { attention: true as const }),
    ...(limit !== undefined && { limit }),
    ...(cursor !== undefined && { cursor }),
  }
  const page = await checked(store.list(request))
  return json({
    sessions: page.sessions.filter(({ id }) => !isInternalId(id)).map((one) => names.summary(one)),
    ...(page.next !== undefined && { next: page.next }),
  })
}

interface ListParameters extends Pick<SessionQuery, 'kind' | 'folder' | 'limit' | 'cursor'> {
  readonly state?: readonly string[]
  readonly tag?: readonly string[]
  readonly parent?: string
  readonly attention?: boolean
}

function statusesIn(given: readonly string[]): readonly SessionStatus[] {
  const wrong = given.find((one) => !(statuses as readonly string[]).includes(one))
  if (wrong !== undefined)
    throw badRequest(`?state= must be one of ${statuses.join(', ')}, got ${JSON.stringify(wrong.slice(0, 60))}`)
  return given as readonly SessionStatus[]
}

async function makeSession(call: Call): Promise<Response> {
  const { body, names, server } = call
  const { store } = server
  const { id: name = crypto.randomUUID(), message, ...details } = body
  const id = names.stored(String(name))
  if (names.tenant !== undefined && details.folder !== undefined)
    throw badRequest('Folders are of the machine of the server, which tenants cannot choose; leave folder out')
  const kind = kindFor(server.options.fleet, details.kind)
  const known = await store.find(id)
  if (known && message !== undefined && (await isRepeated(call, known))) {
    await sendMessage(call, id, { content: message, mode: 'prompt' })
    return made(call, String(name), id)
  }
  if (known) throw exists(String(name))
  if (message !== undefined) checkMessage(call, id, message)
  const tenant = names.tenant === undefined ? {} : { tenant: names.tenant }
  const { folderFor } = server.options
  const folder = folderFor && details.folder !== undefined && { folder: await folderFor(String(details.folder)) }
  const session = await checked(createSession({ store, id, ...details, ...kind, ...folder, ...tenant }))
  await session.save().catch((error: unknown) => {
    throw error instanceof SessionBusyError ? exists(String(name)) : error
  })
  if (message !== undefined) await sendMessage(call, id, { content: message, mode: 'prompt' })
  return made(call, String(name), id)
}

/** Whether a client makes a session again because it did not see the answer: with the key of the first message. */
async function isRepeated({ request, names, server: { store } }: Call, known: SessionSummary): Promise<boolean> {
  if (!request.headers.has('idempotency-key') || !(await names.owns(store, known))) return false
  return known.turns === 0 || isStored(store, known.id, keyOf(request))
}

async function made({ names, server }: Call, name: string, id: string): Promise<Response> {
  const summary = await server.store.find(id)
  if (!summary) throw noSession(name)
  return json(names.summary(summary), 201, {
    location: `${server.options.basePath ?? ''}/v1/sessions/${encodeURIComponent(name)}`,
  })
}

const exists = (name: string): Problem =>
  new Problem(409, 'session_exists', `There is a session ${JSON.stringify(name)} already; choose another id`)

async function showSession({ params, request, names, server: { store } }: Call): Promise<Response> {
  const summary = await names.find(store, params.id!)
  const etag = `"${summary.head}"`
  // What a living process does, and what waits in the inbox, changes without an entry.
  const isQuiet = summary.status === 'idle' && summary.attention === undefined && !summary.isHeld
  if (isQuiet && request.headers.get('if-none-match') === etag)
    return new Response(null, { status: 304, headers: { etag } })
  const pending = summary.status === 'waiting' ? await pendingIn(store, summary, names) : []
  return json({ ...names.summary(summary), pending }, 200, { etag })
}

async function importOne({ request, query, names, server: { store, limits } }: Call): Promise<Response> {
  const name = String(query.id ?? crypto.randomUUID())
  const id = names.stored(name)
  if (await store.find(id)) throw exists(name)
  const text = new TextDecoder().decode(await readBytes(request, limits.bodyBytes))
  await importSession(store, text, {
    id,
    ...(names.tenant !== undefined && { tenant: names.tenant }),
  }).catch((error: unknown) => {
    throw new Problem(422, 'no_export', error instanceof Error ? error.message.slice(0, 500) : 'The text is no export')
  })
  return json(names.summary((await store.find(id))!), 201)
}

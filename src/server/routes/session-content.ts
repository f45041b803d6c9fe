import type { SessionStore } from '../../core/store.ts'
import { exportSession } from '../../sessions/export.ts'
import { Problem } from '../problem.ts'
import { type Call, json, type Route } from '../route.ts'
import { eventSchemaRef } from '../schemas.ts'

/** What is in a session: its entries, an index of them, an export, blobs, and the draft of its next message. */
export const sessionContentRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: '/v1/sessions/{id}/entries',
    scope: 'read',
    summary: 'Log entries by their numbers',
    query: {
      after: { type: 'integer' },
      before: { type: 'integer' },
      limit: { type: 'integer', minimum: 1, maximum: 1000 },
      fromEnd: { type: 'boolean', description: 'With limit: the last ones' },
    },
    answers: {
      200: {
        description: 'The entries in ascending order; `head` is the number of the last one in the session',
        schema: {
          type: 'object',
          required: ['entries', 'head'],
          properties: { entries: { type: 'array', items: eventSchemaRef }, head: { type: 'integer' } },
        },
        example: { entries: [], head: 0 },
      },
    },
    async handle({ params, query, names, server: { store } }) {
      const { id, head } = await names.find(store, params.id!)
      const entries = await store.read(id, { limit: 500, ...query })
      return json({ entries, head })
    },
  },
  {
    method: 'GET',
    path: '/v1/sessions/{id}/index',
    scope: 'read',
    summary: 'All entries as [number, type, size], so that a page can show a list and load what is in sight',
    query: { after: { type: 'integer' } },
    answers: {
      200: {
        description: 'Turns have the type turn:user or turn:assistant; sizes are characters of JSON',
        schema: {
          type: 'object',
          required: ['rows', 'head'],
          properties: { rows: { type: 'array', items: { type: 'array' } }, head: { type: 'integer' } },
        },
        example: { rows: [[1, 'run_started', 120]], head: 1 },
      },
    },
    async handle({ params, query, names, server: { store } }) {
      const { id, head } = await names.find(store, params.id!)
      return json({ rows: await indexOf(store, id, Number(query.after ?? 0), head), head })
    },
  },
  {
    method: 'GET',
    path: '/v1/sessions/{id}/export',
    scope: 'read',
    summary: 'The session with its sub-agents as JSON Lines, for import',
    answers: { 200: { description: 'One JSON object a line', type: 'application/jsonl' } },
    handle: exportOne,
  },
  {
    method: 'GET',
    path: '/v1/sessions/{id}/blobs/{name}',
    scope: 'read',
    summary: 'The bytes of a large output, by the name that an entry has',
    answers: { 200: { description: 'The bytes', type: 'application/octet-stream' } },
    async handle({ params, names, server: { store } }) {
      const { id } = await names.find(store, params.id!)
      const bytes = await store.blobs(id).get(params.name!)
      if (!bytes) throw new Problem(404, 'no_blob', 'This session has no blob of that name')
      return new Response(bytes as Uint8Array<ArrayBuffer>, {
        headers: {
          'content-type': 'application/octet-stream',
          'cache-control': 'no-store',
          // What tools wrote must never run as a page of this server.
          'content-security-policy': "default-src 'none'; sandbox",
          'x-content-type-options': 'nosniff',
          'content-disposition': 'attachment',
        },
      })
    },
  },
  {
    method: 'GET',
    path: '/v1/sessions/{id}/draft',
    scope: 'read',
    summary: 'The text that a client has not sent yet',
    answers: {
      200: {
        description: 'An empty text if there is none',
        schema: {
          type: 'object',
          required: ['text', 'version'],
          properties: { text: { type: 'string' }, version: { type: 'integer' } },
        },
        example: { text: 'And then', version: 1_790_000_000_000 },
      },
    },
    async handle({ params, names, server: { store, drafts } }) {
      const { id } = await names.find(store, params.id!)
      return json(await drafts.load(id))
    },
  },
  {
    method: 'PUT',
    path: '/v1/sessions/{id}/draft',
    scope: 'send',
    summary: 'Keeps a text that is not sent yet; an empty one removes it. Of two writes the last counts',
    body: {
      type: 'object',
      additionalProperties: false,
      required: ['text'],
      properties: { text: { type: 'string', maxLength: 1_000_000 } },
    },
    answers: {
      200: {
        description: 'It is kept; a later write has a higher version. `GET /v1/events` tells it',
        schema: { type: 'object', required: ['version'], properties: { version: { type: 'integer' } } },
        example: { version: 1_790_000_000_000 },
      },
    },
    async handle({ params, body, names, server: { store, drafts } }) {
      const { id } = await names.find(store, params.id!)
      return json({ version: await drafts.save(id, String(body.text)) })
    },
  },
]

async function indexOf(
  store: SessionStore,
  id: string,
  after: number,
  head: number,
): Promise<(readonly [number, string, number])[]> {
  const rows: (readonly [number, string, number])[] = []
  for (let last = after; last < head; ) {
    const page = await store.read(id, { after: last, before: head + 1, limit: 500 })
    if (page.length === 0) break
    for (const entry of page) {
      const type = entry.type === 'turn' ? `turn:${entry.turn.role}` : entry.type
      rows.push([entry.seq, type, JSON.stringify(entry).length])
    }
    last = page.at(-1)!.seq
  }
  return rows
}

async function exportOne({ params, names, server: { store } }: Call): Promise<Response> {
  const { id } = await names.find(store, params.id!)
  const lines = exportSession(store, id)
  const encoder = new TextEncoder()
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done: isDone, value } = await lines.next()
      if (isDone) controller.close()
      else controller.enqueue(encoder.encode(value))
    },
    cancel: async () => void (await lines.return()),
  })
  return new Response(body, { headers: { 'content-type': 'application/jsonl', 'cache-control': 'no-store' } })
}

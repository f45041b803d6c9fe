import { isRecord } from '../../core/is-record.ts'
import type { LogEntry } from '../../core/log.ts'
import type { SessionQuery, SessionSummary } from '../../core/store.ts'
import { oneLine } from '../../core/text.ts'
import type { JsonSchema } from '../../core/tool.ts'
import { toolResultToText } from '../../core/tool-output.ts'
import type { SessionContentBlock } from '../../core/turn.ts'
import { pageSize } from '../../sessions/history.ts'
import { badRequest, checked } from '../problem.ts'
import { type Call, json, type Route } from '../route.ts'
import { isInternalId } from '../session-names.ts'

const q = { type: 'string', description: 'A phrase of at most 200 characters; upper and lower case are the same' }
const limit = { type: 'integer', minimum: 1, maximum: 200, description: 'About how many; default 50' }
const hit = {
  seq: { type: 'integer', description: 'The entry; absent for a title' },
  where: { type: 'string', enum: ['title', 'user', 'assistant', 'thinking', 'call', 'result', 'label'] },
  excerpt: { type: 'string', description: 'One line around the place' },
}

/** The answer to a search: a page of hits, with the schemas of a hit and of `next`. */
const page = (item: JsonSchema, next: JsonSchema, example: object): Route['answers'] => ({
  200: {
    description: 'A page, which may be empty; `next` is there until all was looked at',
    schema: { type: 'object', required: ['hits'], properties: { hits: { type: 'array', items: item }, next } },
    example: { hits: [example] },
  },
})

/** Looking for text in sessions. A request does a bounded amount of work, and its cursor goes on from there. */
export const searchRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: '/v1/search',
    scope: 'read',
    summary:
      'Looks for a phrase in all sessions: first in titles, then in what was said, the last changed session first',
    query: { q, limit, cursor: { type: 'string', description: 'The `next` of the page before' } },
    answers: page(
      {
        type: 'object',
        required: ['session', 'updatedAt', 'where', 'excerpt'],
        properties: {
          session: { type: 'string' },
          title: { type: 'string' },
          updatedAt: { type: 'integer' },
          ...hit,
        },
      },
      { type: 'string' },
      { session: 'fix-login', title: 'Login', updatedAt: 1_790_000_000_000, where: 'title', excerpt: 'Login' },
    ),
    handle: searchAll,
  },
  {
    method: 'GET',
    path: '/v1/sessions/{id}/find',
    scope: 'read',
    summary: 'Looks for a phrase in one session, from an entry on',
    query: { q, limit, after: { type: 'integer', description: 'The `next` of the page before' } },
    answers: page(
      { type: 'object', required: ['seq', 'where', 'excerpt'], properties: hit },
      { type: 'integer' },
      { seq: 12, where: 'user', excerpt: 'Find the failing test' },
    ),
    async handle({ params, query, names, server }) {
      const search = searchFor(query.q)
      const summary = await names.find(server.store, params.id!)
      const most = Number(query.limit ?? defaultLimit)
      const { hits, next } = await look(server, summary, search, {
        after: Number(query.after ?? 0),
        most,
        left: mostRead,
      })
      return json({ hits, ...(next !== undefined && { next }) })
    },
  },
]

const defaultLimit = 50
/** Entries that one request reads. */
const mostRead = 4000
/** Sessions whose titles, or texts, one request looks at. */
const mostTitles = 1000
const mostSessions = 100
/** Of one session, in a search over all. */
const mostPerSession = 5

function searchFor(phrase: unknown): TextSearch {
  const wanted = String(phrase ?? '').trim()
  if (wanted === '' || wanted.length > 200) throw badRequest('?q= must be a phrase of 1 to 200 characters')
  return new TextSearch(wanted)
}

interface Looking {
  readonly after: number
  /** Hits. */
  readonly most: number
  /** Entries that may be read. */
  readonly left: number
}

/** Looks through a session until there are enough hits or all is read; `next` is the entry to go on after. */
async function look(
  { store }: Call['server'],
  { id, head }: SessionSummary,
  search: TextSearch,
  { after, most, left }: Looking,
): Promise<{ readonly hits: ReturnType<TextSearch['in']>; readonly next?: number; readonly read: number }> {
  const hits: ReturnType<TextSearch['in']>[number][] = []
  let read = 0
  for (let last = after; last < head; ) {
    if (read >= left) return { hits, next: last, read }
    const page = await store.read(id, { after: last, limit: pageSize })
    if (page.length === 0) break
    for (const entry of page) {
      read++
      last = entry.seq
      hits.push(...search.in(entry))
      if (hits.length >= most && last < head) return { hits, next: last, read }
    }
  }
  return { hits, read }
}

/** Where a search goes on. */
interface Place {
  readonly in: 'titles' | 'texts'
  /** Of the store's list. */
  readonly cursor?: string
  /** Within a session: its name, and the last entry that was looked at. */
  readonly session?: string
  readonly after?: number
}

interface SearchHit {
  readonly session: string
  readonly title?: string
  readonly updatedAt: number
  readonly where: string
  readonly excerpt: string
  readonly seq?: number
}

async function searchAll(call: Call): Promise<Response> {
  const { query } = call
  const search = searchFor(query.q)
  const most = Number(query.limit ?? defaultLimit)
  const hits: SearchHit[] = []
  let place: Place | undefined = placeIn(query.cursor)
  if (place.in === 'titles') place = await searchTitles(call, search, { place, hits, most })
  else place = await searchTexts(call, search, { place, hits, most })
  return json({ hits, ...(place && { next: Buffer.from(JSON.stringify(place)).toString('base64url') }) })
}

interface Searching {
  readonly place: Place
  readonly hits: SearchHit[]
  readonly most: number
}

async function searchTitles(call: Call, search: TextSearch, { place, hits, most }: Searching): Promise<Place> {
  let { cursor } = place
  for (let looked = 0; looked < mostTitles; ) {
    const page = await listed(call, 100, cursor)
    for (const summary of page.sessions) {
      const excerpt = search.excerpt(summary.title ?? '') ?? search.excerpt(call.names.shown(summary.id))
      if (excerpt !== undefined) hits.push({ ...shown(call, summary), where: 'title', excerpt })
    }
    looked += 100
    cursor = page.next
    if (cursor === undefined) return { in: 'texts' }
    if (hits.length >= most) break
  }
  return { in: 'titles', ...(cursor !== undefined && { cursor }) }
}

async function searchTexts(
  call: Call,
  search: TextSearch,
  { place, hits, most }: Searching,
): Promise<Place | undefined> {
  let { cursor, session, after } = place
  let left = mostRead
  for (let looked = 0; looked < mostSessions; looked++) {
    const {
      sessions: [summary],
      next,
    } = await listed(call, 1, cursor)
    if (summary) {
      const name = call.names.shown(summary.id)
      const from = name === session ? (after ?? 0) : 0
      const found = await look(call.server, summary, search, { after: from, most: mostPerSession, left })
      hits.push(...found.hits.map((one) => ({ ...shown(call, summary), ...one })))
      left -= found.read
      // Many hits in one session would hide the others; `find` shows the rest.
      const isCutShort = found.next !== undefined && found.hits.length < mostPerSession
      if (isCutShort) return { in: 'texts', ...(cursor && { cursor }), session: name, after: found.next! }
    }
    if (next === undefined) return undefined
    cursor = next
    session = after = undefined
    if (hits.length >= most || left <= 0) break
  }
  return { in: 'texts', ...(cursor !== undefined && { cursor }) }
}

async function listed({ names, server }: Call, count: number, cursor: string | undefined) {
  const query: SessionQuery = {
    parent: null,
    ...(names.tenant !== undefined && { tenant: names.tenant, prefix: names.prefix }),
    ...{ limit: count, ...(cursor !== undefined && { cursor }) },
  }
  const page = await checked(server.store.list(query))
  return { ...page, sessions: page.sessions.filter(({ id }) => !isInternalId(id)) }
}

const shown = ({ names }: Call, { id, title, updatedAt }: SessionSummary) => ({
  session: names.shown(id),
  ...(title !== undefined && { title }),
  updatedAt,
})

function placeIn(cursor: unknown): Place {
  if (cursor === undefined) return { in: 'titles' }
  try {
    const place: unknown = JSON.parse(Buffer.from(String(cursor), 'base64url').toString())
    if (isRecord(place) && isPlace(place)) return place
  } catch {}
  throw badRequest('?cursor= is no `next` of a search; begin without it')
}

function isPlace(value: Record<string, unknown>): value is Record<string, unknown> & Place {
  const { in: place, cursor, session, after } = value
  const isText = (one: unknown): boolean => one === undefined || typeof one === 'string'
  const isSeq = after === undefined || (Number.isSafeInteger(after) && Number(after) >= 0)
  return (place === 'titles' || place === 'texts') && isText(cursor) && isText(session) && isSeq
}

/** Where a text was found. */
type FoundIn = 'title' | 'user' | 'assistant' | 'thinking' | 'call' | 'result' | 'label'

interface TextHit {
  readonly seq: number
  readonly where: FoundIn
  /** One line around the place. */
  readonly excerpt: string
}

/** Looks for a phrase, upper and lower case alike. */
class TextSearch {
  readonly #wanted: string

  constructor(phrase: string) {
    this.#wanted = phrase.toLowerCase()
  }

  /** One line around the first place in a text; undefined if it is not there. */
  excerpt(text: string): string | undefined {
    const at = text.toLowerCase().indexOf(this.#wanted)
    if (at < 0) return undefined
    const from = Math.max(0, at - before)
    const shown = text.slice(from, at + this.#wanted.length + behind)
    return `${from > 0 ? '…' : ''}${oneLine(shown, before + this.#wanted.length + behind)}`
  }

  /** The places in an entry, one for each of its texts. */
  in(entry: LogEntry): readonly TextHit[] {
    return textsOf(entry).flatMap(({ where, text }) => {
      const excerpt = this.excerpt(text)
      return excerpt === undefined ? [] : [{ seq: entry.seq, where, excerpt }]
    })
  }
}

const before = 40
const behind = 120

interface NamedText {
  readonly where: FoundIn
  readonly text: string
}

function textsOf(entry: LogEntry): readonly NamedText[] {
  if (entry.type === 'turn') return entry.turn.content.flatMap((block) => textIn(block, entry.turn.role))
  if (entry.type === 'call_result') return [{ where: 'result', text: toolResultToText(entry.output) }]
  return entry.type === 'label' ? [{ where: 'label', text: entry.text }] : []
}

function textIn(block: SessionContentBlock, role: 'user' | 'assistant'): readonly NamedText[] {
  if (block.type === 'text') return [{ where: role, text: block.text }]
  if (block.type === 'thinking') return [{ where: 'thinking', text: block.text }]
  // The result of a call is found in its own entry, which comes before the turn that brings it to the model.
  return block.type === 'tool_call' ? [{ where: 'call', text: `${block.name} ${JSON.stringify(block.input)}` }] : []
}

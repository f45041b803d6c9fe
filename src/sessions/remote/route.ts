import type { StoreAccess, StoreMethod } from './access.ts'
import { textOfSegment } from './protocol.ts'
import { badRequest, Refusal } from './refusal.ts'

export interface Route extends StoreAccess {
  readonly query: URLSearchParams
  /** Of a blob. */
  readonly name: string
}

type Verbs = Readonly<Record<string, StoreMethod>>

const ofSession: Readonly<Record<string, Verbs>> = {
  entries: { GET: 'read', POST: 'append' },
  lease: { POST: 'lease', PUT: 'lease', DELETE: 'lease' },
  inbox: { POST: 'send' },
  watch: { GET: 'watch' },
}
const ofBlob: Verbs = { GET: 'getBlob', PUT: 'putBlob' }

/** What a request is about. Throws when there is no such route. */
export function routeOf(request: Request, basePath: string): Route {
  const { pathname, searchParams: query } = new URL(request.url)
  if (!pathname.startsWith(`${basePath}/`)) throw noRoute()
  const [top, id, part, name, ...more] = pathname.slice(basePath.length + 1).split('/')
  if (more.length > 0) throw noRoute()
  if (id === undefined) return { method: pick(request, verbsOfTop(top)), query, name: '' }
  if (top !== 'sessions') throw noRoute()
  const sessionId = decoded(id)
  const method = pick(request, verbsOfPart(part, name))
  return { method, sessionId, query, name: name === undefined ? '' : decoded(name) }
}

function verbsOfTop(top: string | undefined): Verbs | undefined {
  if (top === 'identity') return { GET: 'identity' }
  return top === 'sessions' ? { GET: 'list' } : undefined
}

function verbsOfPart(part: string | undefined, name: string | undefined): Verbs | undefined {
  if (part === undefined) return { DELETE: 'delete' }
  if (name !== undefined) return part === 'blobs' ? ofBlob : undefined
  return Object.hasOwn(ofSession, part) ? ofSession[part] : undefined
}

function pick({ method }: Request, verbs: Verbs | undefined): StoreMethod {
  if (!verbs) throw noRoute()
  const found = Object.hasOwn(verbs, method) ? verbs[method] : undefined
  if (found) return found
  const allow = Object.keys(verbs).join(', ')
  throw new Refusal(405, { code: 'no_method', message: `Only ${allow} can be asked here` }, { allow })
}

function decoded(segment: string): string {
  const text = textOfSegment(segment)
  if (text === undefined) throw badRequest('A part of the path is not percent-encoded UTF-8')
  return text
}

const noRoute = (): Refusal => new Refusal(404, { code: 'no_route', message: 'A session store has no such route' })

import { LeaseLostError, SessionBusyError, SessionNotFoundError, StoreError } from '../../core/errors.ts'
import type { StoreAccess, StoreMethod } from './access.ts'
import { type Problem, protocolVersion, storeFailures, textOfSegment } from './protocol.ts'

export interface Route extends StoreAccess {
  readonly query: URLSearchParams
  /** The name of a blob. */
  readonly name: string
}

type Verbs = Readonly<Record<string, StoreMethod>>

const ofSession: Readonly<Record<string, Verbs>> = {
  entries: { GET: 'read', POST: 'append' },
  lease: { POST: 'lease', PUT: 'lease', DELETE: 'lease' },
  inbox: { POST: 'send' },
  watch: { GET: 'watch' },
  blobs: { GET: 'listBlobs' },
}
const ofBlob: Verbs = { GET: 'getBlob', PUT: 'putBlob', DELETE: 'deleteBlob' }

/** The route of a request. Throws if there is none. */
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
  if (part === undefined) return { GET: 'find', DELETE: 'delete' }
  if (name !== undefined) return part === 'blobs' ? ofBlob : undefined
  return Object.hasOwn(ofSession, part) ? ofSession[part] : undefined
}

function pick({ method }: Request, verbs: Verbs | undefined): StoreMethod {
  if (!verbs) throw noRoute()
  const operation = Object.hasOwn(verbs, method) ? verbs[method] : undefined
  if (operation) return operation
  const allow = Object.keys(verbs).join(', ')
  throw new Refusal(405, { code: 'no_method', message: `Only ${allow} are allowed here` }, { allow })
}

function decoded(segment: string): string {
  const text = textOfSegment(segment)
  if (text === undefined) throw badRequest('A part of the path is not percent-encoded UTF-8')
  return text
}

const noRoute = (): Refusal => new Refusal(404, { code: 'no_route', message: 'A session store has no such route' })

/** An error that the handler sends to the client. */
export class Refusal extends Error {
  readonly status: number
  readonly problem: Problem
  readonly headers: Readonly<Record<string, string>>
  constructor(status: number, problem: Problem, headers: Readonly<Record<string, string>> = {}) {
    super(problem.message)
    this.status = status
    this.problem = problem
    this.headers = headers
  }
}

export const badRequest = (message: string): Refusal => new Refusal(400, { code: 'bad_request', message })

/** The error for the client. Only messages of store errors are passed on. */
export function refusalOf(error: unknown): Refusal {
  if (error instanceof Refusal) return error
  if (error instanceof SessionBusyError) {
    const { owner, since, message } = error
    return new Refusal(423, {
      code: 'session_busy',
      message,
      ...(owner !== undefined && { owner }),
      ...(since !== undefined && { since }),
    })
  }
  if (error instanceof SessionNotFoundError) return new Refusal(404, { code: 'no_session', message: error.message })
  if (error instanceof LeaseLostError) {
    const { owner, message } = error
    return new Refusal(412, { code: 'lease_lost', message, ...(owner !== undefined && { owner }) })
  }
  if (error instanceof StoreError) {
    const { code, message } = error
    return new Refusal(storeFailures[code]?.status ?? 500, { code: `store_${code}`, message: message.slice(0, 1000) })
  }
  return new Refusal(500, { code: 'internal', message: 'The server failed; its log may say more' })
}

/** A JSON response of the protocol. `fields` may be serialized already. */
export function respond(fields: Readonly<Record<string, unknown>> | string, status = 200, headers = {}): Response {
  const inner = typeof fields === 'string' ? fields : JSON.stringify(fields).slice(1, -1)
  return new Response(`{"protocol":${protocolVersion}${inner && `,${inner}`}}`, {
    status,
    headers: { 'content-type': 'application/json', 'cache-control': 'no-store', ...headers },
  })
}

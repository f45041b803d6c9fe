import {
  CodedError,
  LeaseLostError,
  SessionBusyError,
  SessionNotFoundError,
  SessionParkedError,
  StoreError,
} from '../core/errors.ts'
import type { SessionSummary } from '../core/store.ts'
import { RollbackRefusedError } from '../snapshots/rollback-error.ts'

/** Why a request was refused, as an RFC 9457 problem. The message is the `detail`, one sentence with what to do next. */
export class Problem extends Error {
  readonly status: number
  readonly code: string
  readonly headers: Readonly<Record<string, string>>
  /** Further fields of the answer. */
  readonly fields: Readonly<Record<string, unknown>>

  constructor(
    status: number,
    code: string,
    detail: string,
    {
      headers = {},
      ...fields
    }: { readonly headers?: Readonly<Record<string, string>>; readonly [field: string]: unknown } = {},
  ) {
    super(detail)
    this.status = status
    this.code = code
    this.headers = headers
    this.fields = fields
  }

  toResponse(): Response {
    const { status, code, message: detail, fields, headers } = this
    const body = {
      type: `urn:libero:problem:${code}`,
      title: titles[status] ?? 'Problem',
      status,
      detail,
      code,
      ...fields,
    }
    return Response.json(body, {
      status,
      headers: { 'content-type': 'application/problem+json', 'cache-control': 'no-store', ...headers },
    })
  }
}

const titles: Readonly<Record<number, string>> = {
  400: 'Bad request',
  401: 'Not authenticated',
  403: 'Not allowed',
  404: 'Not found',
  405: 'Method not allowed',
  409: 'Conflict',
  413: 'Too large',
  415: 'Unsupported media type',
  422: 'Unprocessable',
  423: 'Busy',
  429: 'Too many requests',
  500: 'Internal error',
  501: 'Not offered',
  503: 'Not available',
  507: 'Store full',
}

export const badRequest = (detail: string): Problem => new Problem(400, 'bad_request', detail)

/** What the core says about a value of the client is a bad request, not a failure of the server. */
export async function checked<Result>(work: Promise<Result>): Promise<Result> {
  try {
    return await work
  } catch (error) {
    if (error instanceof TypeError || error instanceof RangeError) throw badRequest(error.message.slice(0, 400))
    throw error
  }
}

/** A session that is not there and one of another tenant get the same answer. */
export const noSession = (name: string): Problem =>
  new Problem(
    404,
    'no_session',
    `There is no session ${JSON.stringify(name.slice(0, 200))}; GET /v1/sessions lists those you have`,
  )

export const closingDown = (): Problem => new Problem(503, 'closing', 'This server is shutting down', retryAfter(2))

/** Throws for a sub-agent: it works for a session of which it has what is asked for. */
export function refuseSubAgent({ parent }: SessionSummary): void {
  if (parent !== undefined)
    throw new Problem(409, 'sub_agent', 'This is a sub-agent; name the session that it works for, its parent')
}

/** A part of the server that its host did not set up. */
export const notOffered = (what: string): Problem =>
  new Problem(501, 'not_offered', `This server offers no ${what}: its host did not set that up`)

export const withdrawnText = 'The message was taken back, so no run answers it; send it again with another key'

export const parkedText = 'This session is parked after repeated crashes; POST …/unpark allows runs again'

/** The problem to answer an error with; undefined for an error that the client must not see. */
export function problemOf(error: unknown): Problem | undefined {
  if (error instanceof Problem) return error
  if (error instanceof SessionNotFoundError)
    return new Problem(404, 'no_session', 'There is no such session; GET /v1/sessions lists those you have')
  if (error instanceof SessionBusyError)
    return new Problem(
      423,
      'session_busy',
      'Another program writes this session; try again when it is done',
      retryAfter(2),
    )
  if (error instanceof LeaseLostError)
    return new Problem(409, 'lease_lost', 'Another program has taken this session over; read it again')
  if (error instanceof SessionParkedError) return new Problem(409, 'parked', parkedText)
  if (error instanceof CodedError && error.code === 'InteractionAlreadyAnswered') return answeredBefore()
  if (error instanceof CodedError)
    return new Problem(
      error.class === 'Validation' ? 422 : 409,
      error.code.replace(/[a-z](?=[A-Z])/g, '$&_').toLowerCase(),
      error.sentence,
    )
  if (error instanceof RollbackRefusedError) return new Problem(409, error.code, sentenceOf(error.message))
  if (error instanceof StoreError) return storeProblem(error)
  return undefined
}

const sentenceOf = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)

export const answeredBefore = (decision?: string): Problem =>
  new Problem(409, 'answered_before', 'This call was answered before; the first answer counts', {
    ...(decision !== undefined && { decision }),
  })

function storeProblem({ code }: StoreError): Problem {
  if (code === 'full') return new Problem(507, 'store_full', 'The store has no space left; nothing was stored')
  return new Problem(503, `store_${code}`, 'The store does not answer as it should; try again', retryAfter(5))
}

/** The header that says when to try again. */
export const retryAfter = (seconds: number): { readonly headers: Readonly<Record<string, string>> } => ({
  headers: { 'retry-after': String(Math.max(1, Math.ceil(seconds))) },
})

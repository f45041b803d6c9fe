/** Why a server refused a request, or that it could not be reached. The message is one sentence with what to do next. */
export class RemoteProblem extends Error {
  /** Of the answer; 0 if there was none. */
  readonly status: number
  /** Such as `no_session`; `no_connection` if there was no answer. Match on this, never on the message. */
  readonly code: string
  readonly detail: string
  /** When to try again, in seconds, if the server says so. */
  readonly retryAfter: number | undefined
  /** Further fields of the answer, such as the `head` of a session or the `digest` of a call. */
  readonly fields: Readonly<Record<string, unknown>>

  constructor(
    facts: {
      readonly status: number
      readonly code: string
      readonly detail: string
      readonly retryAfter?: number | undefined
      readonly fields?: Readonly<Record<string, unknown>>
    },
    options?: { readonly cause?: unknown },
  ) {
    const { status, code, detail, retryAfter, fields = {} } = facts
    super(detail, options)
    this.name = 'RemoteProblem'
    this.status = status
    this.code = code
    this.detail = detail
    this.retryAfter = retryAfter
    this.fields = fields
  }
}

/** There was no answer, or it broke off: what the request asked for may have been done. */
export const noConnection = (why: string, cause?: unknown): RemoteProblem =>
  new RemoteProblem(
    { status: 0, code: 'no_connection', detail: `${why}; is it running, and is the address right?` },
    { cause },
  )

/** The problem in an answer with an error status. What is no RFC 9457 problem comes from something before the server. */
export async function problemIn(response: Response, now: number): Promise<RemoteProblem> {
  const { status, headers } = response
  const retryAfter = secondsUntil(headers.get('retry-after'), now)
  const isProblem = headers.get('content-type')?.includes('application/problem+json')
  const {
    detail,
    code,
    type: _,
    title: __,
    status: ___,
    ...fields
  } = isProblem ? ((await response.json()) as Record<string, unknown>) : {}
  if (!isProblem) await response.body?.cancel()
  return new RemoteProblem({
    status,
    retryAfter,
    fields,
    code: typeof code === 'string' ? code : `http_${status}`,
    detail: typeof detail === 'string' ? detail : `The server, or a proxy before it, answered with status ${status}`,
  })
}

/** Seconds, or a date as proxies send it. */
function secondsUntil(header: string | null, now: number): number | undefined {
  if (header === null) return undefined
  if (/^\d{1,9}$/.test(header)) return Number(header)
  const at = Date.parse(header)
  return Number.isNaN(at) ? undefined : Math.max(0, Math.ceil((at - now) / 1000))
}

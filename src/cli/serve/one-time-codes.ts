import { randomBytes } from 'node:crypto'

type Fetch = (request: Request) => Promise<Response>

/** How long the browser may take to start. */
const validMs = 60_000

/**
 * Codes that log in once, in place of the token. The program that opens the browser gets its link as an argument, which other
 * users of the machine can read in the list of processes: when they do, the code is used up, or is over after a minute.
 */
export class OneTimeCodes {
  readonly #tokens = new Map<string, { readonly token: string; readonly until: number }>()
  readonly #now: () => number

  constructor(now: () => number = Date.now) {
    this.#now = now
  }

  /** A code that counts as the token for one login. */
  codeFor(token: string): string {
    const code = randomBytes(32).toString('base64url')
    this.#tokens.set(code, { token, until: this.#now() + validMs })
    return code
  }

  /** Answers as `fetch`, which gets the token where a login has a code. */
  loggingIn(fetch: Fetch): Fetch {
    return (request) => {
      const [, code = ''] = /^Bearer (\S+)$/.exec(request.headers.get('authorization') ?? '') ?? []
      const known = this.#tokens.get(code)
      if (!known || new URL(request.url).pathname !== '/v1/login') return fetch(request)
      this.#tokens.delete(code)
      if (known.until < this.#now()) return fetch(request)
      const headers = new Headers(request.headers)
      headers.set('authorization', `Bearer ${known.token}`)
      // Not a copy of the request: that of an HTTP server need not be one of this `Request`, and a login has no body.
      return fetch(new Request(request.url, { method: request.method, headers }))
    }
  }
}

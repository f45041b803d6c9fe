import { createHash, randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text as textOf } from 'node:stream/consumers'
import type { OAuthEndpoints, OAuthTokens } from '../src/auth/oauth.ts'

/** A login: its tokens rotate, and a refresh token that is used twice ends it. */
interface Family {
  access: string
  refresh: string
  isAlive: boolean
}

interface Answer {
  readonly status: number
  readonly body: string
}

export interface AuthorizationServer {
  readonly url: string
  readonly endpoints: OAuthEndpoints
  /** What the token endpoint was sent, in order. */
  readonly requests: readonly Record<string, string>[]
  /** How many refresh tokens were exchanged for new tokens. */
  readonly renewals: number
  /** Given instead of the next answers of the token endpoint. */
  readonly answers: Answer[]
  /** Tokens as after a login. */
  issue(now: number): OAuthTokens & { refresh: string }
  /** Whether a resource would be served for this access token. */
  accepts(access: string): boolean
  close(): Promise<void>
}

/** An authorization server on this machine: PKCE, codes for one use, refresh tokens that rotate and end the login when used again. */
export async function startAuthorizationServer({
  lifetimeSeconds = 3600,
  accessToken = () => `access-${randomUUID()}`,
} = {}): Promise<AuthorizationServer> {
  const codes = new Map<string, URLSearchParams>()
  const families: Family[] = []
  const requests: Record<string, string>[] = []
  const answers: Answer[] = []
  let renewals = 0

  function authorize(params: URLSearchParams, response: ServerResponse): void {
    const code = `code-${randomUUID()}`
    codes.set(code, params)
    const back = new URL(params.get('redirect_uri') ?? '')
    for (const [key, value] of Object.entries({ code, state: params.get('state') ?? '', iss: url }))
      back.searchParams.set(key, value)
    response.writeHead(302, { location: back.href }).end()
  }

  function grant(fields: Record<string, string>): Answer {
    if (fields.client_id !== 'client-1') return refuse('invalid_client')
    if (fields.grant_type === 'authorization_code') return redeem(fields)
    if (fields.grant_type === 'refresh_token') return renew(fields.refresh_token ?? '')
    return refuse('unsupported_grant_type')
  }

  function redeem({ code = '', code_verifier = '', redirect_uri }: Record<string, string>): Answer {
    const asked = codes.get(code)
    codes.delete(code)
    const challenge = createHash('sha256').update(code_verifier).digest('base64url')
    if (asked?.get('code_challenge_method') !== 'S256' || asked.get('code_challenge') !== challenge)
      return refuse('invalid_grant')
    if (asked.get('redirect_uri') !== redirect_uri) return refuse('invalid_grant')
    return succeed(newFamily())
  }

  const used = new Map<string, Family>()
  function renew(token: string): Answer {
    const again = used.get(token)
    if (again) again.isAlive = false
    const family = families.find(({ refresh, isAlive }) => isAlive && refresh === token)
    if (!family) return refuse('invalid_grant')
    used.set(token, family)
    renewals++
    return succeed(Object.assign(family, newTokens()))
  }

  function newFamily(): Family {
    const family = { ...newTokens(), isAlive: true }
    families.push(family)
    return family
  }

  function newTokens(): { access: string; refresh: string } {
    return { access: accessToken(), refresh: `refresh-${randomUUID()}` }
  }

  function succeed({ access, refresh }: Family): Answer {
    const body = { access_token: access, refresh_token: refresh, token_type: 'Bearer', expires_in: lifetimeSeconds }
    return { status: 200, body: JSON.stringify(body) }
  }

  const accepts = (access: string): boolean => families.some((family) => family.isAlive && family.access === access)

  const server = createServer(async (incoming, response) => {
    const { pathname, searchParams } = new URL(incoming.url ?? '', url)
    if (pathname === '/authorize') return authorize(searchParams, response)
    if (pathname === '/me') {
      const access = incoming.headers.authorization?.replace('Bearer ', '') ?? ''
      return void response.writeHead(accepts(access) ? 200 : 401).end()
    }
    const fields = await fieldsOf(incoming)
    requests.push(fields)
    const { status, body } = answers.shift() ?? grant(fields)
    response.writeHead(status, { 'content-type': 'application/json' }).end(body)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

  return {
    url,
    endpoints: { clientId: 'client-1', authorizeUrl: `${url}/authorize`, tokenUrl: `${url}/token`, issuer: url },
    requests,
    get renewals() {
      return renewals
    },
    answers,
    issue(now) {
      const { access, refresh } = newFamily()
      return { access, refresh, expires: now + lifetimeSeconds * 1000 }
    },
    accepts,
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

function refuse(error: string): Answer {
  return { status: 400, body: JSON.stringify({ error, error_description: 'said in the test' }) }
}

async function fieldsOf(incoming: IncomingMessage): Promise<Record<string, string>> {
  const text = await textOf(incoming)
  if (incoming.headers['content-type'] === 'application/json') return JSON.parse(text)
  return Object.fromEntries(new URLSearchParams(text))
}

/** As much of `fetch` as OAuth needs. It follows no redirect. */
export const loopbackFetch: typeof globalThis.fetch = (url, { method = 'GET', headers, body, signal } = {}) =>
  new Promise((resolve, reject) => {
    const options = { method, headers: headers as Record<string, string>, ...(signal && { signal }), agent: false }
    const outgoing = request(String(url), options, (incoming) => {
      const status = incoming.statusCode ?? 0
      const init = { status, headers: incoming.headers as Record<string, string> }
      textOf(incoming).then((text) => resolve(new Response(text, init)), reject)
    })
    outgoing.on('error', reject)
    outgoing.end(body)
  })

import type { Caller, Scope } from './caller.ts'
import type { Problem } from './problem.ts'
import type { ServerContext } from './server-context.ts'
import type { SessionNames } from './session-names.ts'

/** A JSON Schema. */
export type JsonSchema = Readonly<Record<string, unknown>>

/** One route of the server. The router, the checks of requests and the OpenAPI document are made from it. */
export interface Route {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Below the base path, such as `/v1/sessions/{id}`. */
  readonly path: string
  /** What the caller needs. `public`: nothing, not even a token. */
  readonly scope: Scope | 'public'
  /** One line for the OpenAPI document. */
  readonly summary: string
  /** Each parameter as a schema of the types `string`, `integer` and `boolean`, or of an array of texts. */
  readonly query?: Readonly<Record<string, JsonSchema>>
  /** Headers that change what it does, with one sentence each, for the OpenAPI document. */
  readonly headers?: Readonly<Record<string, string>>
  /** The schema of a JSON body. */
  readonly body?: JsonSchema
  /** A body that is no JSON: its media type. The handler reads `call.request`. */
  readonly rawBody?: string
  readonly answers: Readonly<Record<number, Answer>>
  readonly handle: (call: Call) => Promise<Response> | Response
  /** The form of a refusal, if clients of the route know no problems. */
  readonly refuse?: (problem: Problem) => Response
}

export interface Answer {
  readonly description: string
  readonly schema?: JsonSchema
  readonly example?: unknown
  /** Default `application/json`. */
  readonly type?: string
  /** The schemas of other media types that the request may ask for. */
  readonly others?: Readonly<Record<string, JsonSchema>>
}

/** A request that passed the checks of its route. */
export interface Call {
  readonly request: Request
  readonly params: Readonly<Record<string, string>>
  /** Checked against the route's `query`. */
  readonly query: Readonly<Record<string, unknown>>
  /** Checked against the route's `body`. */
  readonly body: Readonly<Record<string, unknown>>
  readonly caller: Caller
  readonly names: SessionNames
  readonly server: ServerContext
}

/** An answer of JSON that no cache keeps: a deleted session leaves nothing behind. */
export const json = (body: unknown, status = 200, headers: Readonly<Record<string, string>> = {}): Response =>
  Response.json(body, { status, headers: { 'cache-control': 'no-store', ...headers } })

/** An answer without content. */
export const done = (status = 204): Response => new Response(null, { status, headers: { 'cache-control': 'no-store' } })

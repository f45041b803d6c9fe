import { type Clock, systemClock } from '../core/clock.ts'
import { orAborted, sleep } from '../core/waiting.ts'
import { noConnection, problemIn, RemoteProblem } from './remote-problem.ts'
import { type ServerSentEvent, SseParser } from './sse-parser.ts'

/** How to reach a server. */
export interface RemoteOptions {
  /** The address of the server with its base path, such as `http://127.0.0.1:4173`. */
  readonly url: string | URL
  /** Absent in a page that has the cookie of the server. */
  readonly token?: string
  /** Default: that of the platform. */
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>
  /** How long a request that may be repeated is tried again after lost connections and 429. Default 60,000; 0: not at all. */
  readonly retryForMs?: number
  /** After this time without a byte a connection counts as lost. Default 40,000: the server sends one every 15 seconds. */
  readonly silenceMs?: number
  readonly clock?: Clock
}

export interface RemoteRequest<T> {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly path: string
  readonly query?: object | undefined
  /** An object is sent as JSON. */
  readonly body?: object | string
  readonly headers?: Readonly<Record<string, string>>
  /** Doing it twice is the same as doing it once, so that it is sent again after a lost connection. Default: GET, PUT, DELETE. */
  readonly isRepeatable?: boolean
  /** After a lost answer, a problem with this code says that the first try was done. */
  readonly doneIf?: string
  /** How long the server may take for its answer beyond `silenceMs`. */
  readonly waitMs?: number
  readonly signal?: AbortSignal | undefined
  readonly read: (bytes: Uint8Array<ArrayBuffer>) => T
}

/** Sends requests to one server. */
export class Connection {
  readonly clock: Clock
  readonly #base: string
  readonly #headers: Readonly<Record<string, string>>
  readonly #fetch: NonNullable<RemoteOptions['fetch']>
  readonly #retryForMs: number
  readonly #silenceMs: number

  constructor({ url, token, fetch, retryForMs = 60_000, silenceMs = 40_000, clock = systemClock }: RemoteOptions) {
    const { protocol, href } = new URL(url)
    if (protocol !== 'http:' && protocol !== 'https:')
      throw new TypeError(`The url of a server begins with http: or https:, got ${JSON.stringify(String(url))}`)
    this.clock = clock
    this.#base = href.replace(/[?#].*$/, '').replace(/\/+$/, '')
    this.#headers = { 'x-libero': '1', ...(token !== undefined && { authorization: `Bearer ${token}` }) }
    this.#fetch = fetch ?? ((address, init) => globalThis.fetch(address, init))
    this.#retryForMs = retryForMs
    this.#silenceMs = silenceMs
  }

  /** The answer. Throws a RemoteProblem; after lost connections only if the request may not, or no longer, be repeated. */
  async request<T>(request: RemoteRequest<T>): Promise<T | undefined> {
    const { method, signal, doneIf, isRepeatable = method !== 'POST' && method !== 'PATCH' } = request
    const until = this.clock.now() + this.#retryForMs
    let wasLost = false
    for (let failures = 0; ; failures++) {
      try {
        return await this.#tryOnce(request)
      } catch (problem) {
        if (!(problem instanceof RemoteProblem)) throw problem
        if (wasLost && problem.code === doneIf) return undefined
        const mayRepeat = isTurnedAway(problem) || (isRepeatable && isLost(problem))
        const pauseMs = pauseAfter(problem, failures)
        if (!mayRepeat || this.clock.now() + pauseMs > until) throw problem
        wasLost ||= isLost(problem)
        await sleep(pauseMs, { clock: this.clock, signals: [signal] })
        signal?.throwIfAborted()
      }
    }
  }

  async #tryOnce<T>(request: RemoteRequest<T>): Promise<T> {
    const { method, path, query = {}, body, headers, waitMs = 0, signal, read } = request
    const isJson = typeof body === 'object'
    const init = {
      method,
      headers: { ...(isJson && { 'content-type': 'application/json' }), ...headers },
      ...(body !== undefined && { body: isJson ? JSON.stringify(body) : body }),
    }
    const open = await this.#open(path + queryText(query), init, { signal, waitMs })
    try {
      return read(await readAll(open))
    } finally {
      open.close()
    }
  }

  /** The events of one connection, until it ends; first an empty `open`. Throws a RemoteProblem when it is lost or was silent for too long. */
  async *stream(path: string, query: object, signal: AbortSignal): AsyncGenerator<ServerSentEvent, void, undefined> {
    const init = { headers: { accept: 'text/event-stream' } }
    const { response, untilSilent, close } = await this.#open(path + queryText(query), init, { signal })
    const reader = response.body!.getReader()
    try {
      yield { event: 'open', data: '' }
      const parser = new SseParser()
      const decoder = new TextDecoder()
      for (;;) {
        const { done, value } = await untilSilent(() => reader.read())
        if (done) return
        yield* parser.feed(decoder.decode(value, { stream: true }))
      }
    } finally {
      close()
      // Its end is not waited for: a connection that is silent may never say that it is over.
      reader.cancel().catch(() => {})
    }
  }

  async #open(address: string, init: RequestInit, { signal, waitMs = 0 }: Waiting): Promise<OpenResponse> {
    signal?.throwIfAborted()
    const stop = new AbortController()
    const abort = (): void => stop.abort(signal?.reason)
    const close = (): void => signal?.removeEventListener('abort', abort)
    signal?.addEventListener('abort', abort)
    /** Only while something is waited for: a reader may take its time. */
    const untilSilent = async <T>(work: () => Promise<T>, ms = this.#silenceMs): Promise<T> => {
      const silent = noConnection(`The server at ${this.#base} was silent for ${Math.round(ms / 1000)} s`)
      const cancelTimer = this.clock.timer(ms, () => stop.abort(silent))
      try {
        return await orAborted(work(), stop.signal)
      } catch (error) {
        if (stop.signal.aborted) throw stop.signal.reason
        throw error instanceof RemoteProblem
          ? error
          : noConnection(`The server at ${this.#base} gave no whole answer`, error)
      } finally {
        cancelTimer()
      }
    }
    const headers = { ...this.#headers, ...init.headers } as Record<string, string>
    // The token goes to this server alone. `Accept` has a default, which is no stream.
    const given: RequestInit = { ...init, headers: { accept: 'application/json', ...headers }, redirect: 'error' }
    try {
      const response = await untilSilent(
        () => this.#fetch(this.#base + address, { ...given, cache: 'no-store', signal: stop.signal }),
        this.#silenceMs + waitMs,
      )
      if (!response.ok) throw await untilSilent(() => problemIn(response, this.clock.now()))
      return { response, untilSilent, close }
    } catch (error) {
      close()
      throw error
    }
  }
}

interface Waiting {
  readonly signal?: AbortSignal | undefined
  readonly waitMs?: number
}

interface OpenResponse {
  readonly response: Response
  /** The outcome of reading a part of it, unless nothing comes for too long. */
  readonly untilSilent: <T>(work: () => Promise<T>) => Promise<T>
  readonly close: () => void
}

/** Piece by piece: a large answer may take long, as long as it goes on. */
async function readAll({ response, untilSilent }: OpenResponse): Promise<Uint8Array<ArrayBuffer>> {
  const pieces: Uint8Array<ArrayBuffer>[] = []
  const reader = response.body?.getReader()
  for (;;) {
    const { done, value } = reader ? await untilSilent(() => reader.read()) : { done: true, value: undefined }
    if (done || !value) return new Uint8Array(await new Blob(pieces).arrayBuffer())
    pieces.push(value)
  }
}

/** It may have been done or not: there was no answer, or one of a proxy without its server. */
export const isLost = ({ status }: RemoteProblem): boolean => [0, 502, 503, 504].includes(status)

/** It was not done, and may be later. A wrong token stays wrong. */
export const isTurnedAway = ({ status, code }: RemoteProblem): boolean => status === 429 && code !== 'too_many_guesses'

/** Twice as long after each failure, up to 30 s, and for each client another time. */
export function pauseAfter({ retryAfter }: RemoteProblem, failures: number): number {
  const backoffMs = Math.min(30_000, 250 * 2 ** Math.min(failures, 7)) * (0.5 + Math.random() / 2)
  return Math.max((retryAfter ?? 0) * 1000, backoffMs)
}

/** A list is given once for each of its values. */
function queryText(query: object): string {
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    [value].flat().flatMap((one) => (one === undefined ? [] : [[name, String(one)] as [string, string]])),
  )
  return pairs.length === 0 ? '' : `?${new URLSearchParams(pairs)}`
}

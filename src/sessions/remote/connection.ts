import { StoreError } from '../../core/errors.ts'
import { orAborted, sleep } from '../../core/waiting.ts'
import { type Answer, type Outcome, readAnswer } from './answer.ts'
import { isSendable, maxPageBytes, type RemoteSettings } from './options.ts'
import { dropBody } from './protocol.ts'

export interface Call {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** With its query, beginning with a slash. */
  readonly path: string
  readonly body?: string | Uint8Array<ArrayBuffer>
  readonly headers?: Readonly<Record<string, string>>
  /** Aborts the call, which then rejects with the reason of the signal. */
  readonly signal?: AbortSignal
  /** Time limit of one attempt; all attempts together have twice that. Default: `timeoutMs`. */
  readonly limitMs?: number
  /** Default: `retries` of the options. */
  readonly retries?: number
  readonly maxBytes?: number
}

interface Connection {
  send(call: Call): Promise<Answer>
  /** Aborted by `close`. */
  readonly closing: AbortSignal
  close(): void
}

const firstPauseMs = 250
const maxPauseMs = 8000

/** Requests to one server: each has a time limit and is retried after temporary failures; `close` ends all of them. */
export function openConnection(settings: RemoteSettings): Connection {
  const { origin, clock, timeoutMs, retries } = settings
  const closing = new AbortController()

  return {
    closing: closing.signal,

    async send(call) {
      const { limitMs = timeoutMs, retries: maxRetries = retries, signal } = call
      const deadline = clock.now() + 2 * limitMs
      for (let tries = 1; ; tries++) {
        const remainingMs = Math.min(limitMs, deadline - clock.now())
        const outcome = await attempt({ call, settings, limitMs: remainingMs, closing: closing.signal })
        if ('answer' in outcome) return outcome.answer
        const waitMs = Math.max(backoff(tries), outcome.waitMs ?? 0)
        if (tries > maxRetries || clock.now() + waitMs >= deadline) throw givenUp(outcome.retryable, tries)
        await sleep(waitMs, { clock, signals: [closing.signal, signal] })
        signal?.throwIfAborted()
        if (closing.signal.aborted) throw closed(origin)
      }
    },

    close() {
      closing.abort()
    },
  }
}

/** Grows with each attempt. Random, so that clients which lost the same server do not retry together. */
export const backoff = (tries: number): number =>
  Math.round(Math.min(maxPauseMs, firstPauseMs * 2 ** (tries - 1)) * (0.75 + Math.random() / 2))

interface Attempt {
  readonly call: Call
  readonly settings: RemoteSettings
  readonly limitMs: number
  readonly closing: AbortSignal
}

async function attempt({ call, settings, limitMs, closing }: Attempt): Promise<Outcome> {
  const { origin, clock } = settings
  const ended = new AbortController()
  const end = (): void => ended.abort()
  let isLate = false
  if (closing.aborted || call.signal?.aborted) end()
  const cancelTimer = clock.timer(limitMs, () => {
    isLate = true
    end()
  })
  for (const signal of [closing, call.signal]) signal?.addEventListener('abort', end)
  try {
    return await exchange(call, settings, ended.signal)
  } catch (error) {
    if (closing.aborted) throw closed(origin)
    call.signal?.throwIfAborted()
    if (error instanceof StoreError) throw error
    const why = isLate ? `did not answer within ${Math.round(limitMs)} ms` : `cannot be reached${codeOf(error)}`
    return { retryable: new StoreError('unavailable', `${origin} ${why}`) }
  } finally {
    cancelTimer()
    for (const signal of [closing, call.signal]) signal?.removeEventListener('abort', end)
    end() // drops the unread rest of the answer with its connection
  }
}

async function exchange(call: Call, settings: RemoteSettings, signal: AbortSignal): Promise<Outcome> {
  const { base, origin, fetch, clock } = settings
  // A given `fetch` or token function may ignore the signal.
  const token = await orAborted(tokenOf(settings), signal)
  const { method, path, body, maxBytes = maxPageBytes } = call
  const sent = fetch(`${base}${path}`, {
    method,
    headers: {
      ...settings.headers,
      accept: 'application/json, application/octet-stream',
      ...(body !== undefined && {
        'content-type': typeof body === 'string' ? 'application/json' : 'application/octet-stream',
      }),
      ...call.headers,
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
    },
    // A redirect followed by the runtime would send the token along.
    redirect: 'manual',
    signal,
    ...(body !== undefined && { body }),
  })
  sent.then((late) => signal.aborted && dropBody(late)).catch(() => {})
  const response = await orAborted(sent, signal)
  const hide = hiding([token ?? '', ...Object.values(settings.headers)])
  const reading = { origin, maxBytes, hide, hasToken: token !== undefined, now: clock.now() }
  try {
    return await orAborted(readAnswer(response, reading), signal)
  } finally {
    dropBody(response)
  }
}

async function tokenOf({ token, origin }: RemoteSettings): Promise<string | undefined> {
  if (typeof token !== 'function') return token
  let value: unknown
  try {
    value = await token()
  } catch (error) {
    // The message is not quoted: it may contain a secret.
    const name = error instanceof Error ? error.name : typeof error
    throw new StoreError('denied', `There is no token for ${origin}: the token function failed with ${name}`)
  }
  if (isSendable(value)) return value
  throw new StoreError('denied', `The token function for ${origin} gave nothing that can be sent as a token`)
}

/** Shorter values may be parts of ordinary words. */
const shortestSecret = 6

function hiding(values: readonly string[]): (text: string) => string {
  const secrets = values
    .filter((value) => value.length >= shortestSecret)
    .flatMap((value) => [value, JSON.stringify(value).slice(1, -1)])
  return (text) => secrets.reduce((hidden, secret) => hidden.replaceAll(secret, '[hidden]'), text)
}

/** Only the code of the runtime's error is shown: its message may contain the address, or a header with the token. */
function codeOf(error: unknown): string {
  for (const each of [error, (error as Error | undefined)?.cause]) {
    const code = (each as { code?: unknown } | null | undefined)?.code
    if (typeof code === 'string' && /^[A-Z][A-Z0-9_]{2,40}$/.test(code)) return ` (${code})`
  }
  return ''
}

function givenUp({ code, message }: StoreError, tries: number): StoreError {
  const often = tries === 1 ? 'once' : `${tries} times`
  return new StoreError(
    code,
    `${message} (tried ${often}); check that the server runs and can be reached, then load the session again: ` +
      'what was confirmed before is stored',
  )
}

const closed = (origin: string): StoreError =>
  new StoreError('unavailable', `The store at ${origin} was closed; make a new one with createRemoteStore`)

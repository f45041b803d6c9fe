import { getEventListeners } from 'node:events'
import { describe, expect, test } from 'vitest'
import type { Clock } from '../core/clock.ts'
import { AgentProviderError, AgentRateLimitError } from '../core/errors.ts'
import type { ClassifiedError, ModelEvent, ModelRequest, Provider } from '../core/provider.ts'
import { textOf } from '../core/turn.ts'
import { createAgent } from '../create-agent.ts'
import { call, fakeClock, providerContract, type Step, scripted } from '../testing/index.ts'
import { parseRetryAfter, type RetryOptions, withRetry } from './retry.ts'

const request: ModelRequest = {
  model: 'script-1',
  system: '',
  messages: [{ role: 'user', content: [{ type: 'text', text: 'Hello?' }] }],
  tools: [],
  maxTokens: 1024,
  thinking: 'off',
  cache: false,
}

describe('options given by a function', () => {
  test('D048 are read at each request, in a run under way too', async () => {
    let options: RetryOptions = { maxAttempts: 1, initialDelayMs: 0 }
    const script: Step[] = [
      http(503),
      [call('1', 'nothing')],
      () => {
        options = { maxAttempts: 3, initialDelayMs: 0 } // counts for the next request, not for this one
        return http(503)
      },
      [call('2', 'nothing')],
      ...[http(503), http(503), http(503)],
      'Done.',
      ...[http(503), 'Never.'],
    ]
    const inner = scripted(...script)
    const agent = createAgent({ provider: withRetry(inner, () => options) })
    await agent.run({ prompt: 'Go.' })
    expect(inner.requests).toHaveLength(8)
    options = { maxAttempts: 0 }
    await expect(agent.run({ prompt: 'Again.' })).rejects.toThrow('the service failed')
    expect(inner.requests).toHaveLength(9)
  })

  test('D048 the outermost counts, whatever a provider does by itself; without options that is its own affair', async () => {
    let options: RetryOptions | undefined = { maxAttempts: 1, initialDelayMs: 0 }
    const inner = scripted(...Array<Step>(20).fill(http(503)))
    const own = withRetry(inner, { maxAttempts: 3, initialDelayMs: 0 })
    const provider = withRetry(own, () => options)
    const requestsOf = async (): Promise<number> => {
      const before = inner.requests.length
      await drain(provider)
      return inner.requests.length - before
    }
    expect(await requestsOf()).toBe(2)
    options = { maxAttempts: 0 }
    expect(await requestsOf()).toBe(1)
    options = undefined
    expect(await requestsOf()).toBe(4)
  })

  test('wrong ones fail the request with the same words as before, and nothing is sent; the next may be right', async () => {
    let options: unknown = { maxAttempts: -1 }
    const inner = scripted('Here.')
    const provider = withRetry(inner, () => options as RetryOptions)
    const { error, events } = await drain(provider)
    const atOnce = (): Provider => withRetry(inner, options as RetryOptions)
    expect(error).toBeInstanceOf(TypeError)
    expect(atOnce).toThrow((error as Error).message)
    expect([events, inner.requests]).toEqual([[], []])

    for (const wrong of [{ maxAttempt: 1 }, null, Promise.resolve({ maxAttempts: 1 })]) {
      options = wrong
      expect(String((await drain(provider)).error)).toMatch(/^TypeError: withRetry (has no option|takes its options)/)
    }
    const agent = createAgent({ provider })
    await expect(agent.run({ prompt: 'Go.' })).rejects.toThrow('withRetry takes its options as an object')
    options = {}
    expect(textOf((await drain(provider)).events.at(-1) as never)).toBe('Here.')
  })

  test('are not read again for the tries of one request', async () => {
    let reads = 0
    const read = (): RetryOptions => ({ maxAttempts: ++reads, clock: hurried() })
    const { events } = await drain(withRetry(broken(503), read))
    expect([reads, retriesIn(events).length]).toEqual([1, 1])
  })
})

describe('the delay', () => {
  test('D022 full jitter stays inside the bounds of the default schedule in 1000 draws', async () => {
    const bounds = [1000, 2000, 4000]
    const draws: number[][] = [[], [], []]
    for (let i = 0; i < 334; i++) {
      const { events } = await drain(withRetry(broken(503), { clock: hurried() }))
      const delays = retriesIn(events).map(({ delayMs }) => delayMs!)
      expect(delays).toHaveLength(3)
      for (const [n, delay] of delays.entries()) draws[n]!.push(delay)
    }
    for (const [n, delays] of draws.entries()) {
      expect(Math.min(...delays)).toBeGreaterThanOrEqual(0)
      expect(Math.max(...delays)).toBeLessThan(bounds[n]!)
    }
  })

  test('D022 the jitter reaches from nothing to the whole of a delay that doubles up to 30 s', async () => {
    const delays = async (random: number) => {
      const options = { clock: hurried(), random: () => random, maxAttempts: 7 }
      const { events } = await drain(withRetry(broken(503), options))
      return retriesIn(events).map(({ delayMs }) => delayMs)
    }
    expect(await delays(1)).toEqual([1000, 2000, 4000, 8000, 16_000, 30_000, 30_000])
    expect(await delays(0.5)).toEqual([500, 1000, 2000, 4000, 8000, 15_000, 15_000])
    expect(await delays(0)).toEqual([0, 0, 0, 0, 0, 0, 0])
  })

  test('the schedule can be another one', async () => {
    const options = { initialDelayMs: 10, backoffMultiplier: 3, maxDelayMs: 50, clock: hurried(), random: () => 1 }
    const { events } = await drain(withRetry(broken(503), options))
    expect(retriesIn(events).map(({ delayMs }) => delayMs)).toEqual([10, 30, 50])
  })

  test('FP-04 a service overloaded three times answers at the fourth try, after waits that grow', async () => {
    const clock = fakeClock()
    const inner = scripted(http(529), http(503), http(529), 'Here I am.')
    const asked: number[] = []
    const provider = withRetry(timed(inner, clock, asked), { clock, random: () => 0.5 })
    const work = drain(provider)
    await clock.advance(10_000)
    expect(asked).toEqual([0, 500, 1500, 3500])
    const { events } = await work
    expect(retriesIn(events).map(({ attempt }) => attempt)).toEqual([2, 3, 4])
    expect(events.at(-1)).toMatchObject({ type: 'reply', content: [{ text: 'Here I am.' }] })
    expect(clock.pending).toBe(0)
  })

  test('FP-04 tries are capped, and the last failure comes out unchanged', async () => {
    const errors = [http(503), http(503), http(503), http(529)]
    const inner = scripted(...errors, 'never')
    const { error } = await drain(withRetry(inner, { clock: hurried() }))
    expect(error).toBe(errors[3])
    expect(inner.requests).toHaveLength(4)
  })

  test('FP-04 all waiting together is capped too', async () => {
    const inner = broken(503)
    const options = { clock: hurried(), random: () => 1, maxAttempts: 100, maxTotalMs: 7500 }
    const { events, error } = await drain(withRetry(inner, options))
    expect(retriesIn(events).map(({ delayMs }) => delayMs)).toEqual([1000, 2000, 4000])
    expect(error).toMatchObject({ status: 503 })
  })

  test('maxAttempts 0 never tries again', async () => {
    const inner = broken(503)
    const { events, error } = await drain(withRetry(inner, { maxAttempts: 0 }))
    expect([events, error, inner.requests.length]).toEqual([[], expect.objectContaining({ status: 503 }), 1])
  })

  test('onRetry gets each retry with its number, the maximum, the delay and the error', async () => {
    const heard: unknown[] = []
    const onRetry: RetryOptions['onRetry'] = (...args) => {
      heard.push(args)
      if (heard.length === 1) throw new Error('a broken listener')
      return Promise.reject(new Error('a broken async listener')) as never
    }
    const errors = [http(500), http(502)]
    const provider = withRetry(scripted(...errors, 'ok'), { clock: hurried(), random: () => 1, onRetry })
    expect((await drain(provider)).error).toBeUndefined()
    expect(heard).toEqual([
      [1, 3, 1000, errors[0]],
      [2, 3, 2000, errors[1]],
    ])
  })
})

describe('Retry-After', () => {
  test('D023 FP-01 a service that asks for 7 s is not asked again before, and the retry event says why and when', async () => {
    const clock = fakeClock()
    const inner = scripted(http(429), 'Now.', { options: { classifyError: asking(7000) } })
    const work = drain(withRetry(inner, { clock, random: () => 0 }))
    await clock.advance(6999)
    expect(inner.requests).toHaveLength(1)
    await clock.advance(1)
    expect(inner.requests).toHaveLength(2)
    const { events } = await work
    expect(events[0]).toEqual({ type: 'retry', attempt: 2, reason: 'slow down', code: 'busy', delayMs: 7000 })
    expect(events.at(-1)).toMatchObject({ type: 'reply' })
  })

  test('D023 the header gives seconds, milliseconds, or any kind of HTTP date', () => {
    const now = Date.UTC(2030, 0, 7, 12, 0, 0)
    expect(parseRetryAfter({ 'retry-after': '7' }, now)).toBe(7000)
    expect(parseRetryAfter({ 'retry-after': ' 0.25 ' }, now)).toBe(250)
    expect(parseRetryAfter({ 'retry-after': '0' }, now)).toBe(0)
    expect(parseRetryAfter({ 'retry-after-ms': '1500', 'retry-after': '7' }, now)).toBe(1500)
    expect(parseRetryAfter({ 'retry-after-ms': 'soon', 'retry-after': '7' }, now)).toBe(7000)
    expect(parseRetryAfter({ 'retry-after': 'Mon, 07 Jan 2030 12:00:30 GMT' }, now)).toBe(30_000)
    expect(parseRetryAfter({ 'retry-after': 'Monday, 07-Jan-30 12:00:30 GMT' }, now)).toBe(30_000)
    expect(parseRetryAfter({ 'retry-after': '999999' }, now)).toBe(999_999_000)
  })

  test('D023 a date without a zone is one in Greenwich, wherever we are', () => {
    const zone = process.env.TZ
    process.env.TZ = 'America/New_York'
    try {
      const now = Date.UTC(2030, 0, 7, 12, 0, 0)
      expect(parseRetryAfter({ 'retry-after': 'Mon Jan  7 12:00:30 2030' }, now)).toBe(30_000)
    } finally {
      if (zone === undefined) delete process.env.TZ
      else process.env.TZ = zone
    }
  })

  test.each([
    'Mon, 07 Jan 2030 11:59:59 GMT',
    '-5',
    'abc',
    '',
    '7s',
    '1e3',
    'Infinity',
    '9'.repeat(400),
    'Monday, whenever 5 GMT',
    'Mon, 99 Foo 2030 12:00:30 GMT',
    'January 2040',
  ])('FP-02 "%s" says nothing about how long to wait', (header) => {
    expect(parseRetryAfter({ 'retry-after': header }, Date.UTC(2030, 0, 7, 12))).toBeUndefined()
    expect(parseRetryAfter({}, 0)).toBeUndefined()
  })

  test.each([undefined, -1, Number.NaN])('FP-02 without a usable pause (%s) the backoff decides', async (ms) => {
    const inner = scripted(http(429), 'ok', { options: { classifyError: asking(ms) } })
    const { events } = await drain(withRetry(inner, { clock: hurried(), random: () => 0.5 }))
    expect(retriesIn(events)).toMatchObject([{ delayMs: 500 }])
  })

  test('FP-02 a longer pause than the ceiling ends at once in a typed error that says until when', async () => {
    const clock = fakeClock(Date.UTC(2030, 0, 1))
    const cause = http(429)
    const inner = scripted(cause, 'never', { options: { classifyError: asking(999_999_000) } })
    const { events, error } = await drain(withRetry(inner, { clock }))
    expect(events).toEqual([])
    expect(error).toBeInstanceOf(AgentRateLimitError)
    const retryAt = Date.UTC(2030, 0, 1) + 999_999_000
    expect(error).toMatchObject({ retryAt, provider: 'scripted', providerCode: 'busy', retryable: true, cause })
    expect((error as Error).message).toBe(
      'Provider "scripted" failed: the service asked to wait until 2030-01-12T13:46:39.000Z, longer than ' +
        'maxRetryAfterMs (60000) allows. Retry after that time. Service message: slow down',
    )
    expect([inner.requests.length, clock.pending]).toEqual([1, 0])
  })

  test('FP-02 a pause without end has a date too', async () => {
    const inner = scripted(http(429), { options: { classifyError: asking(Number.POSITIVE_INFINITY) } })
    expect((await drain(withRetry(inner))).error).toMatchObject({ retryAt: 8.64e15 })
  })

  test('FP-02 a pause that does not fit into the total any more is said with its end as well', async () => {
    const inner = broken(429, asking(50_000))
    const { events, error } = await drain(withRetry(inner, { clock: hurried(), maxTotalMs: 80_000 }))
    expect(retriesIn(events)).toHaveLength(1)
    expect(error).toMatchObject({ name: 'AgentRateLimitError', retryAt: 50_000 })
    expect((error as Error).message).toContain('maxTotalMs (80000)')
  })

  test('FP-02 the typed error leaves a run as it is', async () => {
    const inner = scripted(http(429), { options: { classifyError: asking(61_000) } })
    const agent = createAgent({ provider: withRetry(inner, { clock: fakeClock() }) })
    const error = await agent.run({ prompt: 'Hello?' }).catch((error) => error)
    expect(error).toBeInstanceOf(AgentRateLimitError)
    expect(error.retryAt).toBe(61_000)
  })

  test('a decorator further out does not wait for what one further in would not wait for', async () => {
    const cause = http(429)
    const busy = asking(61_000)
    const classifyError = (error: unknown) => (error === cause ? busy() : null)
    const inner = scripted(cause, 'never', { options: { classifyError } })
    const { error } = await drain(withRetry(withRetry(inner), { clock: hurried() }))
    expect(error).toMatchObject({ name: 'AgentRateLimitError', cause })
    expect(inner.requests).toHaveLength(1)
  })
})

describe('what is retried', () => {
  const deep = (code: string, depth: number): Error =>
    depth === 0 ? Object.assign(new Error('deep'), { code }) : new Error('outer', { cause: deep(code, depth - 1) })

  const passing: unknown[] = [
    ...[408, 409, 429, 500, 502, 503, 504, 529].map((status) => Object.assign(new Error('no'), { status })),
    Object.assign(new Error('no'), { statusCode: 503 }),
    ...['ECONNRESET', 'ECONNREFUSED', 'ETIMEDOUT', 'ENOTFOUND', 'EAI_AGAIN', 'EPIPE'].map((code) => deep(code, 0)),
    deep('UND_ERR_SOCKET', 1),
    deep('UND_ERR_CONNECT_TIMEOUT', 5),
    new Error('Rate limit reached for this model'),
    new Error('rate_limit_error'),
    new Error('Too Many Requests'),
    new Error('HTTP 429: try later'),
    'the server said 429.',
    new AgentProviderError('no', { provider: 'p', retryable: true }),
  ]
  test.each(passing.map((error) => [shown(error), error]))('D024 %s is a passing fault', async (_, error) => {
    const { events, error: thrown } = await drain(withRetry(throwing(error), { clock: hurried(), maxAttempts: 1 }))
    expect(retriesIn(events)).toHaveLength(1)
    expect(thrown).toBe(error)
  })

  const circular = new Error('circular')
  circular.cause = circular
  const lasting: unknown[] = [
    ...[400, 401, 403, 404, 413, 422, 501].map((status) => Object.assign(new Error('no'), { status })),
    Object.assign(new Error('rate limits must be numbers'), { status: 400 }),
    deep('ECONNRESET', 6),
    deep('ENOENT', 0),
    circular,
    new Error('an accurate limit of 1.429 or 4290'),
    new AgentProviderError('rate limit', { provider: 'p' }),
    new TypeError('x is not a function'),
    Object.assign(new Error('no'), { status: 'x', code: {} }),
    undefined,
    null,
    Object.create(null),
    Symbol('s'),
  ]
  test.each(lasting.map((error) => [shown(error), error]))('D024 %s is not', async (_, error) => {
    const { events, error: thrown } = await drain(withRetry(throwing(error), { clock: hurried() }))
    expect(events).toEqual([])
    expect(thrown).toBe(error)
  })

  test('D024 the list of status codes can be another one', async () => {
    const options = { clock: hurried(), retryableStatusCodes: [418] }
    expect((await drain(withRetry(scripted(http(418), 'ok'), options))).error).toBeUndefined()
    expect((await drain(withRetry(scripted(http(429), 'ok'), options))).error).toMatchObject({ status: 429 })
  })

  const content: ModelEvent[] = [
    { type: 'text', delta: 'So' },
    { type: 'thinking', delta: 'Hm' },
    { type: 'tool_start', id: 'c', name: 'look' },
    { type: 'tool_args', id: 'c', delta: '{' },
  ]
  test.each(content.map((event) => [event.type, event] as const))(
    'D024 nothing is retried once a piece of %s has come',
    async (_, event) => {
      const error = http(503)
      const inner = breaking([{ type: 'start' }, event], error)
      const result = await drain(withRetry(inner, { clock: hurried() }))
      expect(result).toEqual({ events: [{ type: 'start' }, event], error })
    },
  )

  test('D024 events that come before any content do not keep a request from being retried', async () => {
    const before: ModelEvent[] = [
      { type: 'start' },
      { type: 'oauth_refresh', expires: 5 },
      { type: 'repair', rule: 'r', message: 0 },
      { type: 'retry', attempt: 2, reason: 'inner' },
    ]
    const { events } = await drain(withRetry(breaking(before, http(503)), { clock: hurried(), maxAttempts: 1 }))
    expect(events.map(({ type }) => type)).toEqual([
      ...before.map(({ type }) => type),
      'retry',
      ...before.map(({ type }) => type),
    ])
  })

  test('retries of a provider further in are numbered on', async () => {
    const again: ModelEvent = { type: 'retry', attempt: 2, reason: 'inner' }
    const inner = breaking([again, { type: 'start' }], http(503))
    const { events } = await drain(withRetry(inner, { clock: hurried(), maxAttempts: 2 }))
    expect(retriesIn(events).map(({ attempt }) => attempt)).toEqual([2, 3, 4, 5, 6])
  })

  test('a stream that cannot even be opened counts as failed', async () => {
    const good = scripted('ok')
    let opened = 0
    const stream: Provider['stream'] = (request, signal) => {
      if (++opened === 1) throw http(503)
      return good.stream(request, signal)
    }
    const { events } = await drain(withRetry({ meta: good.meta, stream }, { clock: hurried() }))
    expect(events.map(({ type }) => type)).toEqual(['retry', 'start', 'text', 'reply'])
  })
})

describe('F006 classifyError', () => {
  const saying = (known: ClassifiedError | null | undefined): Provider['classifyError'] => {
    return () => known as ClassifiedError | null
  }
  const retries = async (error: Error, classifyError: Provider['classifyError']): Promise<number> => {
    const inner = scripted(error, 'ok', ...(classifyError ? [{ options: { classifyError } }] : []))
    return retriesIn((await drain(withRetry(inner, { clock: hurried() }))).events).length
  }

  test('F006 an explicit retryable decides against whatever the error looks like', async () => {
    expect(await retries(http(503), saying({ kind: 'provider_error', retryable: false }))).toBe(0)
    expect(await retries(http(400), saying({ kind: 'provider_error', retryable: true }))).toBe(1)
  })

  test('F006 where it says nothing, or fails, the error itself is looked at', async () => {
    const broken = () => {
      throw new Error('broken')
    }
    for (const classify of [undefined, saying(null), saying(undefined), saying({ kind: 'provider_error' }), broken]) {
      expect(await retries(http(503), classify)).toBe(1)
      expect(await retries(http(400), classify)).toBe(0)
    }
  })

  test('F006 a rate limit is a passing fault unless it says otherwise', async () => {
    expect(await retries(new Error('no'), saying({ kind: 'rate_limited' }))).toBe(1)
    expect(await retries(http(429), saying({ kind: 'rate_limited', retryable: false }))).toBe(0)
  })

  test('F006 some kinds are never retried, whatever else is said', async () => {
    for (const kind of ['context_exceeded', 'aborted', 'auth_failed', 'quota_exceeded'] as const)
      expect(await retries(http(503), saying({ kind, retryable: true }))).toBe(0)
    expect(await retries(http(503), saying({ kind: 'provider_error', retryable: true, refused: {} }))).toBe(0)
  })

  test('F006 a whole run continues or fails as the policy says, and its hooks are told of the retry', async () => {
    const run = async (retryable: boolean) => {
      const classifyError = (): ClassifiedError => ({ kind: 'provider_error', message: 'a hiccup', retryable })
      const inner = scripted(new Error('odd'), [call('c1', 'noop')], new Error('odd'), 'Done.', {
        options: { classifyError },
      })
      const agent = createAgent({ provider: withRetry(inner, { clock: hurried(), random: () => 0.5 }) })
      const heard: unknown[] = []
      agent.hooks.hook('stream:retry', ({ attempt, reason, delayMs }) => heard.push([attempt, reason, delayMs]))
      const outcome = await agent.run({ prompt: 'Go.' }).then(
        () => textOf(agent.turns.at(-1)!),
        (error: Error) => error.message,
      )
      return { outcome, heard }
    }
    const hiccup = [2, 'a hiccup', 500]
    expect(await run(true)).toEqual({ outcome: 'Done.', heard: [hiccup, hiccup] })
    expect(await run(false)).toEqual({ outcome: 'Provider "scripted" failed: a hiccup', heard: [] })
  })
})

describe('an abort', () => {
  test('FP-38 ends the wait at once with the reason of the signal, and leaves no timer and no listener', async () => {
    const clock = fakeClock()
    const inner = scripted(http(503), 'never')
    const abort = new AbortController()
    const work = drain(withRetry(inner, { clock, random: () => 1 }), abort.signal)
    await clock.advance(400)
    expect(clock.pending).toBe(1)
    abort.abort('enough')
    expect([clock.pending, getEventListeners(abort.signal, 'abort').length]).toEqual([0, 0])
    expect((await work).error).toBe('enough')
    expect(inner.requests).toHaveLength(1)
  })

  test('FP-38 between a failure and the wait is noticed before the wait begins', async () => {
    const clock = fakeClock()
    const abort = new AbortController()
    const stream = iterate(withRetry(broken(503), { clock, random: () => 1 }), abort.signal)
    expect((await stream.next()).value).toMatchObject({ type: 'retry' })
    abort.abort('enough')
    await expect(stream.next()).rejects.toBe('enough')
    expect(clock.pending).toBe(0)
    expect(await stream.next()).toEqual({ done: true, value: undefined })
  })

  test('FP-38 makes a failure final, however passing it is', async () => {
    const abort = new AbortController()
    const error = http(503)
    const step: Step = () => {
      abort.abort('enough')
      return error
    }
    const result = await drain(withRetry(scripted(step, 'never')), abort.signal)
    expect(result).toEqual({ events: [], error })
  })

  test('FP-38 at any of 200 moments of backing off, nothing is left behind', async () => {
    const clock = fakeClock()
    const signals: AbortSignal[] = []
    const work = Array.from({ length: 200 }, (_, i) => {
      const abort = new AbortController()
      signals.push(abort.signal)
      clock.timer((i * 7919) % 6000, () => abort.abort(i))
      return drain(withRetry(broken(503), { clock, random: () => 1 }), abort.signal)
    })
    await clock.advance(6000)
    for (const [i, { error }] of (await Promise.all(work)).entries()) expect(error).toBe(i)
    expect(clock.pending).toBe(0)
    for (const signal of signals) expect(getEventListeners(signal, 'abort')).toHaveLength(0)
  })

  test('a wait that is over leaves no listener on the signal either', async () => {
    const { signal } = new AbortController()
    await drain(withRetry(scripted(http(503), http(503), 'ok'), { clock: hurried() }), signal)
    expect(getEventListeners(signal, 'abort')).toHaveLength(0)
  })
})

describe('the iterator', () => {
  test('hands out the very promises of the inner one once content has come, also after a retry', async () => {
    const promises: Promise<IteratorResult<ModelEvent>>[] = []
    const inner = breaking([], http(503))
    const good = scripted('A text in several pieces.', { options: { chunk: 4 } })
    let opened = 0
    const stream: Provider['stream'] = (request, signal) => {
      if (++opened === 1) return inner.stream(request, signal)
      const events = good.stream(request, signal)[Symbol.asyncIterator]()
      const next = () => {
        const promise = events.next()
        promises.push(promise)
        return promise
      }
      return { [Symbol.asyncIterator]: () => ({ next }) }
    }
    const stream1 = iterate(withRetry({ meta: good.meta, stream }, { clock: hurried() }))
    const first = [await stream1.next(), await stream1.next(), await stream1.next()]
    expect(first.map(({ value }) => value.type)).toEqual(['retry', 'start', 'text'])
    for (let i = 0; i < 6; i++) {
      const promise = stream1.next()
      expect(promise).toBe(promises.at(-1))
      await promise
    }
  })

  test.each(['return', 'throw'] as const)('%s closes the inner stream, wherever it is', async (way) => {
    for (const pulls of [1, 2, 3]) {
      let closed = 0
      const inner: Provider = {
        meta: { name: 'open', defaultModel: 'm' },
        async *stream() {
          try {
            yield { type: 'start' }
            for (let i = 0; i < 100; i++) yield { type: 'text', delta: '.' }
          } finally {
            closed++
          }
        },
      }
      const stream = iterate(withRetry(inner))
      for (let i = 0; i < pulls; i++) await stream.next()
      if (way === 'return') expect(await stream.return!()).toEqual({ done: true, value: undefined })
      else await expect(stream.throw!(new Error('thrown in'))).rejects.toThrow('thrown in')
      expect(closed).toBe(1)
      expect(await stream.next()).toEqual({ done: true, value: undefined })
    }
  })

  test('is over once it was left, even if the inner one goes on', async () => {
    const next = async (): Promise<IteratorResult<ModelEvent>> => ({ done: false, value: { type: 'text', delta: '.' } })
    const inner: Provider = {
      meta: { name: 'endless', defaultModel: 'm' },
      stream: () => ({ [Symbol.asyncIterator]: () => ({ next }) }),
    }
    const stream = iterate(withRetry(inner))
    await stream.next()
    await stream.return!()
    expect(await stream.next()).toEqual({ done: true, value: undefined })
  })

  test('leaving it while it waits ends the wait', async () => {
    const clock = fakeClock()
    const inner = broken(503)
    const stream = iterate(withRetry(inner, { clock, random: () => 1 }))
    await stream.next()
    const pending = stream.next()
    await stream.return!()
    expect(await pending).toEqual({ done: true, value: undefined })
    expect([clock.pending, inner.requests.length]).toEqual([0, 1])
  })
})

describe('the options', () => {
  const wrong: [options: object, message: string][] = [
    [{ maxAttempts: -1 }, 'withRetry option "maxAttempts" must be a whole number, 0 or more, got -1'],
    [{ maxAttempts: '3' }, 'withRetry option "maxAttempts" must be a whole number, 0 or more, got "3"'],
    [{ initialDelayMs: Number.NaN }, 'withRetry option "initialDelayMs" must be a number of milliseconds'],
    [{ maxDelayMs: -5 }, 'withRetry option "maxDelayMs" must be a number of milliseconds, 0 or more, got -5'],
    [{ backoffMultiplier: 0.5 }, 'withRetry option "backoffMultiplier" must be a number of at least 1, got 0.5'],
    [{ retryableStatusCodes: 429 }, 'withRetry option "retryableStatusCodes" must be a list of HTTP status codes'],
    [{ retryableStatusCodes: [200] }, 'withRetry option "retryableStatusCodes" must be a list'],
    [{ maxRetryAfterMs: null }, 'withRetry option "maxRetryAfterMs" must be a number of milliseconds'],
    [{ maxTotalMs: '1h' }, 'withRetry option "maxTotalMs" must be a number of milliseconds, 0 or more, got "1h"'],
    [{ onRetry: true }, 'withRetry option "onRetry" must be a function, got true'],
    [{ clock: Date }, 'withRetry option "clock" must be a clock with now() and timer()'],
    [{ random: 0.5 }, 'withRetry option "random" must be a function'],
    [{ maxAttemps: 2 }, 'withRetry has no option "maxAttemps", did you mean "maxAttempts"?'],
    [null as never, 'withRetry takes its options as an object, got null'],
  ]
  test.each(wrong)('%o are refused', (options, message) => {
    expect(() => withRetry(scripted(), options)).toThrow(TypeError)
    expect(() => withRetry(scripted(), options)).toThrow(message)
  })

  test('an option that is undefined is as good as absent', async () => {
    const options = { maxAttempts: undefined, clock: hurried() } as unknown as RetryOptions
    expect(retriesIn((await drain(withRetry(broken(503), options))).events)).toHaveLength(3)
  })
})

describe('a scripted provider with retries keeps the contract:', () => {
  const asking = (text: string) => ({
    messages: [{ role: 'user' as const, content: [{ type: 'text' as const, text }] }],
  })
  const requests = { text: asking('talk'), toolCall: asking('call'), failing: asking('fail') }
  const answer = ({ messages }: ModelRequest): Step => {
    const asked = textOf(messages.at(-1)!)
    if (asked === 'fail') return new Error('the service is down')
    if (asked === 'call') return [call('c1', 'lookup', { word: 'ä' }), call('c2', 'noop')]
    return { thinking: 'Something to think about.', text: 'An answer that comes in several pieces.' }
  }
  const make = () => {
    const inner = scripted(http(503), ...Array.from({ length: 5 }, () => answer))
    return withRetry(inner, { clock: hurried() })
  }
  for (const { name, run } of providerContract(make, requests)) test(name, run)
})

/** Time that passes as soon as a timer is set. */
function hurried(): Clock {
  return {
    now: () => 0,
    timer(_, fn) {
      let isOff = false
      queueMicrotask(() => isOff || fn())
      return () => (isOff = true)
    },
  }
}

const http = (status: number): Error => Object.assign(new Error('the service failed'), { status })

const asking = (retryAfterMs: number | undefined) => (): ClassifiedError => ({
  kind: 'rate_limited',
  providerCode: 'busy',
  message: 'slow down',
  ...(retryAfterMs !== undefined && { retryAfterMs }),
})

/** Fails each time, up to a hundred times. */
function broken(status: number, classifyError?: Provider['classifyError']) {
  const steps = Array.from({ length: 100 }, () => http(status))
  return scripted(...steps, ...(classifyError ? [{ options: { classifyError } }] : []))
}

const throwing = (error: unknown): Provider => breaking([], error)

/** Yields the events and fails, each time. */
function breaking(events: readonly ModelEvent[], error: unknown): Provider {
  return {
    meta: { name: 'breaking', defaultModel: 'm' },
    async *stream() {
      yield* events
      throw error
    },
  }
}

/** Notes when it was asked. */
function timed(provider: Provider, clock: Clock, asked: number[]): Provider {
  const stream: Provider['stream'] = (request, signal) => {
    asked.push(clock.now())
    return provider.stream(request, signal)
  }
  return { ...provider, stream }
}

const iterate = (provider: Provider, signal = new AbortController().signal): AsyncIterator<ModelEvent> =>
  provider.stream(request, signal)[Symbol.asyncIterator]()

async function drain(provider: Provider, signal?: AbortSignal): Promise<{ events: ModelEvent[]; error?: unknown }> {
  const events: ModelEvent[] = []
  const stream = iterate(provider, signal)
  try {
    for (let i = 0; i < 1000; i++) {
      const { done, value } = await stream.next()
      if (done) return { events }
      events.push(value)
    }
  } catch (error) {
    return { events, error }
  }
  throw new Error('the stream does not end')
}

const retriesIn = (events: readonly ModelEvent[]) => events.filter((event) => event.type === 'retry')

function shown(error: unknown): string {
  if (!(error instanceof Error)) return typeof error === 'string' ? `"${error}"` : `a thrown ${typeof error}`
  const { status, statusCode, code } = error as Error & Record<string, unknown>
  const facts = [status, statusCode, typeof code === 'string' ? code : undefined].filter((fact) => fact !== undefined)
  return `${error.name} "${error.message}" ${facts.join(' ')}`.trim()
}

import { getEventListeners } from 'node:events'
import { describe, expect, test } from 'vitest'
import type { ModelEvent, ModelRequest, Provider } from '../core/provider.ts'
import { textOf } from '../core/turn.ts'
import { createAgent } from '../create-agent.ts'
import { call, type FakeClock, fakeClock, providerContract, type Step, scripted } from '../testing/index.ts'
import { withRetry } from './retry.ts'
import { StalledError, withWatchdog } from './watchdog.ts'

const request: ModelRequest = {
  model: 'script-1',
  system: '',
  messages: [{ role: 'user', content: [{ type: 'text', text: 'Hello?' }] }],
  tools: [],
  maxTokens: 1024,
  thinking: 'off',
  cache: false,
}
const start: ModelEvent = { type: 'start' }
const text: ModelEvent = { type: 'text', delta: 'a word ' }
const reply: ModelEvent = { type: 'reply', content: [], usage: { input: 1, output: 1 }, stop: 'end' }

describe('a stream that stalls', () => {
  test('FP-13 ends after 120 s without an event, as something that can be retried', async () => {
    const clock = fakeClock()
    const inner = played(clock, [
      [0, start],
      [1000, text],
      [119_999, text],
      [Infinity, reply],
    ])
    const provider = withWatchdog(inner, { clock })
    const work = drain(provider)
    await clock.advance(1000 + 119_999 + 119_999)
    expect(work.error).toBeUndefined()
    await clock.advance(1)
    expect(work.events).toEqual([start, text, text])
    expect(work.error).toBeInstanceOf(StalledError)
    expect(work.error).toMatchObject({
      name: 'StalledError',
      code: 'ETIMEDOUT',
      message:
        'the stream stalled: no content for 120 s; for longer pauses raise betweenContentMs of withWatchdog (0 = off)',
    })
    expect(provider.classifyError!(work.error)).toEqual({
      kind: 'provider_error',
      providerCode: 'stalled',
      retryable: true,
      message: work.error!.message,
    })
    expect(clock.pending).toBe(0)
  })

  test('FP-13 ends after 300 s without a first event; the greeting of the service is none', async () => {
    const clock = fakeClock()
    const refresh: ModelEvent = { type: 'oauth_refresh' }
    const repair: ModelEvent = { type: 'repair', rule: 'r', message: 0 }
    const inner = played(clock, [
      [0, start],
      [100_000, refresh],
      [100_000, repair],
      [Infinity, reply],
    ])
    const work = drain(withWatchdog(inner, { clock }))
    await clock.advance(299_999)
    expect(work.error).toBeUndefined()
    await clock.advance(1)
    expect(work.error?.message).toBe(
      'no content within 300 s; for a model that needs longer raise firstContentMs of withWatchdog (0 = off)',
    )
    expect(clock.pending).toBe(0)
  })

  test('FP-13 aborts the request, so that its connection is closed', async () => {
    const clock = fakeClock()
    const signals: AbortSignal[] = []
    const inner: Provider = {
      meta: { name: 'listening', defaultModel: 'm' },
      async *stream(_, signal) {
        signals.push(signal)
        yield text
        await new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('socket closed'))))
      },
    }
    const work = drain(withWatchdog(inner, { clock }))
    await clock.advance(120_000)
    expect(work.error).toBeInstanceOf(StalledError)
    expect(signals.map(({ aborted, reason }) => [aborted, reason])).toEqual([[true, work.error]])
  })

  test('FP-13 is closed even if the provider ignores its signal, and what it does later is ignored', async () => {
    for (const late of ['a result', 'a failure'] as const) {
      const clock = fakeClock()
      let wake: (() => void) | undefined
      let returned = 0
      const next = () =>
        new Promise<IteratorResult<ModelEvent>>((resolve, reject) => {
          wake = () => (late === 'a result' ? resolve({ done: false, value: text }) : reject(new Error('too late')))
        })
      const close = () => {
        returned++
        return new Promise<never>(() => {})
      }
      const iterator = { next, return: close }
      const stream: Provider['stream'] = () => ({ [Symbol.asyncIterator]: () => iterator })
      const watched = iterate(withWatchdog({ meta: { name: 'deaf', defaultModel: 'm' }, stream }, { clock }))
      const failing = expect(watched.next()).rejects.toThrow(StalledError)
      await clock.advance(300_000)
      await failing
      wake!()
      await clock.advance(1)
      expect(returned).toBe(1)
      expect(await watched.next()).toEqual({ done: true, value: undefined })
      expect(await watched.return!()).toEqual({ done: true, value: undefined })
    }
  })

  test('FP-14 ends on time although pings and comments keep flowing', async () => {
    const clock = fakeClock()
    let pings = 0
    const inner: Provider = {
      meta: { name: 'pinging', defaultModel: 'm' },
      async *stream() {
        yield text
        for (; pings < 120; pings++) await new Promise<void>((resolve) => void clock.timer(5000, resolve))
        yield reply
      },
    }
    const work = drain(withWatchdog(inner, { clock }))
    await clock.advance(119_999)
    expect([pings, work.error]).toEqual([23, undefined])
    await clock.advance(1)
    expect(work.error).toBeInstanceOf(StalledError)
  })

  test('FP-14 ends on time although events that are no content keep coming', async () => {
    const clock = fakeClock()
    const refreshes = Array.from({ length: 50 }, (): Beat => [5000, { type: 'oauth_refresh' }])
    const work = drain(withWatchdog(played(clock, [[0, text], ...refreshes, [0, reply]]), { clock }))
    await clock.advance(119_999)
    expect(work.error).toBeUndefined()
    await clock.advance(1)
    expect(work.error).toBeInstanceOf(StalledError)
  })

  test('FP-13 is tried again by withRetry around it', async () => {
    const clock = fakeClock()
    let asked = 0
    const silent = played(clock, [
      [0, start],
      [Infinity, reply],
    ])
    const good = scripted('Here I am.')
    const inner: Provider = {
      meta: good.meta,
      stream: (request, signal) => (++asked === 1 ? silent : good).stream(request, signal),
    }
    const watched = withWatchdog(inner, { clock, firstContentMs: 100_000 })
    const agent = createAgent({ provider: withRetry(watched, { clock, random: () => 1 }) })
    const reasons: string[] = []
    agent.hooks.hook('stream:retry', ({ reason }) => reasons.push(reason))
    const run = agent.run({ prompt: 'Hello?' })
    await clock.advance(101_000)
    await run
    expect(textOf(agent.turns.at(-1)!)).toBe('Here I am.')
    expect(reasons).toEqual([expect.stringContaining('no content within 100 s')])
    expect(clock.pending).toBe(0)
  })

  test('FP-13 fails a run with a message that says what can be done', async () => {
    const clock = fakeClock()
    const provider = withWatchdog(played(clock, [[Infinity, reply]]), { clock, firstContentMs: 500 })
    const agent = createAgent({ provider })
    const failing = expect(agent.run({ prompt: 'Hello?' })).rejects.toMatchObject({
      name: 'AgentProviderError',
      message: expect.stringMatching(/^Provider "played" failed: no content within 500 ms; .*firstContentMs/),
      providerCode: 'stalled',
      retryable: true,
    })
    await clock.advance(500)
    await failing
  })
})

describe('no stall is', () => {
  test('a stream whose every pause is shorter than allowed, for half an hour', async () => {
    const clock = fakeClock()
    const beats = Array.from({ length: 15 }, (): Beat => [119_000, text])
    const work = drain(withWatchdog(played(clock, [...beats, [0, reply]]), { clock }))
    await clock.advance(15 * 119_000)
    expect([work.error, work.events.length, work.isDone]).toEqual([undefined, 16, true])
    expect(clock.pending).toBe(0)
  })

  test('a reader that takes its time', async () => {
    const clock = fakeClock()
    const beats: Beat[] = [
      [0, start],
      [250_000, text],
      [100_000, text],
      [100_000, reply],
    ]
    const stream = iterate(withWatchdog(played(clock, beats), { clock }))
    for (const [ms, event] of beats) {
      const pending = stream.next()
      await clock.advance(ms)
      expect((await pending).value).toBe(event)
      await clock.advance(3_600_000)
    }
    expect(clock.pending).toBe(0)
    expect((await stream.next()).done).toBe(true)
  })

  test('the time without a pending next(); the time before it still counts', async () => {
    const clock = fakeClock()
    const stream = iterate(
      withWatchdog(
        played(clock, [
          [200_000, start],
          [Infinity, reply],
        ]),
        { clock },
      ),
    )
    const first = stream.next()
    await clock.advance(200_000)
    expect((await first).value).toBe(start)
    await clock.advance(3_600_000)
    let error: unknown
    stream.next().catch((thrown) => (error = thrown))
    await clock.advance(99_999)
    expect(error).toBeUndefined()
    await clock.advance(1)
    expect(error).toBeInstanceOf(StalledError)
  })

  test('a new attempt of a provider further in, which has all its time again, and its announced pause besides', async () => {
    const clock = fakeClock()
    const again: ModelEvent = { type: 'retry', attempt: 2, reason: 'busy', delayMs: 60_000 }
    const beats: Beat[] = [
      [0, text],
      [119_000, again],
      [359_999, text],
      [Infinity, reply],
    ]
    const work = drain(withWatchdog(played(clock, beats), { clock }))
    await clock.advance(119_000 + 359_999)
    expect(work.events).toEqual([text, again, text])
    await clock.advance(119_999)
    expect(work.error).toBeUndefined()
    await clock.advance(1)
    expect(work.error).toBeInstanceOf(StalledError)
  })

  test('anything, for limits of 0', async () => {
    const clock = fakeClock()
    const work = drain(
      withWatchdog(
        played(clock, [
          [10 ** 9, text],
          [10 ** 9, reply],
        ]),
        { clock, firstContentMs: 0, betweenContentMs: 0, totalMs: 0 },
      ),
    )
    await clock.advance(1)
    expect(clock.pending).toBe(1) // that of the provider
    await clock.advance(2 * 10 ** 9)
    expect(work.isDone).toBe(true)
  })
})

describe('R09 a service that keeps a run waiting', () => {
  test('R09 and never answers is given up on after five minutes over all tries', async () => {
    for (const [firstContentMs, tries, untilMs] of [
      [undefined, 1, 300_000],
      [100_000, 3, 307_000],
    ] as const) {
      const clock = fakeClock()
      let asked = 0
      const silent = played(clock, [[Infinity, reply]])
      const counted: Provider = {
        ...silent,
        stream(...args) {
          asked++
          return silent.stream(...args)
        },
      }
      const watched = withWatchdog(counted, { clock, ...(firstContentMs !== undefined && { firstContentMs }) })
      const work = drain(withRetry(watched, { clock, random: () => 1 }))
      await clock.advance(untilMs)
      expect([asked, work.error?.message]).toEqual([tries, expect.stringContaining('no content within')])
      expect(clock.pending).toBe(0)
    }
  })

  test.each([text, { type: 'alive' } satisfies ModelEvent])(
    'R09 and sends %o again and again is given up on after half an hour',
    async (drop) => {
      const clock = fakeClock()
      const drops = Array.from({ length: 100 }, (): Beat => [100_000, drop])
      const provider = withWatchdog(played(clock, [...drops, [0, reply]]), { clock })
      const work = drain(provider)
      await clock.advance(1_800_000)
      expect(work.error?.message).toBe(
        'the reply was not complete after 1800 s; for longer ones raise totalMs of withWatchdog (0 = off)',
      )
      expect(provider.classifyError!(work.error)).toMatchObject({ providerCode: 'stalled', retryable: false })
    },
  )
})

test('R09 a service that was as slow to begin as it is to go on is not asked again', async () => {
  for (const [beginMs, retryable] of [
    [120_000, true],
    [120_001, false],
  ] as const) {
    const clock = fakeClock()
    const provider = withWatchdog(
      played(clock, [
        [beginMs, text],
        [Infinity, reply],
      ]),
      { clock },
    )
    const work = drain(provider)
    await clock.advance(beginMs + 120_000)
    expect(provider.classifyError!(work.error)).toMatchObject({ providerCode: 'stalled', retryable })
  }
})

describe('the limits', () => {
  test('may depend on the model, and one of them may be off', async () => {
    const clock = fakeClock()
    const models: string[] = []
    const firstContentMs = (model: string) => {
      models.push(model)
      return 0
    }
    const betweenContentMs = () => 50
    const inner = played(clock, [
      [10 ** 6, text],
      [Infinity, reply],
    ])
    const work = drain(withWatchdog(inner, { clock, firstContentMs, betweenContentMs }))
    await clock.advance(10 ** 6 + 49)
    expect(work.events).toEqual([text])
    expect(work.error).toBeUndefined()
    await clock.advance(1)
    expect(work.error?.message).toContain('no content for 50 ms')
    expect(models).toEqual(['script-1'])
  })

  test('change with a new attempt, whichever is shorter', async () => {
    const clock = fakeClock()
    const again: ModelEvent = { type: 'retry', attempt: 2, reason: 'busy' }
    const inner = played(clock, [
      [0, text],
      [5, again],
      [Infinity, reply],
    ])
    const work = drain(withWatchdog(inner, { clock, firstContentMs: 100, betweenContentMs: 10_000 }))
    await clock.advance(104)
    expect(work.error).toBeUndefined()
    await clock.advance(1)
    expect(work.error?.message).toContain('no content within 100 ms')
  })

  test('must make sense, also those that a function gives', async () => {
    const wrong: [options: object, message: string][] = [
      [{ firstContentMs: -1 }, 'withWatchdog option "firstContentMs" must be a number of milliseconds (0 = off)'],
      [
        { betweenContentMs: '2m' },
        'must be a number of milliseconds (0 = off) or a function (model) => number, got "2m"',
      ],
      [{ firstContentMs: Infinity }, 'got Infinity'],
      [{ clock: {} }, 'withWatchdog option "clock" must be a clock with now() and timer()'],
      [{ betweenContentsMs: 5 }, 'withWatchdog has no option "betweenContentsMs", did you mean "betweenContentMs"'],
    ]
    for (const [options, message] of wrong) {
      expect(() => withWatchdog(scripted(), options)).toThrow(TypeError)
      expect(() => withWatchdog(scripted(), options)).toThrow(message)
    }
    const inner = scripted('ok')
    const work = drain(withWatchdog(inner, { firstContentMs: () => Number.NaN }))
    await work.end
    expect(work.error?.message).toMatch(/^withWatchdog: firstContentMs\("script-1"\) must be a number .*, got NaN$/)
    expect(inner.requests).toEqual([])
  })
})

describe('what is left behind', () => {
  test('one timer at most, and none per event', async () => {
    const clock = counting(fakeClock())
    const inner = scripted('x'.repeat(10_000), { options: { chunk: 1 } })
    const work = drain(withWatchdog(inner, { clock }))
    await work.end
    expect(work.events).toHaveLength(10_002)
    expect(clock.set).toBeLessThanOrEqual(3)
    expect(clock.pending).toBe(0)
  })

  test('no timer and no listener, however it ends', async () => {
    const ways: Record<string, [Step, (stream: AsyncIterator<ModelEvent>) => Promise<unknown>]> = {
      'at its end': [
        'ok',
        async (stream) => {
          for (let i = 0; i < 10 && !(await stream.next()).done; i++);
        },
      ],
      'by a failure': [new Error('down'), (stream) => stream.next().catch(() => {})],
      'left after the first event': [
        'ok',
        async (stream) => {
          await stream.next()
          await stream.return!()
        },
      ],
      'left before the first event': ['ok', (stream) => stream.return!()],
      'left by throwing': [
        'ok',
        async (stream) => {
          await stream.next()
          await stream.throw!(new Error('thrown in')).catch(() => {})
        },
      ],
      'left while waiting': [
        () => new Promise<Step>(() => {}),
        async (stream) => {
          const pending = stream.next()
          void stream.return!()
          expect(await pending).toEqual({ done: true, value: undefined })
        },
      ],
    }
    for (const [way, [step, end]] of Object.entries(ways)) {
      const clock = fakeClock()
      const { signal } = new AbortController()
      const stream = iterate(withWatchdog(scripted(step), { clock }), signal)
      await end(stream)
      expect([way, clock.pending, getEventListeners(signal, 'abort').length]).toEqual([way, 0, 0])
      expect(await stream.next()).toEqual({ done: true, value: undefined })
    }
  })

  test('a provider that is told when it is left', async () => {
    let closed = 0
    const inner: Provider = {
      meta: { name: 'open', defaultModel: 'm' },
      async *stream() {
        try {
          for (let i = 0; i < 100; i++) yield text
        } finally {
          closed++
        }
      },
    }
    const stream = iterate(withWatchdog(inner))
    await stream.next()
    await stream.return!()
    expect(closed).toBe(1)
  })

  test('no timer after the reply, even without a further next()', async () => {
    const clock = fakeClock()
    const stream = iterate(withWatchdog(scripted('ok'), { clock }))
    for (let i = 0; i < 3; i++) await stream.next()
    expect(clock.pending).toBe(0)
  })
})

describe('an abort from outside', () => {
  test('FP-38 reaches the provider and is not waited for: the reason comes back at once', async () => {
    const clock = fakeClock()
    const abort = new AbortController()
    const signals: AbortSignal[] = []
    const deaf: Step = (_, signal) => {
      signals.push(signal)
      return new Promise<Step>(() => {})
    }
    const work = drain(withWatchdog(scripted(deaf), { clock }), abort.signal)
    await clock.advance(5)
    expect(clock.pending).toBe(1)
    abort.abort('enough')
    expect([clock.pending, getEventListeners(abort.signal, 'abort').length]).toEqual([0, 0])
    await work.end
    expect([work.error, signals[0]!.aborted, signals[0]!.reason]).toEqual(['enough', true, 'enough'])
  })

  test('FP-38 without a pending next() rejects the following next(), also if the provider ignores its signal', async () => {
    const clock = fakeClock()
    const abort = new AbortController()
    const stream = iterate(
      withWatchdog(
        played(clock, [
          [0, text],
          [0, text],
          [0, reply],
        ]),
        { clock },
      ),
      abort.signal,
    )
    await stream.next()
    await stream.next()
    expect(clock.pending).toBe(1)
    abort.abort('enough')
    expect(clock.pending).toBe(0)
    await expect(stream.next()).rejects.toBe('enough')
    expect((await stream.next()).done).toBe(true)
  })

  test('FP-38 beforehand keeps the request from being sent', async () => {
    const inner = scripted('ok')
    const work = drain(withWatchdog(inner), AbortSignal.abort('before'))
    await work.end
    expect([work.error, inner.requests.length]).toEqual(['before', 0])
  })
})

test('other errors are classified by the provider, if it can', () => {
  const classifyError = () => ({ kind: 'auth_failed' as const })
  expect(withWatchdog(scripted({ options: { classifyError } })).classifyError!(new Error('x'))).toEqual({
    kind: 'auth_failed',
  })
  expect(withWatchdog(scripted()).classifyError!(new Error('x'))).toBeNull()
})

test('a provider whose iterator breaks the rules fails like one that throws', async () => {
  const next = () => {
    throw new Error('not even a promise')
  }
  const clock = fakeClock()
  const stream: Provider['stream'] = () => ({ [Symbol.asyncIterator]: () => ({ next }) })
  const work = drain(withWatchdog({ meta: { name: 'odd', defaultModel: 'm' }, stream }, { clock }))
  await work.end
  expect([work.error?.message, clock.pending]).toEqual(['not even a promise', 0])
})

test('FP-38 an abort while the provider is being asked leaves no timer', async () => {
  const clock = fakeClock()
  const abort = new AbortController()
  const good = scripted('ok')
  const stream: Provider['stream'] = (request, signal) => {
    abort.abort('enough')
    return good.stream(request, signal)
  }
  const work = drain(withWatchdog({ meta: good.meta, stream }, { clock }), abort.signal)
  await work.end
  expect([work.error, clock.pending, good.requests.length]).toEqual(['enough', 0, 0])
})

test('what a broken provider yields is passed on, for others to complain about', async () => {
  const results = [undefined, { done: false, value: null }, { done: false }, { done: true }]
  const next = async () => results.shift() as never
  const inner: Provider['stream'] = () => ({ [Symbol.asyncIterator]: () => ({ next }) })
  const stream = iterate(withWatchdog({ meta: { name: 'odd', defaultModel: 'm' }, stream: inner }))
  const expected = [...results]
  for (const result of expected) expect(await stream.next()).toEqual(result)
})

describe('a scripted provider with a watchdog keeps the contract:', () => {
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
  const make = () => withWatchdog(scripted(answer, answer, answer))
  for (const { name, run } of providerContract(make, requests)) test(name, run)
})

/** How long after the one before an event comes. */
type Beat = readonly [ms: number, event: ModelEvent]

/** Yields events at their time and does not listen to its signal. */
function played(clock: FakeClock, beats: readonly Beat[]): Provider {
  return {
    meta: { name: 'played', defaultModel: 'm' },
    async *stream() {
      for (const [ms, event] of beats) {
        if (ms === Infinity) await new Promise(() => {})
        if (ms > 0) await new Promise<void>((resolve) => void clock.timer(ms, resolve))
        yield event
      }
    },
  }
}

/** Counts the timers that were set. */
function counting(clock: FakeClock): FakeClock & { set: number } {
  return {
    set: 0,
    now: clock.now,
    advance: clock.advance,
    get pending() {
      return clock.pending
    },
    timer(ms, fn) {
      this.set++
      return clock.timer(ms, fn)
    },
  }
}

const iterate = (provider: Provider, signal = new AbortController().signal): AsyncIterator<ModelEvent> =>
  provider.stream(request, signal)[Symbol.asyncIterator]()

interface Drained {
  readonly events: ModelEvent[]
  readonly end: Promise<void>
  error?: Error
  isDone: boolean
}

/** Reads on its own; what came so far can be looked at any time. */
function drain(provider: Provider, signal?: AbortSignal): Drained {
  const events: ModelEvent[] = []
  const read = async () => {
    const stream = iterate(provider, signal)
    for (let i = 0; i < 20_000 && !drained.isDone; i++) {
      const { done, value } = await stream.next()
      if (done) drained.isDone = true
      else events.push(value)
    }
  }
  const drained: Drained = {
    events,
    isDone: false,
    end: Promise.resolve()
      .then(read)
      .catch((error) => void (drained.error = error)),
  }
  return drained
}

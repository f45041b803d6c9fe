import type { ClassifiedError, ModelEvent, ModelReply, ModelRequest, Provider, StopReason } from '../core/provider.ts'
import { deepFreeze, type TurnUsage } from '../core/turn.ts'
import { type ContractCase, check, checkEqual, within } from './contract.ts'

/**
 * The requirements on a provider. `make` creates one for each case, which may get several requests. Its backend, for
 * instance a fake one, answers the given requests as described.
 */
export function providerContract(
  make: () => Provider | Promise<Provider>,
  {
    text,
    toolCall,
    failing,
  }: {
    /** Answered with a text of several words, preferably in several pieces. */
    readonly text: Pick<ModelRequest, 'messages'> & Partial<ModelRequest>
    /** Answered with one or more tool calls that have arguments. Without it, calls are not checked. */
    readonly toolCall?: Pick<ModelRequest, 'messages'> & Partial<ModelRequest>
    /** A request that fails. Without it, failures are not checked. */
    readonly failing?: Pick<ModelRequest, 'messages'> & Partial<ModelRequest>
  },
): ContractCase[] {
  const cases = {
    ...generalCases(text, toolCall ?? text),
    ...(toolCall && toolCallCases(toolCall)),
    ...(failing && failureCases(failing)),
  }
  return Object.entries(cases).map(([name, runCase]) => ({ name, run: async () => runCase(await make()) }))
}

type ContractRequest = Parameters<typeof providerContract>[1]['text']

type ProviderCases = Record<string, (provider: Provider) => Promise<void>>

function generalCases(text: ContractRequest, other: ContractRequest): ProviderCases {
  return {
    async 'has a name and a default model'({ meta }) {
      check(typeof meta.name === 'string' && meta.name !== '', 'meta.name must be a name')
      check(typeof meta.defaultModel === 'string' && meta.defaultModel !== '', 'meta.defaultModel must name a model')
    },

    async 'ends with exactly one reply and says nothing after it'(provider) {
      const events = await eventsOf(provider, text)
      const replies = events.filter(({ type }) => type === 'reply').length
      checkEqual(replies, 1, 'the number of replies')
      checkEqual(events.at(-1)?.type, 'reply', 'the last event')
    },

    async 'streams text and thinking that join to those of the reply'(provider) {
      const events = await eventsOf(provider, text)
      checkDeltas(events)
      check(joined(events, 'text') !== '', 'there was no text; `text` needs a request that is answered with some')
    },

    async 'gives a reply of known blocks with a known stop reason'(provider) {
      const { content, stop } = replyOf(await eventsOf(provider, text))
      const unknown = content.filter(({ type }) => !blocks.has(type)).map(({ type }) => type)
      checkEqual(unknown, [], 'blocks of unknown types')
      check(stops.has(stop), `the stop reason must be one of ${[...stops].join(', ')}; got ${String(stop)}`)
    },

    async 'counts usage in finite numbers that are not negative'(provider) {
      const { usage } = replyOf(await eventsOf(provider, text))
      for (const key of ['input', 'output', ...optionalCounts] as const) checkCount(usage, key)
      const { output, reasoning = 0 } = usage
      check(reasoning <= output, `usage.reasoning is ${reasoning}, which is more than the output of ${output}`)
    },

    async 'leaves the request as it was'(provider) {
      const request = requestOf(provider, text)
      const before = structuredClone(request)
      await drain(provider, request)
      checkEqual(request, before, 'the request afterwards')
      replyOf(await drain(provider, deepFreeze(structuredClone(request))))
    },

    async 'answers again when the same list of messages has grown'(provider) {
      const messages = [...text.messages]
      const first = await eventsOf(provider, { ...text, messages })
      messages.push({ role: 'assistant', content: [{ type: 'text', text: 'So far.' }] }, ...text.messages)
      checkDeltas(first)
      checkDeltas(await eventsOf(provider, { ...text, messages }))
      checkEqual(messages.length, text.messages.length * 2 + 1, 'the number of messages afterwards')
    },

    async 'keeps two streams at once apart'(provider) {
      const streams = [text, other].map((request) => iterate(provider, requestOf(provider, request)))
      const events: ModelEvent[][] = [[], []]
      for (let isOpen = true; isOpen; ) {
        const steps = await within(timeoutMs, Promise.all(streams.map((stream) => stream.next())), 'two streams')
        for (const [i, step] of steps.entries()) if (!step.done) events[i]!.push(step.value)
        isOpen = steps.some(({ done }) => !done)
      }
      for (const one of events) {
        replyOf(one)
        checkDeltas(one)
        checkCalls(one)
      }
    },

    async 'may be closed in the middle'(provider) {
      const stream = iterate(provider, requestOf(provider, text))
      await within(timeoutMs, stream.next(), 'the first event')
      await within(timeoutMs, Promise.resolve(stream.return?.()), 'leaving the stream')
      replyOf(await eventsOf(provider, text))
    },

    async 'gives no reply when its signal was aborted before'(provider) {
      const { events, error } = await attempt(provider, text, AbortSignal.abort(new Error('too late')))
      checkStopped(provider, events, error)
    },

    async 'stops when its signal is aborted on the way'(provider) {
      const abort = new AbortController()
      const { events, error } = await attempt(provider, text, abort.signal, () => abort.abort(new Error('enough')))
      checkStopped(provider, events, error)
    },

    async 'classifyError, if there is one, accepts any value'(provider) {
      for (const error of oddErrors()) checkClassified(provider, error)
    },
  }
}

function toolCallCases(toolCall: ContractRequest): ProviderCases {
  return {
    async 'streams each tool call under the id of the reply, with arguments that join to its input'(provider) {
      const events = await eventsOf(provider, toolCall)
      const calls = callsOf(replyOf(events))
      check(calls.length > 0, 'there was no call; `toolCall` needs a request that is answered with one')
      checkEqual(new Set(calls.map(({ id }) => id)).size, calls.length, 'the number of different ids')
      checkCalls(events)
      checkDeltas(events)
    },

    async 'starts a tool call before its arguments and ends it after them'(provider) {
      const open = new Set<string>()
      for (const event of current(await eventsOf(provider, toolCall))) {
        if (event.type === 'tool_start') open.add(event.id)
        if (event.type === 'tool_args') check(open.has(event.id), `arguments of ${event.id}, which is not open`)
        if (event.type === 'tool_end') check(open.delete(event.id), `the end of ${event.id}, which is not open`)
      }
      checkEqual([...open], [], 'calls that never ended')
    },
  }
}

function failureCases(failing: ContractRequest): ProviderCases {
  return {
    async 'throws when the service fails, and can say what that means'(provider) {
      const { events, error } = await attempt(provider, failing, new AbortController().signal)
      checkEqual(
        events.filter(({ type }) => type === 'reply'),
        [],
        'replies to a request that fails',
      )
      check(error !== undefined, 'it must throw where it cannot give a reply')
      checkClassified(provider, error.thrown)
    },
  }
}

const timeoutMs = 5000
const blocks = new Set<string>(['text', 'thinking', 'tool_call', 'image', 'document'])
const stops = new Set<StopReason>(['end', 'tool_use', 'length', 'refusal', 'other'])
const kinds = new Set<ClassifiedError['kind']>([
  'context_exceeded',
  'provider_error',
  'rate_limited',
  'auth_failed',
  'quota_exceeded',
  'aborted',
])

function requestOf(provider: Provider, request: ContractRequest): ModelRequest {
  const { defaultModel } = provider.meta
  return { model: defaultModel, system: '', tools: [], maxTokens: 1024, thinking: 'off', cache: false, ...request }
}

function iterate(
  provider: Provider,
  request: ModelRequest,
  signal = new AbortController().signal,
): AsyncIterator<ModelEvent> {
  return provider.stream(request, signal)[Symbol.asyncIterator]()
}

async function drain(provider: Provider, request: ModelRequest): Promise<ModelEvent[]> {
  const stream = iterate(provider, request)
  const events: ModelEvent[] = []
  for (;;) {
    const { done, value } = await within(timeoutMs, stream.next(), 'the next event')
    if (done) return events
    events.push(value)
  }
}

const eventsOf = (provider: Provider, request: ContractRequest): Promise<ModelEvent[]> =>
  drain(provider, requestOf(provider, request))

/** All events up to the end or the error; `onFirst` is called after the first event. */
async function attempt(
  provider: Provider,
  request: ContractRequest,
  signal: AbortSignal,
  onFirst?: () => void,
): Promise<{ events: ModelEvent[]; error?: { thrown: unknown } }> {
  const events: ModelEvent[] = []
  const consume = async () => {
    for await (const event of provider.stream(requestOf(provider, request), signal)) {
      events.push(event)
      if (events.length === 1) onFirst?.()
    }
  }
  const [outcome] = await within(timeoutMs, Promise.allSettled([consume()]), 'the end of the stream')
  return outcome.status === 'rejected' ? { events, error: { thrown: outcome.reason } } : { events }
}

function replyOf(events: readonly ModelEvent[]): ModelReply {
  const reply = events.find((event) => event.type === 'reply')
  check(reply, `it must end with a reply, got ${events.map(({ type }) => type).join(', ') || 'nothing'}`)
  return reply
}

/** The events after the last retry, which makes earlier ones void. */
const current = (events: readonly ModelEvent[]): readonly ModelEvent[] =>
  events.slice(events.findLastIndex(({ type }) => type === 'retry') + 1)

function joined(events: readonly ModelEvent[], type: 'text' | 'thinking'): string {
  return current(events)
    .map((event) => (event.type === type ? event.delta : ''))
    .join('')
}

function checkDeltas(events: readonly ModelEvent[]): void {
  const { content } = replyOf(events)
  for (const type of ['text', 'thinking'] as const) {
    const whole = content.map((block) => (block.type === type ? block.text : '')).join('')
    checkEqual(joined(events, type), whole, `the ${type} deltas, joined`)
  }
}

const callsOf = ({ content }: ModelReply) => content.filter((block) => block.type === 'tool_call')

function checkCalls(events: readonly ModelEvent[]): void {
  const streamed = current(events)
  const calls = callsOf(replyOf(events))
  const started = streamed.flatMap((event) => (event.type === 'tool_start' ? [{ id: event.id, name: event.name }] : []))
  checkEqual(
    started,
    calls.map(({ id, name }) => ({ id, name })),
    'the calls that were started',
  )
  for (const { id, input } of calls) {
    const args = streamed.map((event) => (event.type === 'tool_args' && event.id === id ? event.delta : '')).join('')
    if (typeof input === 'string') checkEqual(args, input, `the arguments of ${id}, joined`)
    else checkEqual(JSON.parse(args || '{}'), input, `the arguments of ${id}, joined and read`)
  }
}

const optionalCounts = ['reasoning', 'cacheRead', 'cacheCreation', 'cost'] as const

function checkCount(usage: TurnUsage, key: 'input' | 'output' | (typeof optionalCounts)[number]): void {
  const count = usage[key]
  if (count === undefined && key !== 'input' && key !== 'output') return
  check(typeof count === 'number' && Number.isFinite(count) && count >= 0, `usage.${key} is ${String(count)}`)
}

function checkStopped(provider: Provider, events: readonly ModelEvent[], error?: { thrown: unknown }): void {
  const replies = events.filter(({ type }) => type === 'reply').length
  checkEqual(replies, 0, 'replies after the signal was aborted')
  check(error !== undefined, 'it must throw where it gives no reply')
  const kind = provider.classifyError?.(error.thrown)?.kind ?? 'aborted'
  checkEqual(kind, 'aborted', 'what classifyError makes of the abort')
}

function checkClassified(provider: Provider, error: unknown): void {
  const known = provider.classifyError?.(error)
  if (known === undefined && !provider.classifyError) return
  check(typeof known === 'object', `classifyError gave ${String(known)}, which is neither null nor an object`)
  if (known === null) return
  const { kind, providerCode = '', message = '', retryable = false } = known
  check(kinds.has(kind), `classifyError gave the unknown kind ${String(kind)}`)
  checkEqual(
    [typeof providerCode, typeof message, typeof retryable],
    ['string', 'string', 'boolean'],
    'the types of providerCode, message and retryable',
  )
}

/** Unusual values that a library may throw. */
function oddErrors(): unknown[] {
  const circular: Error & { cause?: unknown } = new Error('circular')
  circular.cause = circular
  const plain = [undefined, null, 0, '', 'text', Symbol('s'), () => {}, [], {}, Object.create(null)]
  const partial = [{ status: 'x' }, { message: 5 }, { error: null }, { response: { data: null } }, { code: {} }]
  const errors = [new Error(''), new TypeError('fetch failed'), new AggregateError([]), circular]
  return [...plain, ...partial, ...errors, new DOMException('This operation was aborted', 'AbortError')]
}

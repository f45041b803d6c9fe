import { type Clock, createIds, systemClock } from '../core/clock.ts'
import {
  type ClassifiedError,
  type ModelEvent,
  type ModelRequest,
  type Provider,
  type ProviderMeta,
  plainProvider,
} from '../core/provider.ts'
import type { ToolContext, ToolDef } from '../core/tool.ts'
import { Suspended } from '../core/tool-context.ts'
import { normalizeResult } from '../core/tool-result.ts'
import { copyJson } from '../core/turn.ts'
import { createRedactor, type RedactorOptions } from '../platform/redact.ts'
import { Recording } from './cassette/recording.ts'
import { observedContext, stableText, type TapedResult, toTapedError, toTapedRequest } from './cassette/tape-items.ts'
import { writeCassette } from './cassette/write-cassette.ts'

/** Records all that a run gets from outside: replies of the model, results of tools, time, ids and random numbers. */
export interface Recorder {
  provider(real: Provider): Provider
  tools<Tools extends Readonly<Record<string, ToolDef>>>(tools: Tools): Tools
  clock(real?: Clock): Clock
  ids(real?: () => string): () => string
  random(real?: () => number): () => number
  /** The recording so far, as JSON Lines with secrets removed. */
  cassette(): string
}

/**
 * Starts a recording. Give its parts to an agent in place of the real ones (`clock` and `ids` to its session too), and
 * `replay` plays the cassette back without network. Secrets are recognised by their shape, by the names before them, by
 * the option `secrets`, and by the environment.
 */
export function record(options: RedactorOptions = {}): Recorder {
  const recording = new Recording()
  const { env = globalThis.process?.env ?? {}, ...rest } = options
  createRedactor({ env, ...rest }) // refuses an invalid secret now, not after the run
  return {
    provider: (real) => recordProvider(recording, real),
    tools: (tools) => mapTools(tools, (name, tool) => recordTool(recording, name, tool)),
    clock: (real = systemClock) => recordClock(recording, real),
    ids: (real = createIds()) => recordReading(recording, 'id', real),
    random: (real = Math.random) => recordReading(recording, 'random', real),
    cassette: () => writeCassette(recording, createRedactor({ env, ...rest })),
  }
}

/** Maps the tools, keeping their names. */
export function mapTools<Tools extends Readonly<Record<string, ToolDef>>>(
  tools: Tools,
  map: (name: string, tool: ToolDef) => ToolDef,
): Tools {
  return Object.fromEntries(Object.entries(tools).map(([name, tool]) => [name, map(name, tool)])) as Tools
}

function recordClock(recording: Recording, real: Clock): Clock {
  return {
    now: recordReading(recording, 'now', () => real.now()),
    timer(ms, fn) {
      const n = recording.number('timer')
      let isOff = false
      recording.add({ type: 'timer', n, ms })
      const cancel = real.timer(ms, async () => {
        await recording.turn()
        if (isOff) return
        recording.add({ type: 'fired', n })
        fn()
      })
      return () => {
        isOff = true
        cancel()
      }
    },
  }
}

function recordReading<Value>(recording: Recording, type: 'now' | 'id' | 'random', read: () => Value): () => Value {
  return () => {
    const value = read()
    recording.add({ type, value } as never)
    return value
  }
}

/** The same provider, with all requests and replies recorded. */
function recordProvider(recording: Recording, real: Provider): Provider {
  const by = recording.number('provider')
  const { structuredOutput, ...capabilities } = real.meta.capabilities ?? {}
  const meta: ProviderMeta = {
    ...real.meta,
    ...(real.meta.capabilities && {
      capabilities: { ...capabilities, ...(typeof structuredOutput === 'boolean' && { structuredOutput }) },
    }),
  }
  const has = ['costOf', 'contextWindow', 'displayName'].filter((name) => name in real && real[name as 'costOf'])
  if (typeof structuredOutput === 'function') has.push('structuredOutput')
  recording.facts.push({ type: 'provider', n: by, meta: copyJson(meta), has })

  return {
    ...plainProvider(real),
    meta: {
      ...real.meta,
      ...(typeof structuredOutput === 'function' && {
        capabilities: {
          ...capabilities,
          structuredOutput: (model) => recordAnswer('structuredOutput', model, structuredOutput(model)),
        },
      }),
    },
    stream: (request, signal) => recordStream(recording, { real, by, request, signal }),
    ...(real.displayName && { displayName: (name) => recordAnswer('displayName', name, real.displayName!(name)) }),
    ...(real.contextWindow && {
      contextWindow: (model) => recordAnswer('contextWindow', model, real.contextWindow!(model)),
    }),
    ...(real.costOf && {
      costOf: (model, usage) => recordAnswer('costOf', stableText([model, usage]), real.costOf!(model, usage)),
    }),
  }

  function recordAnswer<Value>(question: string, about: string, value: Value): Value {
    if (value instanceof Promise) return value.then((later) => recordAnswer(question, about, later)) as Value
    recording.facts.push({ type: 'answer', by, question, about, value })
    return value
  }
}

interface Stream {
  readonly real: Provider
  readonly by: number
  readonly request: ModelRequest
  readonly signal: AbortSignal
}

async function* recordStream(recording: Recording, { real, by, request, signal }: Stream): AsyncGenerator<ModelEvent> {
  const n = recording.number('request')
  const session = request.sessionId !== undefined && { session: request.sessionId }
  recording.add({ type: 'request', n, by, ...session, request: toTapedRequest(request) })
  const events = real.stream(request, signal)[Symbol.asyncIterator]()
  try {
    for (;;) {
      let next: IteratorResult<ModelEvent>
      try {
        next = await events.next()
      } catch (error) {
        await recording.turn()
        recording.add({ type: 'failed', n, error: toTapedError(error, classify(real, error)) })
        throw error
      }
      await recording.turn()
      if (next.done) {
        recording.add({ type: 'ended', n })
        return
      }
      recording.add({ type: 'event', n, event: copyJson(next.value) })
      yield next.value
    }
  } finally {
    // Not awaited: how the service cleans up does not concern the program or the tape.
    events.return?.().then(undefined, () => {})
  }
}

function classify(real: Provider, error: unknown): ClassifiedError | null | undefined {
  try {
    return real.classifyError?.(error)
  } catch {
    return null
  }
}

/** The same tool, with its calls and results recorded. */
function recordTool(recording: Recording, name: string, tool: ToolDef): ToolDef {
  return {
    ...tool,
    execute: (input, ctx) =>
      recordCall('execute', input, ctx, async (observed) => ({
        outcome: normalizeResult(await tool.execute(input, observed)),
      })).then(returned),
    ...(tool.check && { check: (input) => tool.check!(input) }),
    ...(tool.before && {
      before: (input, ctx) =>
        recordCall('before', input, ctx, async (observed) => ({ facts: await tool.before!(input, observed) })).then(
          (result) => ('facts' in result ? result.facts : {}) as Readonly<Record<string, unknown>>,
        ),
    }),
  }

  async function recordCall(
    part: 'execute' | 'before',
    input: unknown,
    ctx: ToolContext,
    work: (ctx: ToolContext) => Promise<TapedResult>,
  ): Promise<TapedResult> {
    const n = recording.number('execute')
    const { callId, idempotencyKey: key } = ctx
    recording.add({ type: 'execute', n, tool: name, part, callId, key, input: plainInput(input) })
    const observed = observedContext(ctx, {
      async mark(step) {
        await recording.turn()
        recording.add({ type: 'step', n, ...step })
      },
      note: (step) => recording.add({ type: 'step', n, ...step }),
      hold: (work) => recording.hold(work),
    })
    try {
      const result = await work(observed)
      await recording.turn()
      recording.add({ type: 'result', n, result: copyJson(result) })
      return result
    } catch (error) {
      await recording.turn()
      const isSuspended = error instanceof Suspended
      const result = isSuspended ? { suspended: String(error.reason) } : { error: toTapedError(error) }
      recording.add({ type: 'result', n, result })
      throw error
    }
  }
}

function returned(result: TapedResult): object {
  return 'outcome' in result ? result.outcome : {}
}

/** The input of a tool as plain data, without a schema's wrapper object. */
export function plainInput(input: unknown): unknown {
  const isWrapped =
    typeof input === 'object' && input !== null && !isPlain(input) && Object.keys(input).join() === 'value'
  const value = isWrapped ? (input as { value: unknown }).value : input
  return value === undefined ? null : JSON.parse(JSON.stringify(value) ?? 'null')
}

function isPlain(value: object): boolean {
  const prototype = Object.getPrototypeOf(value) as unknown
  return prototype === Object.prototype || prototype === null || Array.isArray(value)
}

import type { ClassifiedError, ModelEvent, ModelRequest, Provider, ProviderMeta } from '../../core/provider.ts'
import { plainProvider } from '../../core/provider.ts'
import { copyJson } from '../../core/turn.ts'
import type { Recording } from './recording.ts'
import { stableText } from './stable-text.ts'
import { tapedRequest } from './tape-items.ts'
import { tapeError } from './taped-error.ts'

/** The same provider, with everything that is asked and answered taken down. */
export function recordProvider(recording: Recording, real: Provider): Provider {
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
          structuredOutput: (model) => noted('structuredOutput', model, structuredOutput(model)),
        },
      }),
    },
    stream: (request, signal) => recordStream(recording, { real, by, request, signal }),
    ...(real.displayName && { displayName: (name) => noted('displayName', name, real.displayName!(name)) }),
    ...(real.contextWindow && {
      contextWindow: (model) => noted('contextWindow', model, real.contextWindow!(model)),
    }),
    ...(real.costOf && {
      costOf: (model, usage) => noted('costOf', stableText([model, usage]), real.costOf!(model, usage)),
    }),
  }

  function noted<Value>(question: string, about: string, value: Value): Value {
    if (value instanceof Promise) return value.then((later) => noted(question, about, later)) as Value
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
  recording.add({ type: 'request', n, by, ...session, request: tapedRequest(request) })
  const events = real.stream(request, signal)[Symbol.asyncIterator]()
  try {
    for (;;) {
      let next: IteratorResult<ModelEvent>
      try {
        next = await events.next()
      } catch (error) {
        await recording.turn()
        recording.add({ type: 'failed', n, error: tapeError(error, classify(real, error)) })
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
    // Not awaited: how the service tidies up is none of the program's business, nor of the tape's.
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

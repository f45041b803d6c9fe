import type { ModelEvent, ModelReply, Provider } from '../../core/provider.ts'
import { orAborted, sleep } from '../../core/waiting.ts'

/**
 * A model that needs no key and no network: rules that turn plain English requests into real tool calls. It says that it is
 * no language model. Its replies depend on the messages of a request alone.
 */
export function offline({
  chunk = 12,
  delayMs = 0,
}: {
  /** Characters in a piece of streamed text. Default 12. */
  readonly chunk?: number
  /** Milliseconds between two pieces. Default 0. */
  readonly delayMs?: number
} = {}): Provider {
  for (const [name, value, min] of [
    ['chunk', chunk, 1],
    ['delayMs', delayMs, 0],
  ] as const)
    if (!Number.isSafeInteger(value) || value < min)
      throw new TypeError(`offline: ${name} must be a whole number of at least ${min}, got ${String(value)}`)
  return {
    meta: { name: 'offline', defaultModel: 'offline', capabilities: { vision: false } },
    costOf: () => 0,
    async *stream(request, signal) {
      signal.throwIfAborted()
      const { replyTo } = await import('./reply.ts') // most programs never use it
      const reply = replyTo(request)
      for (const event of eventsOf(reply, chunk)) {
        signal.throwIfAborted()
        if (delayMs > 0 && event.type !== 'reply') await orAborted(sleep(delayMs, { signals: [signal] }), signal)
        yield event
      }
    },
  }
}

function* eventsOf(reply: ModelReply, chunk: number): Generator<ModelEvent> {
  yield { type: 'start' }
  for (const block of reply.content) {
    if (block.type === 'text') for (const delta of inPieces(block.text, chunk)) yield { type: 'text', delta }
    if (block.type !== 'tool_call') continue
    const { id, name, input } = block
    yield { type: 'tool_start', id, name }
    for (const delta of inPieces(String(input), chunk * 4)) yield { type: 'tool_args', id, delta }
    yield { type: 'tool_end', id }
  }
  yield reply
}

/** Pieces of a text, which never end in the middle of a character. */
function* inPieces(text: string, size: number): Generator<string> {
  let start = 0
  while (start < text.length) {
    let end = Math.min(start + size, text.length)
    const isHalf = end < text.length && /[\ud800-\udbff]/.test(text[end - 1]!)
    if (isHalf) end++
    yield text.slice(start, end)
    start = end
  }
}

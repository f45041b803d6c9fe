import type { ModelRequest } from '../core/provider.ts'
import type { Message } from '../core/turn.ts'
import type { FittedTranscript } from './rules/transcript-rules.ts'
import type { ServiceClient } from './service-client.ts'
import type { Place, ServiceError } from './service-error.ts'
import type { WireItem } from './wire.ts'

/** Finds the block that the service speaks of. */
export function located(
  error: ServiceError,
  line: ServiceClient,
  request: ModelRequest,
  fitted: FittedTranscript,
): ServiceError {
  const { place } = error
  if (!error.refused || !place) return error
  let item = place.item - (line.wire.lead?.(request).length ?? 0)
  if (item < 0) {
    error.refused = undefined // what stands before the conversation is no part of it
    return error
  }
  for (const [i, sent] of fitted.messages.entries()) {
    const items = line.wire.items(sent)
    if (item >= items.length) {
      item -= items.length
      continue
    }
    const message = fitted.sources[i]!
    const original = request.messages[message]
    if (!original) return error // it was only added for the service
    const { rules, oldThinking } = line.partner(request.model)
    const shown = oldThinking.shown(request.messages)[message]!
    const at = blockAt(place, sent, items, items[item]!)
    error.refused = { message, ...(at !== undefined && { block: indexIn(original, shown, rules.blockOf(shown, at)) }) }
    return error
  }
  return error
}

/** The index of the block in the message that was sent; undefined where it may be one of several. */
function blockAt(place: Place, sent: Message, items: readonly WireItem[], { blocks }: WireItem): number | undefined {
  const { list, part } = place
  if (list === 'tool_calls') {
    const calls = sent.content.flatMap(({ type }, i) => (type === 'tool_call' ? [i] : []))
    return part === undefined && calls.length > 1 ? undefined : calls[part ?? 0]
  }
  if (part !== undefined) return blocks[part]
  const isAlone = blocks.length === 1 && (items.length > 1 || sent.content.length === 1)
  return isAlone ? blocks[0] : undefined
}

/** Where a block of the message that is `shown`, perhaps without its old thinking, is in the original. */
function indexIn(original: Message, shown: Message, index: number): number {
  if (shown === original) return index
  return original.content.flatMap(({ type }, i) => (type === 'thinking' ? [] : [i]))[index] ?? index
}

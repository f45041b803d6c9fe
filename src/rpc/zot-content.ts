import type { SessionContentBlock, SessionTurn, ToolOutput, TurnUsage } from '../events/events.ts'
import type { ZotContent, ZotMessage, ZotToolCall, ZotUsage } from './frames.ts'

/** Maps a tool's name to the one that clients see. */
export type ToolName = (canonical: string) => string

type ToolCallBlock = Extract<SessionContentBlock, { type: 'tool_call' }>

/** The conversation in zot's three roles; the results in a user turn become a separate message. */
export function messagesOf(turns: readonly SessionTurn[], nameOf: ToolName): ZotMessage[] {
  return turns.flatMap(({ role, content, createdAt }): ZotMessage[] => {
    const time = timeOf(createdAt)
    if (role === 'assistant') return [{ role, content: contentOf(content, nameOf), time }]
    const results = content.filter((block) => block.type === 'tool_result')
    const others = content.filter((block) => block.type !== 'tool_result')
    return [
      ...(results.length > 0 ? [{ role: 'tool' as const, content: contentOf(results, nameOf), time }] : []),
      ...(others.length > 0 ? [{ role, content: contentOf(others, nameOf), time }] : []),
    ]
  })
}

/** Blocks in zot's form; reasoning is left out. */
export function contentOf(blocks: readonly SessionContentBlock[], nameOf: ToolName): ZotContent[] {
  return blocks.flatMap((block): ZotContent[] => {
    switch (block.type) {
      case 'text':
        return [{ type: 'text', text: block.text }]
      case 'image':
        return [{ type: 'image', mime_type: block.mediaType, bytes: bytesOf(block.data) }]
      case 'document':
        return [{ type: 'text', text: nameOfDocument(block) }]
      case 'tool_call':
        return [toolCallOf(block, nameOf)]
      case 'tool_result': {
        const { callId, output, isError = false } = block
        return [{ type: 'tool_result', call_id: callId, is_error: isError, content: outputOf(output) }]
      }
      default:
        return []
    }
  })
}

export function outputOf(output: ToolOutput): ZotContent[] {
  if (typeof output === 'string') return [{ type: 'text', text: output }]
  return contentOf(output, (name) => name)
}

export function toolCallOf({ id, name, input, unreadable }: ToolCallBlock, nameOf: ToolName): ZotToolCall {
  return { type: 'tool_call', id, name: nameOf(name), args: unreadable === undefined ? input : null }
}

/** RFC 3339 with a fraction. */
export function timeOf(ms: number): string {
  return new Date(ms).toISOString()
}

/** The decoded size of a base64 text. */
function bytesOf(base64: string): number {
  const padding = base64.endsWith('==') ? 2 : Number(base64.endsWith('='))
  return Math.floor(((base64.length - padding) * 3) / 4)
}

/** zot has no documents, so they become texts. */
function nameOfDocument({ name, mediaType, data }: Extract<SessionContentBlock, { type: 'document' }>): string {
  return `[document${name === undefined ? '' : ` ${name}`}, ${mediaType}, ${bytesOf(data)} bytes]`
}

export const noUsage: ZotUsage = Object.freeze({ input: 0, output: 0, cache_read: 0, cache_write: 0, cost_usd: 0 })

/** Adds the usage of one model call. A call of unknown price counts as free. */
export function addUsage(
  sum: ZotUsage,
  { input, output, cacheRead = 0, cacheCreation = 0, cost = 0 }: TurnUsage,
): ZotUsage {
  return {
    input: sum.input + input,
    output: sum.output + output,
    cache_read: sum.cache_read + cacheRead,
    cache_write: sum.cache_write + cacheCreation,
    cost_usd: sum.cost_usd + cost,
  }
}

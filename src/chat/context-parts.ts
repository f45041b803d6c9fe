import { estimateTokens } from '../core/estimate-tokens.ts'
import { toolResultToText } from '../core/tool-output.ts'
import type { Message, SessionContentBlock, TurnUsage } from '../core/turn.ts'

/** What fills the context of the next request, in estimated tokens. */
export interface ContextParts {
  readonly total: number
  /** Those that have tokens, instructions and tools first. */
  readonly parts: readonly ContextPart[]
  /** Instructions and tools are among the parts; they are known after the first reply. */
  readonly isWhole: boolean
}

export interface ContextPart {
  readonly name: string
  /** As a chart of the context has it. */
  readonly kind: 'system' | 'user' | 'assistant' | 'toolResults'
  readonly tokens: number
}

/** The parts of the next request: these messages, and what the last one had beyond its messages. */
export function contextOf(messages: readonly Message[], last: TurnUsage | undefined): ContextParts {
  const parts = partsOf(messages)
  const known = parts.reduce((sum, { tokens }) => sum + tokens, 0)
  if (!last) return { total: known, parts, isWhole: false }
  const read = last.input + (last.cacheRead ?? 0) + (last.cacheCreation ?? 0)
  // What the last request had beyond its messages: the system prompt and the tools.
  const fixed = Math.max(read - (known - last.output), 0)
  const system: ContextPart = { name: 'instructions and tools', kind: 'system', tokens: fixed }
  return { total: known + fixed, parts: [system, ...parts], isWhole: true }
}

const names = {
  text: ['your messages', 'answers'],
  thinking: ['thinking', 'thinking'],
  tool_call: ['tool calls', 'tool calls'],
  tool_result: ['tool results', 'tool results'],
  image: ['images', 'images'],
  document: ['documents', 'documents'],
} as const satisfies Record<SessionContentBlock['type'], readonly [ofUser: string, ofModel: string]>

function partsOf(messages: readonly Message[]): readonly ContextPart[] {
  const parts = new Map<string, ContextPart>()
  for (const { role, content } of messages)
    for (const block of content) {
      const name = names[block.type][role === 'user' ? 0 : 1]
      const kind = block.type === 'tool_result' ? 'toolResults' : role
      parts.set(name, { name, kind, tokens: (parts.get(name)?.tokens ?? 0) + tokensOf(block) })
    }
  return [...parts.values()].filter(({ tokens }) => tokens > 0)
}

/** About what an image of a screen costs with most services. */
const tokensOfImage = 1500

function tokensOf(block: SessionContentBlock): number {
  if (block.type === 'text' || block.type === 'thinking') return estimateTokens(block.text)
  if (block.type === 'tool_call') return estimateTokens(block.name + JSON.stringify(block.input))
  if (block.type === 'tool_result') return estimateTokens(toolResultToText(block.output))
  return block.type === 'image' ? tokensOfImage : estimateTokens(block.data)
}

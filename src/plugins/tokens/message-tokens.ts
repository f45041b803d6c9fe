import type { Message, SessionContentBlock, ToolOutput } from '../../core/turn.ts'
import { estimateTokens, tokensOfMedia } from './estimate-tokens.ts'

/** About how many tokens a message is: what was said, and what tools gave. */
export interface MessageTokens {
  readonly said: number
  readonly results: number
  readonly total: number
}

/** Counts a message, once: it is a value, so what it was counted as stays right for as long as it lives. */
export function messageTokens(message: Message): MessageTokens {
  const known = counted.get(message)
  if (known) return known
  let said = 0
  let results = 0
  for (const block of message.content) {
    if (block.type === 'tool_result') results += outputTokens(block.output)
    else said += blockTokens(block)
  }
  const tokens = { said, results, total: said + results }
  counted.set(message, tokens)
  return tokens
}

const counted = new WeakMap<Message, MessageTokens>()

function outputTokens(output: ToolOutput): number {
  if (typeof output === 'string') return estimateTokens(output)
  let tokens = 0
  for (const part of output) tokens += blockTokens(part)
  return tokens
}

type SaidBlock = Exclude<SessionContentBlock, { type: 'tool_result' }>

function blockTokens(block: SaidBlock): number {
  if (block.type === 'text' || block.type === 'thinking') return estimateTokens(block.text)
  if (block.type === 'tool_call') return estimateTokens(block.name + (block.raw ?? JSON.stringify(block.input)))
  return tokensOfMedia
}

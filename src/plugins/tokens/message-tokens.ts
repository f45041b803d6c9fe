import { estimateTokens } from '../../core/estimate-tokens.ts'
import type { Message, SessionContentBlock, ToolOutput } from '../../core/turn.ts'

/** Of an image or a document, of any size. */
const tokensOfMedia = 100

/** The estimated tokens of a message: of its texts and calls, and of its tool results. */
interface MessageTokens {
  readonly texts: number
  readonly results: number
  readonly total: number
}

/** Counts a message once: messages do not change. */
export function messageTokens(message: Message): MessageTokens {
  const known = counted.get(message)
  if (known) return known
  let texts = 0
  let results = 0
  for (const block of message.content) {
    if (block.type === 'tool_result') results += outputTokens(block.output)
    else texts += blockTokens(block)
  }
  const tokens = { texts, results, total: texts + results }
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

type TextOrCallBlock = Exclude<SessionContentBlock, { type: 'tool_result' }>

function blockTokens(block: TextOrCallBlock): number {
  if (block.type === 'text' || block.type === 'thinking') return estimateTokens(block.text)
  if (block.type === 'tool_call') return estimateTokens(block.name + (block.raw ?? JSON.stringify(block.input)))
  return tokensOfMedia
}

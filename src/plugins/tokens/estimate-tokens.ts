import type { Message, SessionContentBlock, ToolOutput } from '../../core/turn.ts'
/**
 * About how many tokens a text is: an ideograph, a kana or a Hangul syllable counts one, four of anything else count
 * one. Ideographs are the unified ones with their extensions; a character outside the basic plane is two of UTF-16.
 */
export function estimateTokens(text: string): number {
  let whole = 0
  let others = 0
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    if (unit < firstCjk) others++
    else if (isCjk(unit)) whole++
    else if (isRareIdeograph(unit, text.charCodeAt(i + 1))) {
      whole++
      i++
    } else others++
  }
  return Math.ceil(whole + others / 4)
}

/** Of an image or a document, of any size. */
const tokensOfMedia = 100

const firstCjk = 0x3040

const isCjk = (unit: number): boolean =>
  unit <= 0x30ff || // Hiragana, Katakana
  (unit >= 0x3400 && unit <= 0x4dbf) ||
  (unit >= 0x4e00 && unit <= 0x9fff) ||
  (unit >= 0xac00 && unit <= 0xd7a3)

/** Planes 2 and 3 hold nothing but ideographs; theirs are these first halves. */
const isRareIdeograph = (unit: number, next: number): boolean =>
  unit >= 0xd840 && unit <= 0xd8bf && next >= 0xdc00 && next <= 0xdfff

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

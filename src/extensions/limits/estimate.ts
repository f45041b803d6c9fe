import { memoize } from '../../core/memoize.ts'
import type { ModelRequest } from '../../core/provider.ts'
import { thinkingBudgets } from '../../core/thinking.ts'
import type { ToolSpec } from '../../core/tool.ts'
import { toolOutputByteLength } from '../../core/tool-output.ts'
import type { Message, SessionContentBlock, ToolOutput } from '../../core/turn.ts'

/**
 * An upper bound for the tokens of a request before it is sent: three bytes a token for ordinary text and code, a byte and
 * a quarter for long unbroken strings (keys, base64, hashes), a flat number for an image. After the first reply, the
 * reported tokens of the earlier request are used and only the rest is estimated. The bound can fail once, for text in a
 * script that the tokenizer splits into single bytes: a limit is then exceeded by that one request.
 */
export class Estimator {
  #last: Measured | undefined

  inputTokens(request: ModelRequest): number {
    const rough = roughTokens(request)
    const last = this.#last
    if (!last || last.rough === 0) return rough
    // Never below 1: one conversation with few tokens says nothing about another.
    const scale = Math.max(1, last.real / last.rough)
    if (!isContinued(last, request)) return Math.ceil(rough * scale)
    return Math.ceil(last.real * continued + Math.max(0, rough - last.rough) * scale)
  }

  /** Uses the number of tokens that the service reported. */
  learn(request: ModelRequest, real: number): void {
    if (real <= 0) return
    const { model, system, tools, messages } = request
    const { length } = messages
    const ends = { first: messages[0], newest: messages[length - 1], length }
    this.#last = { model, system, tools, ...ends, rough: roughTokens(request), real }
  }
}

/** The estimated tokens of streamed output, by its length in bytes. */
export const streamedTokens = (bytes: number): number => Math.ceil(bytes / bytesPerToken)

/** The thinking tokens that a wire adds to `maxTokens`, if the service counts them as output. */
export function thinkingTokens({ thinking, thinkingBudget }: ModelRequest): number {
  if (thinking === 'off' || thinking === 'adaptive') return 0
  return Math.max(thinkingBudget ?? thinkingBudgets[thinking], smallestThinking)
}

/** Services accept no smaller budget. */
export const smallestThinking = 1024

interface Measured extends Pick<ModelRequest, 'model' | 'system' | 'tools'> {
  readonly first: Message | undefined
  readonly newest: Message | undefined
  readonly length: number
  readonly rough: number
  readonly real: number
}

/** Whether a request continues the last one. Messages are immutable, so comparing a few of them is enough. */
function isContinued(last: Measured, { model, system, tools, messages }: ModelRequest): boolean {
  const isSameHead = last.model === model && last.system === system && last.tools === tools
  return isSameHead && messages[0] === last.first && messages[last.length - 1] === last.newest
}

/** A margin for small differences between counts of the same text. */
const continued = 1.02

const bytesPerToken = 3
const denseBytesPerToken = 1.25
const tokensPerBlock = 12
const tokensPerImage = 5_000
/** For the base64 of documents: each page is text and an image. */
const documentBytesPerToken = 3
/** What a service adds to a conversation: instructions for tools, separators between messages. */
const tokensPerRequest = 600

/** The estimate without knowledge from earlier replies. */
export function roughTokens({ system, tools, messages, outputSchema }: ModelRequest): number {
  let tokens = tokensPerRequest + textTokens(system) + toolTokens(tools)
  if (outputSchema) tokens += schemaTokens(outputSchema)
  for (const message of messages) tokens += messageTokens(message)
  return Math.ceil(tokens)
}

const textTokens = (text: string): number => {
  let tokens = toolOutputByteLength(text) / bytesPerToken
  for (const [run] of text.matchAll(/[\w+/=-]{40,}/g))
    tokens += run.length * (1 / denseBytesPerToken - 1 / bytesPerToken)
  return tokens
}

const schemaTokens = memoize((schema: object): number => textTokens(JSON.stringify(schema)))

const toolTokens = memoize(
  (tools: readonly ToolSpec[]): number => tools.length * tokensPerBlock + textTokens(JSON.stringify(tools)),
)

const messageTokens = memoize(({ content }: Message): number =>
  content.reduce((sum, block) => sum + tokensPerBlock + blockTokens(block), tokensPerBlock),
)

function blockTokens(block: SessionContentBlock): number {
  switch (block.type) {
    case 'image':
      return tokensPerImage
    case 'document':
      return block.data.length / documentBytesPerToken
    case 'tool_result':
      return outputTokens(block.output)
    case 'text':
      return textTokens(block.text) + dataTokens(block.providerData)
    case 'thinking':
      return textTokens(block.text) + dataTokens(block.providerData) + textTokens(block.signature ?? '')
    default:
      return textTokens(JSON.stringify(block))
  }
}

const outputTokens = (output: ToolOutput): number => {
  if (typeof output === 'string') return textTokens(output)
  return Array.isArray(output) ? output.reduce((sum, part) => sum + tokensPerBlock + blockTokens(part), 0) : 0
}

const dataTokens = (data: object | undefined): number => (data ? textTokens(JSON.stringify(data)) : 0)

import { memoize } from '../../core/memoize.ts'
import type { ModelRequest } from '../../core/provider.ts'
import { thinkingBudgets } from '../../core/thinking.ts'
import type { ToolSpec } from '../../core/tool.ts'
import { toolOutputByteLength } from '../../core/tool-output.ts'
import type { Message, SessionContentBlock, ToolOutput } from '../../core/turn.ts'

/**
 * How many tokens a request will be counted as, at most. Nobody knows before the service has read it; this is a bound
 * that holds for what people and programs write: three bytes a token, long unbroken strings (keys, base64, hashes) a byte
 * and a quarter, an image a flat figure. Once a request of the run was answered, its beginning counts as what it really
 * was, and only what came since is estimated. What remains is the error of one request in a script that a tokenizer does
 * not know, which it may split into one token a byte: then a limit is exceeded by that much, once.
 */
export class Estimator {
  #last: Measured | undefined

  inputTokens(request: ModelRequest): number {
    const rough = roughTokens(request)
    const last = this.#last
    if (!last || last.rough === 0) return rough
    // Never below the bound: that one conversation was counted as little says nothing of another.
    const scale = Math.max(1, last.real / last.rough)
    if (!isContinued(last, request)) return Math.ceil(rough * scale)
    return Math.ceil(last.real * continued + Math.max(0, rough - last.rough) * scale)
  }

  /** What the service says it has read. */
  learn(request: ModelRequest, real: number): void {
    if (real <= 0) return
    const { model, system, tools, messages } = request
    const { length } = messages
    const ends = { first: messages[0], newest: messages[length - 1], length }
    this.#last = { model, system, tools, ...ends, rough: roughTokens(request), real }
  }
}

/** Tokens of something that was streamed, by its length in bytes. */
export const streamedTokens = (bytes: number): number => Math.ceil(bytes / bytesPerToken)

/** What a wire adds to `maxTokens` for thinking, where the service counts it into the output. */
export function thinkingTokens({ thinking, thinkingBudget }: ModelRequest): number {
  if (thinking === 'off' || thinking === 'adaptive') return 0
  return Math.max(thinkingBudget ?? thinkingBudgets[thinking], smallestThinking)
}

/** Services take no smaller budget. */
export const smallestThinking = 1024

interface Measured extends Pick<ModelRequest, 'model' | 'system' | 'tools'> {
  readonly first: Message | undefined
  readonly newest: Message | undefined
  readonly length: number
  readonly rough: number
  readonly real: number
}

/** The same conversation, perhaps with more at its end. Messages never change, so that three of them tell. */
function isContinued(last: Measured, { model, system, tools, messages }: ModelRequest): boolean {
  const isSameHead = last.model === model && last.system === system && last.tools === tools
  return isSameHead && messages[0] === last.first && messages[last.length - 1] === last.newest
}

/** For what a service counts differently from one time to the next. */
const continued = 1.02

const bytesPerToken = 3
const denseBytesPerToken = 1.25
const tokensPerBlock = 12
const tokensPerImage = 5_000
/** Of a document's base64: a page is text and an image. */
const documentBytesPerToken = 3
/** Whatever a service puts around a conversation: instructions for tools, marks between messages. */
const tokensPerRequest = 600

/** Without anything that an earlier reply told. */
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

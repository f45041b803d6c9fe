import { copyJson, type Message, type SessionContentBlock, type ToolResultContent } from '../../core/turn.ts'
import { type AnthropicMessage, anthropicTypes, fromAnthropic } from './anthropic.ts'
import { fromOpenAI, type OpenAIMessage, openAIRoles, openAITypes } from './openai.ts'
import {
  canonicalTypes,
  type Fields,
  fail,
  optionalText,
  requireInput,
  requireList,
  requireMessages,
  requireObject,
  requireText,
} from './transcript.ts'

/**
 * Turns messages of any known shape into canonical ones that share no object with the input. The first block or field
 * that only one shape has decides; plain text is the same in all of them. System messages are handled as in `fromOpenAI`.
 */
export function autoDetectAndConvert(messages: unknown): Message[] {
  requireMessages(messages, openAIRoles)
  const list = messages as readonly Fields[]
  switch (shapeOf(list)) {
    case 'Anthropic':
      return fromAnthropic(messages as readonly AnthropicMessage[])
    case 'OpenAI':
      return fromOpenAI(messages as readonly OpenAIMessage[])
    default:
      return list.map((message, i) => readMessage(message, `messages[${i}]`))
  }
}

type Shape = 'canonical' | 'Anthropic' | 'OpenAI'

interface Sign {
  readonly shape: Shape
  readonly at: string
}

function shapeOf(messages: readonly Fields[]): Shape | undefined {
  let first: Sign | undefined
  for (const sign of messages.flatMap((message, i) => signsOf(message, `messages[${i}]`))) {
    first ??= sign
    if (sign.shape === first.shape) continue
    throw new TypeError(
      `${sign.at}: found the ${sign.shape} shape after the ${first.shape} shape at ${first.at}, accepted: one shape for all messages`,
    )
  }
  return first?.shape
}

function signsOf(message: Fields, at: string): Sign[] {
  const signs: Sign[] = isOpenAI(message) ? [{ shape: 'OpenAI', at }] : []
  if (!Array.isArray(message.content)) return signs
  for (const [i, block] of message.content.entries()) {
    const inside = `${at}.content[${i}]`
    const shape = shapeOfBlock(requireObject(block, inside), inside)
    if (shape) signs.push({ shape, at: inside })
  }
  return signs
}

function isOpenAI(message: Fields): boolean {
  if (message.role !== 'user' && message.role !== 'assistant') return true
  if (message.content === null) return true
  return ['tool_calls', 'function_call', 'reasoning_content', 'refusal'].some((key) => key in message)
}

function shapeOfBlock(block: Fields, at: string): Shape | undefined {
  switch (block.type) {
    case 'text':
      return
    case 'image':
    case 'document':
      return shapeByKey(block, at, 'mediaType', 'source')
    case 'thinking':
      return shapeByKey(block, at, 'text', 'thinking')
    case 'tool_result':
      return shapeByKey(block, at, 'callId', 'tool_use_id')
    case 'tool_call':
      return 'canonical'
    case 'tool_use':
    case 'redacted_thinking':
      return 'Anthropic'
    case 'image_url':
    case 'file':
    case 'refusal':
      return 'OpenAI'
    default:
      return fail(
        `${at}.type`,
        block.type,
        `canonical ${canonicalTypes}; Anthropic ${anthropicTypes}; OpenAI ${openAITypes}`,
      )
  }
}

function shapeByKey(block: Fields, at: string, canonical: string, anthropic: string): Shape {
  if (anthropic in block) return 'Anthropic'
  if (canonical in block) return 'canonical'
  return fail(
    at,
    block,
    `\`${canonical}\` (canonical) or \`${anthropic}\` (Anthropic) in a block of type ${block.type}`,
  )
}

function readMessage({ role, content }: Fields, at: string): Message {
  return { role: role as Message['role'], content: readContent(content, `${at}.content`) }
}

function readContent(content: unknown, at: string): SessionContentBlock[] {
  if (content === '') return []
  if (typeof content === 'string') return [{ type: 'text', text: content }]
  const blocks = requireList(content, at, 'a string or an array of blocks')
  return blocks.map((block, i) => readBlock(requireObject(block, `${at}[${i}]`), `${at}[${i}]`))
}

function readBlock(block: Fields, at: string): SessionContentBlock {
  const text = (key: string) => requireText(block, key, at)
  const maybe = <K extends string>(key: K) => optionalText(block, key, key, at)
  switch (block.type) {
    case 'text':
      return { type: 'text', text: text('text') }
    case 'image':
      return { type: 'image', mediaType: text('mediaType'), data: text('data') }
    case 'document':
      return { type: 'document', mediaType: text('mediaType'), data: text('data'), ...maybe('name') }
    case 'thinking':
      return { type: 'thinking', text: text('text'), ...maybe('signature') }
    case 'tool_call': {
      const input = copyJson(requireInput(block.input, `${at}.input`))
      return { type: 'tool_call', id: text('id'), name: text('name'), input, ...maybe('raw'), ...maybe('unreadable') }
    }
    case 'tool_result': {
      const flag = typeof block.isError === 'boolean' ? { isError: block.isError } : {}
      return { type: 'tool_result', callId: text('callId'), output: readOutput(block.output, `${at}.output`), ...flag }
    }
    default:
      return fail(`${at}.type`, block.type, canonicalTypes)
  }
}

function readOutput(output: unknown, at: string): string | ToolResultContent[] {
  if (typeof output === 'string') return output
  return requireList(output, at, 'a string or an array of blocks').map((part, i) => {
    const block = readBlock(requireObject(part, `${at}[${i}]`), `${at}[${i}]`)
    if (block.type === 'text' || block.type === 'image' || block.type === 'document') return block
    return fail(`${at}[${i}].type`, block.type, 'text, image or document in a tool_result')
  })
}

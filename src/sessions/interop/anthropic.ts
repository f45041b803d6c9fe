import { withInterruptionNote } from '../../core/interruption-note.ts'
import {
  copyJson,
  type DocumentBlock,
  type Message,
  type PromptPart,
  type SessionContentBlock,
  type ThinkingBlock,
  type ToolOutput,
  type ToolResultBlock,
  type ToolResultContent,
} from '../../core/turn.ts'
import {
  canonicalRoles,
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
 * Reads the `messages` of an Anthropic request. Left out, for lack of a counterpart: `cache_control`, `citations`
 * and a document's `context`. A remote source (a url) becomes a text that names it.
 */
export function fromAnthropic(messages: readonly object[]): Message[] {
  requireMessages(messages, canonicalRoles)
  return (messages as readonly AnthropicMessage[]).map(({ role, content }, i) => ({
    role,
    content: readContent(content, `messages[${i}].content`),
  }))
}

/**
 * Writes canonical messages as the `messages` of an Anthropic request, always with blocks. Left out: `raw` and
 * `unreadable`, so an unreadable call is written with empty input. Thinking without a signature is written unchanged,
 * although the API refuses it: a sender may drop it, an archive needs it.
 */
export function toAnthropic(messages: readonly Message[]): AnthropicMessage[] {
  requireMessages(messages, canonicalRoles)
  return messages.map((message, i) => {
    const at = `messages[${i}].content`
    requireList(message.content, at, 'an array of blocks')
    const { role, content } = withInterruptionNote(message)
    return { role, content: content.map((block, j) => writeBlock(block, `${at}[${j}]`)) }
  })
}

/** One entry of the `messages` array of the Anthropic Messages API. */
export interface AnthropicMessage {
  readonly role: 'user' | 'assistant'
  readonly content: string | readonly AnthropicBlock[]
}

/** The content blocks of the Anthropic Messages API that a transcript can hold. */
type AnthropicBlock =
  | AnthropicPart
  | { readonly type: 'thinking'; readonly thinking: string; readonly signature?: string }
  | { readonly type: 'redacted_thinking'; readonly data: string }
  | { readonly type: 'tool_use'; readonly id: string; readonly name: string; readonly input: unknown }
  | AnthropicToolResult

/** A part of a user message or a tool result in the Anthropic format. */
type AnthropicPart =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'image'; readonly source: AnthropicSource }
  | { readonly type: 'document'; readonly source: AnthropicSource; readonly title?: string | null }

/** A tool result in the Anthropic format. */
interface AnthropicToolResult {
  readonly type: 'tool_result'
  readonly tool_use_id: string
  readonly content?: string | readonly AnthropicPart[]
  readonly is_error?: boolean
}

/** The source of an image or a document. `data` is base64, or the text itself when the type is `text`. */
type AnthropicSource =
  | { readonly type: 'base64' | 'text'; readonly media_type: string; readonly data: string }
  | { readonly type: 'url'; readonly url: string }

/**
 * Begins the signature of a canonical thinking block that was `redacted_thinking`: empty thinking with a signature is
 * valid too, and no real signature holds a colon.
 */
export const redactedPrefix = 'redacted_thinking:'

function readContent(content: unknown, at: string): SessionContentBlock[] {
  // The API refuses a text block without text.
  if (content === '') return []
  if (typeof content === 'string') return [{ type: 'text', text: content }]
  return requireList(content, at, 'a string or an array of blocks').map((block, i) => {
    const inside = `${at}[${i}]`
    const fields = requireObject(block, inside)
    return fields.type === 'tool_result' ? readResult(fields, inside) : readBlock(fields, inside)
  })
}

function readResult(result: Fields, at: string): ToolResultBlock {
  const { content = '', is_error: isError } = result
  const callId = requireText(result, 'tool_use_id', at)
  const flag = typeof isError === 'boolean' ? { isError } : {}
  if (typeof content === 'string') return { type: 'tool_result', callId, output: content, ...flag }
  const parts = requireList(content, `${at}.content`, 'a string or an array of blocks')
  const output = parts.map((part, i): ToolResultContent => {
    const inside = `${at}.content[${i}]`
    return readPart(requireObject(part, inside), inside, 'text, image or document in a tool_result')
  })
  return { type: 'tool_result', callId, output, ...flag }
}

function readBlock(block: Fields, at: string): SessionContentBlock {
  switch (block.type) {
    case 'thinking': {
      const signature = optionalText(block, 'signature', 'signature', at)
      return { type: 'thinking', text: requireText(block, 'thinking', at), ...signature }
    }
    case 'redacted_thinking':
      return { type: 'thinking', text: '', signature: redactedPrefix + requireText(block, 'data', at) }
    case 'tool_use': {
      const named = { id: requireText(block, 'id', at), name: requireText(block, 'name', at) }
      return { type: 'tool_call', ...named, input: copyJson(requireInput(block.input, `${at}.input`)) }
    }
    default:
      return readPart(block, at, anthropicTypes)
  }
}

function readPart(part: Fields, at: string, accepted: string): PromptPart {
  switch (part.type) {
    case 'text':
      return { type: 'text', text: requireText(part, 'text', at) }
    case 'image':
      return readSource(part, at, (mediaType, data) => ({ type: 'image', mediaType, data }))
    case 'document': {
      const name = optionalText(part, 'title', 'name', at)
      return readSource(part, at, (mediaType, data) => ({ type: 'document', mediaType, data, ...name }))
    }
    default:
      return fail(`${at}.type`, part.type, accepted)
  }
}

function readSource(block: Fields, at: string, make: (mediaType: string, data: string) => PromptPart): PromptPart {
  const inside = `${at}.source`
  const source = requireObject(block.source, inside)
  if (source.type === 'url') return { type: 'text', text: `[${block.type}: ${requireText(source, 'url', inside)}]` }
  if (source.type !== 'base64' && source.type !== 'text') {
    return fail(`${inside}.type`, source.type, "'base64', 'text' or 'url'")
  }
  const data = requireText(source, 'data', inside)
  return make(requireText(source, 'media_type', inside), source.type === 'text' ? toBase64(data) : data)
}

function toBase64(text: string): string {
  return Buffer.from(text, 'utf8').toString('base64')
}

function writeBlock(block: SessionContentBlock, at: string): AnthropicBlock {
  switch (block?.type) {
    case 'text':
    case 'image':
    case 'document':
      return writePart(block, at)
    case 'thinking':
      return writeThinking(block)
    case 'tool_call':
      return { type: 'tool_use', id: block.id, name: block.name, input: copyJson(block.input) }
    case 'tool_result': {
      const flag = block.isError === undefined ? {} : { is_error: block.isError }
      return { type: 'tool_result', tool_use_id: block.callId, content: writeOutput(block.output, at), ...flag }
    }
    default:
      return fail(at, block, `a block of type ${canonicalTypes}`)
  }
}

function writeOutput(output: ToolOutput, at: string): string | AnthropicPart[] {
  if (typeof output === 'string') return output
  requireList(output, `${at}.output`, 'a string or an array of blocks')
  return output.map((part, i) => writePart(part, `${at}.output[${i}]`))
}

function writePart(part: ToolResultContent, at: string): AnthropicPart {
  if (part?.type === 'text') return { type: 'text', text: part.text }
  if (part?.type === 'document') {
    const title = part.name === undefined ? {} : { title: part.name }
    return { type: 'document', source: documentSource(part), ...title }
  }
  if (part?.type !== 'image') return fail(at, part, 'a block of type text, image or document')
  return { type: 'image', source: { type: 'base64', media_type: part.mediaType, data: part.data } }
}

/** The API accepts plain text only as a text source; bytes that are not UTF-8 would change there and stay base64. */
function documentSource({ mediaType, data }: DocumentBlock): AnthropicSource {
  const text = mediaType === 'text/plain' ? Buffer.from(data, 'base64').toString('utf8') : undefined
  if (text === undefined || toBase64(text) !== data) return { type: 'base64', media_type: mediaType, data }
  return { type: 'text', media_type: mediaType, data: text }
}

function writeThinking({ text, signature }: ThinkingBlock): AnthropicBlock {
  if (signature === undefined) return { type: 'thinking', thinking: text }
  if (text !== '' || !signature.startsWith(redactedPrefix)) return { type: 'thinking', thinking: text, signature }
  return { type: 'redacted_thinking', data: signature.slice(redactedPrefix.length) }
}

/** The Anthropic block types, for error messages. */
export const anthropicTypes = 'text, image, document, thinking, redacted_thinking, tool_use or tool_result'

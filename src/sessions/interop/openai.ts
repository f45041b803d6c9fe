import { withInterruptionNote } from '../../core/interruption-note.ts'
import type {
  DocumentBlock,
  ImageBlock,
  Message,
  PromptPart,
  SessionContentBlock,
  TextBlock,
  ToolCallBlock,
  ToolOutput,
  ToolResultBlock,
} from '../../core/turn.ts'
import {
  canonicalRoles,
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
 * Reads the `messages` of an OpenAI chat completion. Left out, for lack of a counterpart: `system` and `developer`
 * messages (see `systemOf`), `name`, `audio`, `annotations`, an image's `detail`. A remote part (an http image, an
 * uploaded file) becomes a text that names it; a refusal becomes text. Consecutive tool messages become one user message.
 */
export function fromOpenAI(messages: readonly object[]): Message[] {
  requireMessages(messages, openAIRoles)
  const read: Message[] = []
  let results: ToolResultBlock[] | undefined
  for (const [i, message] of (messages as readonly OpenAIMessage[]).entries()) {
    const at = `messages[${i}]`
    if (isSystem(message)) continue
    if (message.role !== 'tool') {
      results = undefined
      read.push(message.role === 'assistant' ? readAssistant(message, at) : readUser(message, at))
      continue
    }
    if (!results) read.push({ role: 'user', content: (results = []) })
    results.push(readResult(message, at))
  }
  return read
}

/** The instructions that `fromOpenAI` leaves out: the text of all system and developer messages. */
export function systemOf(messages: readonly object[]): string {
  requireMessages(messages, openAIRoles)
  return (messages as readonly OpenAIMessage[])
    .flatMap((message, i) => (isSystem(message) ? [systemText(message, `messages[${i}].content`)] : []))
    .join('\n\n')
}

/**
 * Writes canonical messages as the `messages` of an OpenAI chat completion. Left out: `isError` (the text stays
 * unchanged), the signature of thinking and so all redacted thinking, the borders between thinking blocks, the order of text
 * and calls in one message. Images of a tool result follow in a user message; images and documents of an assistant message
 * become a text. An unreadable call is written with its `raw` text.
 */
export function toOpenAI(messages: readonly Message[]): OpenAIMessage[] {
  requireMessages(messages, canonicalRoles)
  return messages.flatMap((message, i) => {
    const at = `messages[${i}].content`
    requireList(message.content, at, 'an array of blocks')
    const { role, content } = withInterruptionNote(message)
    return role === 'user' ? writeUser(content, at) : [writeAssistant(content, at)]
  })
}

/** One entry of the `messages` array of the OpenAI chat completions API. */
export interface OpenAIMessage {
  readonly role: 'system' | 'developer' | 'user' | 'assistant' | 'tool'
  readonly content?: string | readonly OpenAIPart[] | null
  readonly tool_calls?: readonly OpenAIToolCall[] | null
  readonly tool_call_id?: string
  readonly reasoning_content?: string | null
  readonly refusal?: string | null
}

/** The content parts of the OpenAI chat completions API that a transcript can hold. */
type OpenAIPart =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'refusal'; readonly refusal: string }
  | { readonly type: 'image_url'; readonly image_url: { readonly url: string } }
  | { readonly type: 'file'; readonly file: OpenAIFile }

/** A file given as a data URL (`file_data`) or by the id of an upload. */
interface OpenAIFile {
  readonly filename?: string
  readonly file_data?: string
  readonly file_id?: string
}

/** A call of the model; `arguments` is JSON as the model wrote it. */
interface OpenAIToolCall {
  readonly id: string
  readonly type?: 'function'
  readonly function: { readonly name: string; readonly arguments: string }
}

/** The roles an OpenAI message may have; the retired `function` role is not among them. */
export const openAIRoles: readonly string[] = ['system', 'developer', 'user', 'assistant', 'tool']

/** The OpenAI part types, for error messages. */
export const openAITypes = 'text, image_url, file or refusal'

function isSystem(message: OpenAIMessage): boolean {
  return message.role === 'system' || message.role === 'developer'
}

function readAssistant(message: OpenAIMessage, at: string): Message {
  const fields = requireObject(message, at)
  if (fields.function_call) fail(`${at}.function_call`, fields.function_call, 'tool_calls in its place')
  const { text: thought } = optionalText(fields, 'reasoning_content', 'text', at)
  const { text: refusal } = optionalText(fields, 'refusal', 'text', at)
  const content: SessionContentBlock[] = thought ? [{ type: 'thinking', text: thought }] : []
  content.push(...readParts(message.content ?? '', `${at}.content`))
  if (refusal) content.push({ type: 'text', text: refusal })
  const calls = requireList(message.tool_calls ?? [], `${at}.tool_calls`, 'an array of calls')
  content.push(...calls.map((call, i) => readCall(call, `${at}.tool_calls[${i}]`)))
  return { role: 'assistant', content }
}

function readUser(message: OpenAIMessage, at: string): Message {
  return { role: 'user', content: readParts(message.content, `${at}.content`) }
}

function readResult(message: OpenAIMessage, at: string): ToolResultBlock {
  const callId = requireText(requireObject(message, at), 'tool_call_id', at)
  return { type: 'tool_result', callId, output: readOutput(message.content, `${at}.content`) }
}

function readOutput(content: unknown, at: string): ToolOutput {
  if (typeof content === 'string') return content
  return readParts(content, at)
}

function readParts(content: unknown, at: string): PromptPart[] {
  // Many servers write '' beside tool calls; other providers refuse a text block without text.
  if (content === '') return []
  if (typeof content === 'string') return [{ type: 'text', text: content }]
  const parts = requireList(content, at, 'a string or an array of parts')
  return parts.map((part, i) => readPart(requireObject(part, `${at}[${i}]`), `${at}[${i}]`))
}

function readPart(part: Fields, at: string): PromptPart {
  switch (part.type) {
    case 'text':
      return { type: 'text', text: requireText(part, 'text', at) }
    case 'refusal':
      return { type: 'text', text: requireText(part, 'refusal', at) }
    case 'image_url': {
      const url = requireText(requireObject(part.image_url, `${at}.image_url`), 'url', `${at}.image_url`)
      const image = readDataUrl(url)
      return image ? { type: 'image', ...image } : { type: 'text', text: `[image: ${url}]` }
    }
    case 'file':
      return readFile(requireObject(part.file, `${at}.file`), `${at}.file`)
    default:
      return fail(`${at}.type`, part.type, openAITypes)
  }
}

function readFile(file: Fields, at: string): DocumentBlock | TextBlock {
  if (file.file_data === undefined) return { type: 'text', text: `[file: ${requireText(file, 'file_id', at)}]` }
  const data = requireText(file, 'file_data', at)
  const name = optionalText(file, 'filename', 'name', at)
  const document = readDataUrl(data)
  if (document) return { type: 'document', ...document, ...name }
  // Base64 has no colon, a link has one. Bare base64 is taken for a PDF, the one type the API is documented for.
  if (data.includes(':')) return { type: 'text', text: `[file: ${data}]` }
  return { type: 'document', mediaType: 'application/pdf', data, ...name }
}

function readDataUrl(url: string): { mediaType: string; data: string } | undefined {
  const comma = url.indexOf(',')
  const head = url.slice(0, Math.max(comma, 0))
  if (!head.startsWith('data:') || !head.endsWith(';base64')) return
  return { mediaType: head.slice('data:'.length, -';base64'.length), data: url.slice(comma + 1) }
}

function readCall(value: unknown, at: string): ToolCallBlock {
  const call = requireObject(value, at)
  if (call.type !== undefined && call.type !== 'function') fail(`${at}.type`, call.type, "'function'")
  const asked = requireObject(call.function, `${at}.function`)
  const id = requireText(call, 'id', at)
  const name = requireText(asked, 'name', `${at}.function`)
  return { type: 'tool_call', id, name, ...readArguments(requireText(asked, 'arguments', `${at}.function`)) }
}

/** Does not throw: unreadable arguments are kept as `raw`. Many models write blank text for a call without arguments. */
function readArguments(raw: string): Pick<ToolCallBlock, 'input' | 'raw' | 'unreadable'> {
  if (raw.trim() === '') return { input: {} }
  try {
    return { input: requireInput(JSON.parse(raw), 'arguments') }
  } catch (error) {
    return { input: {}, raw, unreadable: (error as Error).message }
  }
}

function systemText(message: OpenAIMessage, at: string): string {
  if (typeof message.content === 'string') return message.content
  const parts = requireList(message.content, at, 'a string or an array of text parts')
  return parts.map((part, i) => requireText(requireObject(part, `${at}[${i}]`), 'text', `${at}[${i}]`)).join('')
}

/** Tool messages come first, in any order of the blocks: they must follow the message with their calls. */
function writeUser(content: readonly SessionContentBlock[], at: string): OpenAIMessage[] {
  const results: OpenAIMessage[] = []
  const images: OpenAIPart[] = []
  const parts: OpenAIPart[] = []
  for (const [i, block] of content.entries()) {
    if (block?.type === 'tool_result') results.push(writeResult(block, `${at}[${i}]`, images))
    else parts.push(writePart(block, `${at}[${i}]`))
  }
  const userParts = [...images, ...parts]
  if (results.length > 0 && userParts.length === 0) return results
  return [...results, { role: 'user', content: joined(userParts) }]
}

function writeResult({ callId, output }: ToolResultBlock, at: string, images: OpenAIPart[]): OpenAIMessage {
  if (typeof output === 'string') return { role: 'tool', tool_call_id: callId, content: output }
  requireList(output, `${at}.output`, 'a string or an array of blocks')
  const content = output.map((block, i): OpenAIPart => {
    const part = writePart(block, `${at}.output[${i}]`)
    if (part.type === 'text') return part
    images.push(part)
    return { type: 'text', text: `[${block.type}: see the next user message]` }
  })
  return { role: 'tool', tool_call_id: callId, content }
}

function writePart(block: SessionContentBlock, at: string): OpenAIPart {
  switch (block?.type) {
    case 'text':
      return { type: 'text', text: block.text }
    case 'image':
      return { type: 'image_url', image_url: { url: dataUrl(block) } }
    case 'document': {
      const name = block.name === undefined ? {} : { filename: block.name }
      return { type: 'file', file: { ...name, file_data: dataUrl(block) } }
    }
    default:
      return fail(at, block, 'a block of type text, image, document or tool_result in a user message')
  }
}

function dataUrl({ mediaType, data }: ImageBlock | DocumentBlock): string {
  return `data:${mediaType};base64,${data}`
}

function joined(parts: readonly OpenAIPart[]): string | readonly OpenAIPart[] {
  const [first, ...more] = parts
  if (!first) return ''
  return more.length === 0 && first.type === 'text' && first.text !== '' ? first.text : parts
}

function writeAssistant(content: readonly SessionContentBlock[], at: string): OpenAIMessage {
  const thoughts: string[] = []
  const parts: OpenAIPart[] = []
  const calls: OpenAIToolCall[] = []
  for (const [i, block] of content.entries()) {
    switch (block?.type) {
      case 'thinking':
        thoughts.push(block.text)
        break
      case 'text':
        parts.push({ type: 'text', text: block.text })
        break
      case 'image':
      case 'document':
        parts.push({ type: 'text', text: `[${block.type}: ${block.mediaType}]` })
        break
      case 'tool_call':
        calls.push(writeCall(block))
        break
      default:
        fail(
          `${at}[${i}]`,
          block,
          'a block of type text, image, document, thinking or tool_call in an assistant message',
        )
    }
  }
  const reasoning = thoughts.filter((thought) => thought !== '').join('\n\n')
  return {
    role: 'assistant',
    content: parts.length === 0 && calls.length > 0 ? null : joined(parts),
    ...(reasoning !== '' && { reasoning_content: reasoning }),
    ...(calls.length > 0 && { tool_calls: calls }),
  }
}

function writeCall({ id, name, input, raw }: ToolCallBlock): OpenAIToolCall {
  return { id, type: 'function', function: { name, arguments: raw ?? JSON.stringify(input) } }
}

import type { Block } from './anthropic-conversation.ts'
import { refuse } from './anthropic-refusal.ts'
import { isBase64, pixelsOf, typeOf } from './media.ts'
import { isObject, type Json, unknownField } from './refusal.ts'
import { verify } from './signatures.ts'

interface Place {
  readonly at: string
  readonly role: string
  readonly model: string
  readonly boundTo: string
}

const known: Readonly<Record<string, { readonly role: string; readonly fields: readonly string[] }>> = {
  text: { role: 'user assistant', fields: ['text', 'citations', 'cache_control'] },
  image: { role: 'user', fields: ['source', 'cache_control'] },
  document: { role: 'user', fields: ['source', 'title', 'context', 'citations', 'cache_control'] },
  tool_result: { role: 'user', fields: ['tool_use_id', 'content', 'is_error', 'cache_control'] },
  thinking: { role: 'assistant', fields: ['thinking', 'signature'] },
  redacted_thinking: { role: 'assistant', fields: ['data'] },
  tool_use: { role: 'assistant', fields: ['id', 'name', 'input', 'caller', 'cache_control'] },
  server_tool_use: { role: 'assistant', fields: ['id', 'name', 'input', 'cache_control'] },
  web_search_tool_result: { role: 'assistant', fields: ['tool_use_id', 'content', 'cache_control'] },
}

/** Checks which blocks a message may hold, and the form of each kind of block. */
export function checkBlock(block: Block, place: Place): void {
  const { at, role } = place
  const kind = isObject(block) ? known[block.type] : undefined
  if (!kind?.role.includes(role))
    throw refuse(`${at}: Input tag '${String(block?.type)}' found using 'type' does not match any of the expected tags`)
  const extra = unknownField(block, ['type', ...kind.fields])
  if (extra !== undefined) throw refuse(`${at}.${block.type}.${extra}: Extra inputs are not permitted`)
  checks[block.type]?.(block, place)
}

const checks: Readonly<Record<string, (block: Block, place: Place) => void>> = {
  text: checkText,
  image: (block, { at }) => checkImage(block, `${at}.image`),
  document: (block, { at }) => checkDocument(block, `${at}.document`),
  tool_result: checkResult,
  tool_use: (block, { at }) => checkCall(block, `${at}.tool_use`),
  thinking: checkThought,
  redacted_thinking({ data }, { at, model }) {
    if (verify(model, 'redacted', data) !== 'good')
      throw refuse(`${at}: Invalid \`data\` in \`redacted_thinking\` block`)
  },
}

function checkThought({ thinking, signature }: Block, { at, model, boundTo }: Place): void {
  if (signature === undefined) throw refuse(`${at}.thinking.signature: Field required`)
  const verdict = verify(model, String(thinking) + boundTo, signature)
  if (verdict === 'edited')
    throw refuse(`${at}: \`thinking\` blocks cannot be modified. These blocks must remain as they were.`)
  if (verdict !== 'good') throw refuse(`${at}: Invalid \`signature\` in \`thinking\` block`)
}

function checkText({ text, cache_control: mark }: Block): void {
  if (typeof text !== 'string') throw refuse('messages: text: Input should be a valid string')
  if (mark !== undefined && text === '') throw refuse('messages: cache_control cannot be set for empty text blocks')
  if (text === '') throw refuse('messages: text content blocks must be non-empty')
  if (text.trim() === '') throw refuse('messages: text content blocks must contain non-whitespace text')
}

function checkCall({ id, name, input }: Block, at: string): void {
  if (!/^[a-zA-Z0-9_-]{1,64}$/.test(String(id)))
    throw refuse(`${at}.id: String should match pattern '^[a-zA-Z0-9_-]+$'`)
  if (!/^[a-zA-Z0-9_-]{1,128}$/.test(String(name)))
    throw refuse(`${at}.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'`)
  if (!isObject(input)) throw refuse(`${at}.input: Input should be a valid dictionary`)
}

function checkResult(block: Block, place: Place): void {
  const at = `${place.at}.tool_result`
  if (!/^[a-zA-Z0-9_-]{1,64}$/.test(String(block.tool_use_id)))
    throw refuse(`${at}.tool_use_id: String should match pattern '^[a-zA-Z0-9_-]+$'`)
  if (typeof block.content === 'string' || block.content === undefined) return
  for (const [i, part] of (block.content as Block[]).entries()) {
    if (!['text', 'image', 'document'].includes(part?.type))
      throw refuse(`${at}.content.${i}: Input tag '${String(part?.type)}' does not match any of the expected tags`)
    if (block.is_error === true && part.type !== 'text')
      throw refuse(`${at}: all content must be type "text" if "is_error" is true`)
    checkBlock(part, { ...place, at: `${at}.content.${i}` })
  }
}

const mostBytes = 5 * 1024 * 1024
const mostPixels = 8000

function checkImage({ source }: Block, at: string): void {
  const { type, media_type: claimed, data } = (source ?? {}) as Json
  if (type !== 'base64')
    throw refuse(`${at}.source: Input tag '${String(type)}' does not match any of the expected tags`)
  if (!/^image\/(jpeg|png|gif|webp)$/.test(String(claimed)))
    throw refuse(
      `${at}.source.base64.media_type: Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'`,
    )
  if (!isBase64(data)) throw refuse(`${at}.source.base64: invalid base64 data`)
  if (data.length > mostBytes)
    throw refuse(`${at}.source.base64: image exceeds 5 MB maximum: ${data.length} bytes > ${mostBytes} bytes`)
  const actual = typeOf(data)
  if (actual === undefined || actual === 'application/pdf')
    throw refuse(`${at}.source.base64.data: Could not process image`)
  if (actual !== claimed)
    throw refuse(
      `${at}.source.base64.data: The image was specified using the ${String(claimed)} media type, but the image appears to be a ${actual} image`,
    )
  if (actual === 'image/png' && Math.max(...pixelsOf(data)) > mostPixels)
    throw refuse(`${at}.source.base64.data: At least one of the image dimensions exceed max allowed size: 8000 pixels`)
}

function checkDocument({ source, title }: Block, at: string): void {
  const { type, media_type: claimed, data } = (source ?? {}) as Json
  if (title !== undefined && (typeof title !== 'string' || title === ''))
    throw refuse(`${at}.title: String should have at least 1 character`)
  if (type === 'text') {
    if (claimed !== 'text/plain') throw refuse(`${at}.source.text.media_type: Input should be 'text/plain'`)
    if (typeof data !== 'string' || data === '') throw refuse(`${at}.source.text.data: String should be non-empty`)
    return
  }
  if (type !== 'base64' || claimed !== 'application/pdf')
    throw refuse(`${at}.source.base64.media_type: Input should be 'application/pdf'`)
  if (!isBase64(data)) throw refuse(`${at}.source.base64: invalid base64 data`)
  if (typeOf(data) !== claimed) throw refuse(`${at}.source.base64.data: The PDF specified was not valid.`)
}

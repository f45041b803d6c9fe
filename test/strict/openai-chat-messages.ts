import { checkFields, checkFile, checkImageUrl, isJsonObject, namePattern, refuse } from './openai-refusal.ts'
import type { Json } from './refusal.ts'

export type ChatMessage = Json & { readonly role: string; readonly content?: unknown; readonly tool_calls?: unknown }

const known: Readonly<Record<string, readonly string[]>> = {
  system: ['content', 'name'],
  developer: ['content', 'name'],
  user: ['content', 'name'],
  assistant: ['content', 'name', 'refusal', 'tool_calls'],
  tool: ['content', 'tool_call_id'],
}
const routerFields = ['reasoning', 'reasoning_details']

/** Checks roles, pairs, and the parts of each message. */
export function checkMessages(messages: unknown, host: 'openai' | 'openrouter'): void {
  if (!Array.isArray(messages) || messages.every(({ role }) => role === 'system' || role === 'developer'))
    throw refuse("Invalid 'messages': empty array. Expected an array with minimum length 1.", 'messages')
  const used = new Set<unknown>()
  let open: unknown[] = []
  let images = 0
  for (const [i, message] of (messages as ChatMessage[]).entries()) {
    const at = `messages[${i}]`
    const fields = known[message.role]
    if (!fields)
      throw refuse(
        `Invalid value: '${message.role}'. Supported values are: 'system', 'assistant', 'user', 'tool'.`,
        `${at}.role`,
      )
    const more = host === 'openrouter' && message.role === 'assistant' ? routerFields : []
    checkFields(message, ['role', ...fields, ...more], at)
    if (message.role === 'tool') {
      open = answered(message, open, i)
      continue
    }
    if (open.length > 0)
      throw refuse(
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. " +
          `The following tool_call_ids did not have response messages: ${open.join(', ')}`,
        `messages.[${i}].role`,
      )
    if (message.role === 'assistant') open = checkAssistant(message, at, used)
    else images += checkSaid(message, at, host)
  }
  if (open.length > 0)
    throw refuse(
      "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. " +
        `The following tool_call_ids did not have response messages: ${open.join(', ')}`,
      `messages.[${messages.length - 1}].role`,
    )
  if (images > 500) throw refuse(`Too many images in request: ${images} > 500.`, 'messages')
}

function answered({ tool_call_id: id, content }: ChatMessage, open: readonly unknown[], i: number): unknown[] {
  if (!open.includes(id))
    throw refuse(
      `Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls' (messages.[${i}].role).`,
      `messages.[${i}].role`,
    )
  if (Array.isArray(content)) {
    for (const part of content as Json[])
      if (part.type !== 'text')
        throw refuse(
          `Invalid 'messages[${i}]'. Image URLs are only allowed for messages with role 'user', but this message with role 'tool' contains an image URL.`,
          `messages.[${i}]`,
        )
  } else if (typeof content !== 'string')
    throw refuse(`Invalid type for 'messages[${i}].content'.`, `messages[${i}].content`)
  return open.filter((one) => one !== id)
}

function checkAssistant({ content, tool_calls: calls }: ChatMessage, at: string, used: Set<unknown>): unknown[] {
  const isSilent = content === null || content === undefined || content === ''
  if (isSilent && calls === undefined)
    throw refuse(`Invalid value for '${at}.content': expected a string, got null.`, `${at}.content`)
  if (!isSilent && (typeof content !== 'string' || content.trim() === ''))
    throw refuse(`Invalid '${at}.content': assistant content must be a text that is not blank.`, `${at}.content`)
  if (calls === undefined) return []
  if (!Array.isArray(calls) || calls.length === 0)
    throw refuse(
      `Invalid '${at}.tool_calls': empty array. Expected an array with minimum length 1.`,
      `${at}.tool_calls`,
    )
  return (calls as Json[]).map((call, j) => {
    const where = `${at}.tool_calls[${j}]`
    checkFields(call, ['id', 'type', 'function'], where)
    const { id, function: called } = call
    if (typeof id !== 'string' || id === '') throw refuse(`Missing required parameter: '${where}.id'.`, `${where}.id`)
    if (id.length > 40)
      throw refuse(
        `Invalid '${where}.id': string too long. Expected a string with maximum length 40, but got a string with length ${id.length} instead.`,
        `${where}.id`,
      )
    if (!/^[\x21-\x7e]+$/.test(id)) throw refuse(`Invalid '${where}.id': string does not match pattern.`, `${where}.id`)
    if (used.has(id)) throw refuse(`Invalid '${where}.id': duplicate tool call id '${id}'.`, `${where}.id`)
    used.add(id)
    const { name, arguments: input } = called as Json
    if (!namePattern.test(String(name)))
      throw refuse(`Invalid '${where}.function.name': string does not match pattern.`, `${where}.function.name`)
    if (typeof input !== 'string' || !isJsonObject(input))
      throw refuse(
        `Invalid '${where}.function.arguments': expected a JSON object as a string.`,
        `${where}.function.arguments`,
      )
    return id
  })
}

/** Checks a user or system message; returns its number of images. */
function checkSaid({ role, content }: ChatMessage, at: string, host: string): number {
  if (typeof content === 'string') {
    if (content.trim() === '') throw refuse(`Invalid '${at}.content': string too short.`, `${at}.content`)
    return 0
  }
  if (!Array.isArray(content) || content.length === 0)
    throw refuse(`Invalid '${at}.content': empty array. Expected an array with minimum length 1.`, `${at}.content`)
  const marks = host === 'openrouter' ? ['cache_control'] : []
  for (const [j, part] of (content as Json[]).entries()) {
    const where = `${at}.content[${j}]`
    if (part.type === 'text') {
      checkFields(part, ['type', 'text', ...marks], where)
      if (String(part.text ?? '').trim() === '') throw refuse(`Invalid '${where}.text': string too short.`, where)
    } else if (part.type === 'image_url' && role === 'user')
      checkImageUrl((part.image_url as Json).url, `${where}.image_url`)
    else if (part.type === 'file' && role === 'user') checkFile((part.file as Json).file_data, `${where}.file`)
    else
      throw refuse(
        `Invalid value: '${String(part.type)}' at '${where}'. Supported values are: 'text', 'image_url' and 'file'.`,
        where,
      )
  }
  return (content as Json[]).filter(({ type }) => type === 'image_url').length
}

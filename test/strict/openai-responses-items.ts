import { checkFields, checkFile, checkImageUrl, isJsonObject, namePattern, refuse } from './openai-refusal.ts'
import type { Json } from './refusal.ts'
import { verify } from './signatures.ts'

export type ResponsesItem = Json & { readonly type?: string; readonly role?: string; readonly id?: string }

interface Settings {
  readonly model: string
  readonly isStored: boolean
}

const known: Readonly<Record<string, readonly string[]>> = {
  message: ['role', 'content', 'id', 'status', 'phase'],
  reasoning: ['id', 'summary', 'encrypted_content', 'content'],
  function_call: ['id', 'call_id', 'name', 'arguments', 'status', 'namespace', 'caller', 'async'],
  function_call_output: ['id', 'call_id', 'output', 'status'],
  web_search_call: ['id', 'status', 'action'],
}
const prefixes: Readonly<Record<string, string>> = { message: 'msg', reasoning: 'rs', function_call: 'fc' }

/** Checks items and their ids, that calls have outputs, and that reasoning has the item after it. */
export function checkInput(input: unknown, settings: Settings): void {
  if (!Array.isArray(input) || input.length === 0)
    throw refuse("Invalid 'input': empty array. Expected an array with minimum length 1.", 'input')
  const items = input as readonly ResponsesItem[]
  const ids = new Set<string>()
  const open = new Set<unknown>()
  const called = new Set<unknown>()
  let images = 0
  for (const [i, item] of items.entries()) {
    const at = `input[${i}]`
    const type = item.type ?? 'message'
    if (type === 'item_reference' && !settings.isStored)
      throw refuse(
        `Item with id '${String(item.id)}' not found. Items are not persisted when \`store\` is set to false.`,
        at,
        404,
      )
    const fields = known[type]
    if (!fields) throw refuse(`Invalid value: '${type}' at '${at}'.`, at)
    checkFields(item, ['type', ...fields], at)
    checkId(item, type, at, ids)
    if (type === 'message') images += checkMessage(item, at)
    else if (type === 'reasoning') checkReasoning(item, items[i + 1], settings)
    else if (type === 'function_call') checkCall(item, at, { open, called })
    else if (type === 'function_call_output') images += checkOutput(item, at, open)
  }
  if (open.size > 0) throw refuse(`No tool output found for function call ${[...open].join(', ')}.`, 'input')
  if (images > 500) throw refuse(`Too many images in request: ${images} > 500.`, 'input')
}

function checkId({ id }: ResponsesItem, type: string, at: string, ids: Set<string>): void {
  if (id === undefined) return
  const prefix = prefixes[type]
  if (prefix !== undefined && !String(id).startsWith(`${prefix}_`))
    throw refuse(`Invalid '${at}.id': '${id}'. Expected an ID that begins with '${prefix}'.`, `${at}.id`)
  if (id.length > 64)
    throw refuse(`Invalid '${at}.id': string too long. Expected a string with maximum length 64.`, `${at}.id`)
  if (ids.has(id))
    throw refuse(`Duplicate item found with id ${id}. Remove duplicate items from your input and try again.`)
  ids.add(id)
  const reasoned = /^(?:fc|msg)_(r\d+)/.exec(id)?.[1]
  if (reasoned !== undefined && !ids.has(`rs_${reasoned}`))
    throw refuse(`Item '${id}' of type '${type}' was provided without its required 'reasoning' item: 'rs_${reasoned}'.`)
}

function checkReasoning(
  { id, summary, encrypted_content: sealed }: ResponsesItem,
  next: ResponsesItem | undefined,
  { model }: Settings,
): void {
  if (!Array.isArray(summary)) throw refuse(`Missing required parameter: 'summary' of reasoning item '${String(id)}'.`)
  if (verify(model, String(id), sealed) !== 'good')
    throw refuse(
      `The encrypted content for item ${String(id)} could not be verified. Reason: Encrypted content could not be decrypted or parsed.`,
      null,
      400,
      'invalid_encrypted_content',
    )
  const isLed = next?.type === 'function_call' || next?.type === 'web_search_call' || next?.role === 'assistant'
  if (!isLed) throw refuse(`Item '${String(id)}' of type 'reasoning' was provided without its required following item.`)
}

function checkCall(item: ResponsesItem, at: string, { open, called }: Record<'open' | 'called', Set<unknown>>): void {
  const { call_id: id, name, arguments: input } = item
  checkCallId(id, at)
  if (called.has(id)) throw refuse(`Duplicate item found with call_id ${String(id)} at '${at}'.`)
  called.add(id)
  open.add(id)
  if (!namePattern.test(String(name)))
    throw refuse(
      `Invalid '${at}.name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.`,
    )
  if (typeof input !== 'string' || !isJsonObject(input))
    throw refuse(`Invalid '${at}.arguments': expected a JSON object as a string.`)
}

function checkCallId(id: unknown, at: string): void {
  if (typeof id !== 'string' || id === '') throw refuse(`Missing required parameter: '${at}.call_id'.`)
  if (id.length > 64)
    throw refuse(
      `Invalid '${at}.call_id': string too long. Expected a string with maximum length 64, but got a string with length ${id.length} instead.`,
    )
  if (!/^[\x21-\x7e]+$/.test(id)) throw refuse(`Invalid '${at}.call_id': string does not match pattern.`)
}

function checkOutput({ call_id: id, output }: ResponsesItem, at: string, open: Set<unknown>): number {
  checkCallId(id, at)
  if (!open.delete(id)) throw refuse(`No tool call found for function call output with call_id ${String(id)}.`, 'input')
  if (typeof output === 'string') return 0
  if (!Array.isArray(output)) throw refuse(`Invalid type for '${at}.output'.`)
  return checkParts(output, `${at}.output`)
}

function checkMessage({ role, content }: ResponsesItem, at: string): number {
  if (!['user', 'assistant', 'system', 'developer'].includes(String(role)))
    throw refuse(
      `Invalid value: '${String(role)}'. Supported values are: 'assistant', 'system', 'developer', and 'user'.`,
      `${at}.role`,
    )
  if (typeof content === 'string' && content.trim() !== '') return 0
  if (!Array.isArray(content) || content.length === 0)
    throw refuse(`Invalid '${at}.content': empty array. Expected an array with minimum length 1.`, `${at}.content`)
  if (role !== 'assistant') return checkParts(content, `${at}.content`)
  for (const [j, part] of (content as Json[]).entries()) {
    if (part.type !== 'output_text' && part.type !== 'refusal')
      throw refuse(
        `Invalid value: '${String(part.type)}'. Supported values are: 'output_text' and 'refusal'.`,
        `${at}.content[${j}]`,
      )
    checkFields(part, ['type', 'text', 'refusal', 'annotations', 'logprobs'], `${at}.content[${j}]`)
    if (String(part.text ?? part.refusal ?? '').trim() === '')
      throw refuse(`Invalid '${at}.content[${j}].text': string too short.`)
  }
  return 0
}

/** Checks content for the model; returns its number of images. */
function checkParts(parts: readonly Json[], at: string): number {
  for (const [j, part] of parts.entries()) {
    const where = `${at}[${j}]`
    if (part.type === 'input_text') {
      checkFields(part, ['type', 'text'], where)
      if (String(part.text ?? '').trim() === '') throw refuse(`Invalid '${where}.text': string too short.`)
    } else if (part.type === 'input_image') checkImageUrl(part.image_url, `${where}.image_url`)
    else if (part.type === 'input_file') checkFile(part.file_data, `${where}.file_data`)
    else
      throw refuse(
        `Invalid value: '${String(part.type)}'. Supported values are: 'input_text', 'input_image', 'input_file'.`,
        where,
      )
  }
  return parts.filter(({ type }) => type === 'input_image').length
}

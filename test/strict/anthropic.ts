import { checkConversation, contentOf, type MessagesBody, prefixOf } from './anthropic-conversation.ts'
import { checkModel } from './anthropic-models.ts'
import { refuse } from './anthropic-refusal.ts'
import { isObject, type Json, unknownField } from './refusal.ts'
import { sign } from './signatures.ts'
import { type Dialect, type Step, type StrictRequest, sse } from './strict-server.ts'

export interface StrictAnthropicOptions {
  /** Accepts thinking only after the same messages that it was generated after. */
  readonly bindsPrefix?: boolean
}

/** The Messages API. */
export function strictAnthropic({ bindsPrefix = false }: StrictAnthropicOptions = {}): Dialect {
  const bound = (body: MessagesBody, count: number): string => (bindsPrefix ? prefixOf(body.messages, count) : '')
  return {
    refuse,
    accuse: (at) => refuse(`${at}: This content could not be processed`),
    items: ({ messages }) =>
      (messages as MessagesBody['messages']).map(({ content }, i) => ({
        at: `messages.${i}`,
        value: content,
        parts: contentOf(content).map((value, j) => ({ at: `messages.${i}.content.${j}`, value })),
      })),
    isProbe: ({ max_tokens }) => max_tokens === 1,
    check({ path, headers, json }) {
      if (path !== '/v1/messages') throw refuse('Not Found', 404, 'not_found_error')
      checkHeaders(headers)
      checkFields(json, headers)
      checkTools(json)
      const body = json as unknown as MessagesBody
      checkModel(body)
      checkConversation(body, (i) => bound(body, i))
      checkBreakpoints(json)
    },
    answer({ json }, step, n) {
      const body = json as unknown as MessagesBody
      return write(body, step, n, (text) => sign(body.model, text + bound(body, body.messages.length)))
    },
  }
}

function checkHeaders(headers: StrictRequest['headers']): void {
  const version = headers['anthropic-version']
  if (version === undefined) throw refuse('anthropic-version: header is required')
  if (!['2023-06-01', '2026-10-21'].includes(version))
    throw refuse(`anthropic-version: "${version}" is not a valid version`)
  const isBoth = headers['x-api-key'] !== undefined && headers.authorization !== undefined
  if (isBoth) throw refuse('only one of x-api-key and Authorization may be sent', 401, 'authentication_error')
  if (headers['x-api-key'] === undefined && headers.authorization === undefined)
    throw refuse('x-api-key header is required', 401, 'authentication_error')
}

const fields = [
  ...['model', 'max_tokens', 'messages', 'system', 'tools', 'tool_choice', 'thinking', 'output_config', 'stream'],
  ...['stop_sequences', 'metadata', 'service_tier', 'cache_control'],
]
/** The newest version refuses them for every model. */
const sampling = ['temperature', 'top_p', 'top_k']

function checkFields(json: Json, headers: StrictRequest['headers']): void {
  const known = headers['anthropic-version'] === '2023-06-01' ? [...fields, ...sampling] : fields
  const extra = unknownField(json, known)
  if (extra !== undefined) throw refuse(`${extra}: Extra inputs are not permitted`)
  const { model, max_tokens: most, system } = json
  if (typeof model !== 'string') throw refuse('model: Field required')
  if (most === undefined) throw refuse('max_tokens: Field required')
  if (!Number.isInteger(most) || (most as number) < 1)
    throw refuse('max_tokens: Input should be greater than or equal to 1')
  if (typeof system === 'string' || system === undefined) return
  for (const [i, block] of (system as Json[]).entries()) {
    if (block.type !== 'text') throw refuse(`system.${i}: Input tag '${String(block.type)}' does not match 'text'`)
    if (String(block.text ?? '').trim() === '') throw refuse(`system: text content blocks must be non-empty`)
  }
}

const toolFields = ['name', 'description', 'input_schema', 'cache_control', 'strict', 'type']

function checkTools({ tools = [], tool_choice: choice }: Json): void {
  const names = new Set<unknown>()
  for (const [i, tool] of (tools as Json[]).entries()) {
    const at = `tools.${i}.custom`
    const extra = unknownField(tool, toolFields)
    if (extra !== undefined) throw refuse(`${at}.${extra}: Extra inputs are not permitted`)
    if (!/^[a-zA-Z0-9_-]{1,128}$/.test(String(tool.name)))
      throw refuse(`${at}.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'`)
    if (names.has(tool.name)) throw refuse('tools: Tool names must be unique.')
    names.add(tool.name)
    checkSchema(tool.input_schema, `${at}.input_schema`)
  }
  if (isObject(choice) && choice.type === 'tool' && !names.has(choice.name))
    throw refuse(`Tool '${String(choice.name)}' not found in provided tools`)
}

function checkSchema(schema: unknown, at: string): void {
  if (!isObject(schema)) throw refuse(`${at}: Field required`)
  if (schema.type !== 'object') throw refuse(`${at}.type: Input should be 'object'`)
  if ('anyOf' in schema || 'oneOf' in schema || 'allOf' in schema)
    throw refuse(`${at}: input_schema does not support oneOf, allOf, or anyOf at the top level`)
  for (const key of Object.keys((schema.properties as Json) ?? {}))
    if (!/^[a-zA-Z0-9_.-]{1,64}$/.test(key))
      throw refuse(`${at}.properties: Property keys should match pattern '^[a-zA-Z0-9_.-]{1,64}$'`)
}

function checkBreakpoints({ tools = [], system, messages }: Json): void {
  const marked = JSON.stringify([tools, system, messages]).split('"cache_control":{').length - 1
  if (marked > 4) throw refuse(`A maximum of 4 blocks with cache_control may be provided. Found ${marked}.`)
}

function write({ model, max_tokens }: MessagesBody, step: Step, n: number, signed: (text: string) => string): string {
  const { thinking, text, calls = [] } = step
  const deltas: [start: object, ...deltas: object[]][] = []
  if (thinking !== undefined)
    deltas.push([
      { type: 'thinking', thinking: '', signature: '' },
      { type: 'thinking_delta', thinking },
      { type: 'signature_delta', signature: signed(thinking) },
    ])
  if (text !== undefined)
    deltas.push([
      { type: 'text', text: '' },
      { type: 'text_delta', text },
    ])
  for (const { id, name, input = {} } of calls)
    deltas.push([
      { type: 'tool_use', id, name, input: {} },
      { type: 'input_json_delta', partial_json: JSON.stringify(input) },
    ])
  const stop = calls.length > 0 ? 'tool_use' : 'end_turn'
  return sse([
    {
      type: 'message_start',
      message: { id: `msg_${n}`, role: 'assistant', model, content: [], usage: { input_tokens: 7, output_tokens: 1 } },
    },
    ...deltas.flatMap(([start, ...rest], index) => [
      { type: 'content_block_start', index, content_block: start },
      ...rest.map((delta) => ({ type: 'content_block_delta', index, delta })),
      { type: 'content_block_stop', index },
    ]),
    {
      type: 'message_delta',
      delta: { stop_reason: max_tokens === 1 ? 'max_tokens' : stop },
      usage: { output_tokens: max_tokens === 1 ? 1 : 3 },
    },
    { type: 'message_stop' },
  ])
}

import { type ChatMessage, checkMessages } from './openai-chat-messages.ts'
import { checkBearer, checkFields, checkFunction, refuse } from './openai-refusal.ts'
import { isObject, type Json } from './refusal.ts'
import { type Dialect, type Item, type Step, sse } from './strict-server.ts'

export interface StrictChatOptions {
  /** `openrouter` accepts more fields, and cache breakpoints. Default `openai`. */
  readonly host?: 'openai' | 'openrouter'
  /** Refuses conversations that end with the assistant, as some compatible hosts do. */
  readonly endsWithUser?: boolean
}

/** The Chat Completions API. */
export function strictChat({ host = 'openai', endsWithUser = false }: StrictChatOptions = {}): Dialect {
  return {
    refuse: (message) => refuse(message),
    accuse: (at) => refuse(`Invalid '${at}': this content could not be processed.`, at),
    items: ({ messages }) => (messages as ChatMessage[]).map(itemOf),
    isProbe: ({ max_tokens }) => max_tokens === 1,
    check({ path, headers, json }) {
      if (path !== '/chat/completions') throw refuse(`Invalid URL (POST ${path})`, null, 404)
      checkBearer(headers)
      checkFields(json, host === 'openrouter' ? [...fields, 'reasoning', 'usage'] : fields, '')
      checkRoom(json)
      checkTools(json, host)
      checkMessages(json.messages, host)
      if (endsWithUser && (json.messages as ChatMessage[]).at(-1)?.role === 'assistant')
        throw refuse('Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant')
    },
    answer: ({ json }, step, n) => write(json, step, n),
  }
}

function itemOf({ content, tool_calls: calls, ...more }: ChatMessage, i: number): Item {
  const at = `messages[${i}]`
  const list = (name: string, values: unknown): Item[] =>
    Array.isArray(values) ? values.map((value, j) => ({ at: `${at}.${name}[${j}]`, value })) : []
  const said = typeof content === 'string' ? [{ at: `${at}.content`, value: content }] : list('content', content)
  return { at, value: { content, calls, ...more }, parts: [...said, ...list('tool_calls', calls)] }
}

const fields = [
  ...['model', 'messages', 'tools', 'tool_choice', 'parallel_tool_calls', 'max_tokens', 'max_completion_tokens'],
  ...['reasoning_effort', 'response_format', 'stream', 'stream_options', 'temperature', 'store', 'prompt_cache_key'],
]

function checkRoom({ max_tokens: old, max_completion_tokens: room, stream_options: options }: Json): void {
  if (old !== undefined && room !== undefined)
    throw refuse("Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.", 'max_tokens')
  const most = room ?? old
  if (most !== undefined && !(Number.isInteger(most) && (most as number) >= 1))
    throw refuse(`Invalid 'max_tokens': integer below minimum value. Expected a value >= 1.`, 'max_tokens')
  if (isObject(options)) checkFields(options, ['include_usage', 'include_obfuscation'], 'stream_options')
}

function checkTools({ tools, tool_choice: choice }: Json, host: string): void {
  const names: unknown[] = []
  if (Array.isArray(tools)) {
    if (tools.length === 0 && host === 'openai')
      throw refuse("Invalid 'tools': empty array. Expected an array with minimum length 1.", 'tools')
    for (const [i, tool] of (tools as Json[]).entries()) {
      const known = host === 'openrouter' ? ['type', 'function', 'cache_control'] : ['type', 'function']
      checkFields(tool, known, `tools[${i}]`)
      const called = tool.function as Json
      checkFields(called, ['name', 'description', 'parameters', 'strict'], `tools[${i}].function`)
      checkFunction(called, `tools[${i}].function`)
      names.push(called.name)
    }
  }
  const forced = isObject(choice) ? (choice.function as Json).name : undefined
  if (forced !== undefined && !names.includes(forced))
    throw refuse(`Invalid value for 'tool_choice': function '${String(forced)}' is not in 'tools'.`, 'tool_choice')
  if (choice !== undefined && names.length === 0)
    throw refuse(
      "Invalid value for 'tool_choice': 'tool_choice' is only allowed when 'tools' are specified.",
      'tool_choice',
    )
}

function write({ model, max_tokens: room }: Json, { thinking, text, calls = [] }: Step, n: number): string {
  const chunk = (delta: object, finish: string | null = null) => ({
    id: `chatcmpl-${n}`,
    object: 'chat.completion.chunk',
    created: 1,
    model,
    choices: [{ index: 0, delta, finish_reason: finish }],
  })
  const fragments = calls.map(({ id, name, input = {} }, index) => ({
    tool_calls: [{ index, id, type: 'function', function: { name, arguments: JSON.stringify(input) } }],
  }))
  const finish = calls.length > 0 ? 'tool_calls' : 'stop'
  return sse([
    chunk({ role: 'assistant', content: '' }),
    ...(thinking === undefined ? [] : [chunk({ reasoning: thinking })]),
    ...(text === undefined ? [] : [chunk({ content: text })]),
    ...fragments.map((fragment) => chunk(fragment)),
    chunk({}, room === 1 ? 'length' : finish),
    { ...chunk({}), choices: [], usage: { prompt_tokens: 7, completion_tokens: room === 1 ? 1 : 3 } },
    '[DONE]',
  ])
}

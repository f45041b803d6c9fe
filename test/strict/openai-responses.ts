import { checkBearer, checkFields, checkFunction, refuse } from './openai-refusal.ts'
import { checkInput, type ResponsesItem } from './openai-responses-items.ts'
import { isObject, type Json } from './refusal.ts'
import { sign } from './signatures.ts'
import { type Dialect, type Item, type Step, sse } from './strict-server.ts'

/** The Responses API, with nothing stored. */
export function strictResponses(): Dialect {
  return {
    refuse: (message) => refuse(message),
    accuse: (at) => refuse(`Invalid '${at}': this content could not be processed.`, at),
    items: ({ input }) => (input as ResponsesItem[]).map(itemOf),
    isProbe: ({ max_output_tokens }) => max_output_tokens === smallestRoom,
    check({ path, headers, json }) {
      if (path !== '/responses') throw refuse(`Invalid URL (POST ${path})`, null, 404)
      checkBearer(headers)
      checkFields(json, fields, '')
      checkSettings(json)
      checkTools(json)
      checkInput(json.input, { model: String(json.model), isStored: json.store !== false })
    },
    answer: ({ json }, step, n) => write(json, step, n),
  }
}

function itemOf(item: ResponsesItem, i: number): Item {
  const at = `input[${i}]`
  const list = item.type === 'function_call_output' ? undefined : item.content
  if (!Array.isArray(list)) return { at, value: item }
  return { at, value: item, parts: list.map((value, j) => ({ at: `${at}.content[${j}]`, value })) }
}

const smallestRoom = 16

const fields = [
  ...['model', 'input', 'instructions', 'tools', 'tool_choice', 'parallel_tool_calls', 'max_output_tokens', 'include'],
  ...['reasoning', 'text', 'store', 'stream', 'prompt_cache_key', 'temperature', 'truncation', 'service_tier'],
]

function checkSettings({ max_output_tokens: room, reasoning, prompt_cache_key: key }: Json): void {
  if (room !== undefined && !(Number.isInteger(room) && (room as number) >= smallestRoom))
    throw refuse(
      `Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, but got ${String(room)} instead.`,
      'max_output_tokens',
    )
  if (isObject(reasoning)) {
    checkFields(reasoning, ['effort', 'summary'], 'reasoning')
    const efforts = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']
    if (reasoning.effort !== undefined && !efforts.includes(String(reasoning.effort)))
      throw refuse(`Invalid value: '${String(reasoning.effort)}' for 'reasoning.effort'.`, 'reasoning.effort')
  }
  if (key !== undefined && String(key).length > 64)
    throw refuse("Invalid 'prompt_cache_key': string too long. Expected a string with maximum length 64.")
}

function checkTools({ tools, tool_choice: choice }: Json): void {
  if (tools !== undefined && (!Array.isArray(tools) || tools.length === 0))
    throw refuse("Invalid 'tools': empty array. Expected an array with minimum length 1.", 'tools')
  for (const [i, tool] of ((tools ?? []) as Json[]).entries()) {
    checkFields(tool, ['type', 'name', 'description', 'parameters', 'strict'], `tools[${i}]`)
    checkFunction(tool, `tools[${i}]`)
  }
  const names = ((tools ?? []) as Json[]).map(({ name }) => name)
  if (isObject(choice) && !names.includes(choice.name))
    throw refuse(`Tool choice '${String(choice.name)}' not found in 'tools' parameter.`, 'tool_choice')
}

function write({ model, max_output_tokens: room }: Json, { thinking, text, calls = [] }: Step, n: number): string {
  // The item after reasoning is known by its number: reasoning is refused without it.
  const made = thinking === undefined ? `${n}` : `r${n}`
  const output: Json[] = []
  if (thinking !== undefined)
    output.push({
      id: `rs_${made}`,
      type: 'reasoning',
      summary: [{ type: 'summary_text', text: thinking }],
      encrypted_content: sign(String(model), `rs_${made}`),
    })
  if (text !== undefined)
    output.push({ id: `msg_${made}`, type: 'message', role: 'assistant', content: [{ type: 'output_text', text }] })
  for (const [i, { id, name, input = {} }] of calls.entries())
    output.push({
      ...{ id: `fc_${made}x${i}`, type: 'function_call', call_id: id, name },
      arguments: JSON.stringify(input),
      status: 'completed',
    })
  const isCut = room === smallestRoom
  const response = {
    id: `resp_${n}`,
    object: 'response',
    model,
    status: isCut ? 'incomplete' : 'completed',
    ...(isCut && { incomplete_details: { reason: 'max_output_tokens' } }),
    output,
    usage: { input_tokens: 7, output_tokens: isCut ? 1 : 3, total_tokens: 10 },
  }
  return sse([
    { type: 'response.created', response: { ...response, status: 'in_progress', output: [] } },
    ...output.flatMap((item, output_index) => [
      { type: 'response.output_item.added', output_index, item: { ...item, ...empty(item) } },
      ...deltas(item, output_index),
      { type: 'response.output_item.done', output_index, item },
    ]),
    { type: isCut ? 'response.incomplete' : 'response.completed', response },
  ])
}

function empty({ type }: Json): object {
  if (type === 'reasoning') return { summary: [] }
  return type === 'message' ? { content: [] } : { arguments: '', status: 'in_progress' }
}

function deltas({ type, id, content, summary, arguments: input }: Json, output_index: number): object[] {
  const about = { item_id: id, output_index }
  if (type === 'function_call') return [{ type: 'response.function_call_arguments.delta', ...about, delta: input }]
  const [{ text }] = (type === 'message' ? content : summary) as [{ text: string }]
  if (type === 'message') return [{ type: 'response.output_text.delta', ...about, content_index: 0, delta: text }]
  return [{ type: 'response.reasoning_summary_text.delta', ...about, summary_index: 0, delta: text }]
}

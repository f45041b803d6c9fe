/** A reply of a model, independent of the wire. */
export interface Spoken {
  readonly thinking?: string
  readonly text?: string
  readonly calls?: readonly { readonly id: string; readonly name: string; readonly input: object }[]
  readonly usage?: Partial<Spent>
}

export interface Spent {
  /** The prompt tokens that were neither read from nor written to a cache. */
  readonly input: number
  readonly output: number
  readonly cacheRead: number
  readonly cacheWrite: number
}

export type WireName = 'anthropic-messages' | 'openai-chat' | 'openai-responses' | 'gemini'

/** A whole answer as the service of a wire would stream it. */
export function speak(wire: WireName, said: Spoken): string {
  const used: Spent = { input: 10, output: 5, cacheRead: 0, cacheWrite: 0, ...said.usage }
  return writers[wire](said, used)
}

type Writer = (said: Spoken, used: Spent) => string

const writers: Record<WireName, Writer> = {
  'anthropic-messages': writeAnthropic,
  'openai-chat': writeChat,
  'openai-responses': writeResponses,
  gemini: writeGemini,
}

/** Words and the spaces after them, so that a stream has several pieces. */
const pieces = (text: string): string[] => text.match(/\S+\s*|\s+/g) ?? []

/** Halves, so that arguments arrive in fragments. */
const halves = (text: string): string[] => [text.slice(0, text.length / 2), text.slice(text.length / 2)]

function writeAnthropic({ thinking, text, calls = [] }: Spoken, used: Spent): string {
  const usage = {
    input_tokens: used.input,
    cache_read_input_tokens: used.cacheRead,
    cache_creation_input_tokens: used.cacheWrite,
    output_tokens: 1,
  }
  const message = { id: 'msg_1', type: 'message', role: 'assistant', model: 'm', content: [], stop_reason: null, usage }
  const events: { type: string }[] = [{ type: 'message_start', ...{ message } }]
  let index = 0
  const block = (content_block: object, deltas: readonly object[]): void => {
    events.push({ type: 'content_block_start', ...{ index, content_block } })
    for (const delta of deltas) events.push({ type: 'content_block_delta', ...{ index, delta } })
    events.push({ type: 'content_block_stop', ...{ index: index++ } })
  }
  if (thinking)
    block({ type: 'thinking', thinking: '', signature: '' }, [
      ...pieces(thinking).map((piece) => ({ type: 'thinking_delta', thinking: piece })),
      { type: 'signature_delta', signature: 'sig-1' },
    ])
  if (text)
    block(
      { type: 'text', text: '' },
      pieces(text).map((piece) => ({ type: 'text_delta', text: piece })),
    )
  for (const { id, name, input } of calls)
    block(
      { type: 'tool_use', id, name, input: {} },
      halves(JSON.stringify(input)).map((partial_json) => ({ type: 'input_json_delta', partial_json })),
    )
  const stop_reason = calls.length > 0 ? 'tool_use' : 'end_turn'
  const delta = { stop_reason, stop_sequence: null }
  events.push({ type: 'message_delta', ...{ delta, usage: { output_tokens: used.output } } }, { type: 'message_stop' })
  return events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('')
}

function writeChat({ thinking, text, calls = [] }: Spoken, used: Spent): string {
  const head = { id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: 'm' }
  const chunk = (delta: object, finish_reason: string | null = null): object => ({
    ...head,
    choices: [{ index: 0, delta, finish_reason }],
  })
  const usage = {
    prompt_tokens: used.input + used.cacheRead + used.cacheWrite,
    completion_tokens: used.output,
    total_tokens: used.input + used.cacheRead + used.cacheWrite + used.output,
    prompt_tokens_details: { cached_tokens: used.cacheRead, cache_write_tokens: used.cacheWrite },
  }
  const chunks = [
    chunk({ role: 'assistant', content: '' }),
    ...pieces(thinking ?? '').map((piece) => chunk({ reasoning_content: piece })),
    ...pieces(text ?? '').map((piece) => chunk({ content: piece })),
    ...calls.flatMap(({ id, name, input }, index) => {
      const [first, second] = halves(JSON.stringify(input))
      return [
        chunk({ tool_calls: [{ index, id, type: 'function', function: { name, arguments: '' } }] }),
        chunk({ tool_calls: [{ index, function: { arguments: first } }] }),
        chunk({ tool_calls: [{ index, function: { arguments: second } }] }),
      ]
    }),
    chunk({}, calls.length > 0 ? 'tool_calls' : 'stop'),
    { ...head, choices: [], usage },
  ]
  return `${chunks.map((one) => `data: ${JSON.stringify(one)}\n\n`).join('')}data: [DONE]\n\n`
}

function writeResponses({ thinking, text, calls = [] }: Spoken, used: Spent): string {
  const output: object[] = []
  const events: { type: string }[] = []
  const tell = (type: string, fields: object): void => void events.push({ type, ...fields })
  const item = (added: object, done: object, between: (at: object) => void): void => {
    const output_index = output.length
    tell('response.output_item.added', { output_index, item: added })
    between({ output_index })
    tell('response.output_item.done', { output_index, item: done })
    output.push(done)
  }
  if (thinking) {
    const reasoning = { type: 'reasoning', id: 'rs_1', encrypted_content: 'sealed-1' }
    const part = { type: 'summary_text', text: thinking }
    item({ ...reasoning, summary: [] }, { ...reasoning, summary: [part] }, (at) => {
      const of = { ...at, item_id: 'rs_1', summary_index: 0 }
      tell('response.reasoning_summary_part.added', { ...of, part: { ...part, text: '' } })
      for (const delta of pieces(thinking)) tell('response.reasoning_summary_text.delta', { ...of, delta })
      tell('response.reasoning_summary_text.done', { ...of, text: thinking })
      tell('response.reasoning_summary_part.done', { ...of, part })
    })
  }
  if (text) {
    const message = { type: 'message', id: 'msg_1', role: 'assistant', status: 'completed' }
    const part = { type: 'output_text', text, annotations: [] }
    item({ ...message, status: 'in_progress', content: [] }, { ...message, content: [part] }, (at) => {
      const of = { ...at, item_id: 'msg_1', content_index: 0 }
      tell('response.content_part.added', { ...of, part: { ...part, text: '' } })
      for (const delta of pieces(text)) tell('response.output_text.delta', { ...of, delta, logprobs: [] })
      tell('response.output_text.done', { ...of, text, logprobs: [] })
      tell('response.content_part.done', { ...of, part })
    })
  }
  for (const [i, { id, name, input }] of calls.entries()) {
    const call = { type: 'function_call', id: `fc_${i}`, call_id: id, name, status: 'completed' }
    const args = JSON.stringify(input)
    item({ ...call, status: 'in_progress', arguments: '' }, { ...call, arguments: args }, (at) => {
      const of = { ...at, item_id: call.id }
      for (const delta of halves(args)) tell('response.function_call_arguments.delta', { ...of, delta })
      tell('response.function_call_arguments.done', { ...of, name, arguments: args })
    })
  }
  const prompt = used.input + used.cacheRead + used.cacheWrite
  const usage = {
    input_tokens: prompt,
    input_tokens_details: { cached_tokens: used.cacheRead, cache_write_tokens: used.cacheWrite },
    output_tokens: used.output,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: prompt + used.output,
  }
  const response = {
    id: 'resp_1',
    object: 'response',
    created_at: 1,
    model: 'm',
    error: null,
    incomplete_details: null,
  }
  const open = { ...response, status: 'in_progress', output: [] }
  const all = [
    { type: 'response.created', response: open },
    { type: 'response.in_progress', response: open },
    ...events,
    { type: 'response.completed', response: { ...response, status: 'completed', output, usage } },
  ]
  return all
    .map((event, sequence_number) => `event: ${event.type}\ndata: ${JSON.stringify({ ...event, sequence_number })}\n\n`)
    .join('')
}

function writeGemini({ thinking, text, calls = [] }: Spoken, used: Spent): string {
  const frame = (parts: readonly object[], finishReason?: string): object => ({
    candidates: [{ content: { role: 'model', parts }, index: 0, ...(finishReason && { finishReason }) }],
    usageMetadata: {
      promptTokenCount: used.input + used.cacheRead,
      ...(used.cacheRead > 0 && { cachedContentTokenCount: used.cacheRead }),
      candidatesTokenCount: used.output,
      totalTokenCount: used.input + used.cacheRead + used.output,
    },
    modelVersion: 'm',
    responseId: 'r1',
  })
  const frames = [
    ...pieces(thinking ?? '').map((piece) => frame([{ text: piece, thought: true }])),
    ...pieces(text ?? '').map((piece) => frame([{ text: piece }])),
    ...calls.map(({ id, name, input }, i) =>
      frame([{ functionCall: { id, name, args: input }, ...(i === 0 && { thoughtSignature: 'c2lnMQ==' }) }]),
    ),
    frame([{ text: '' }], 'STOP'),
  ]
  return frames.map((one) => `data: ${JSON.stringify(one)}\r\n\r\n`).join('')
}

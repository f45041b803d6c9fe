import type { Provider } from '../../src/core/provider.ts'
import type { ServiceOptions } from '../../src/providers/service.ts'
import { anthropic } from '../../src/providers/services/anthropic.ts'
import { google } from '../../src/providers/services/google.ts'
import { openai } from '../../src/providers/services/openai.ts'
import { openrouter } from '../../src/providers/services/openrouter.ts'
import type { Wire } from '../../src/providers/wire.ts'
import { anthropicMessages } from '../../src/providers/wires/anthropic-messages.ts'
import { gemini } from '../../src/providers/wires/gemini.ts'
import { openaiChat } from '../../src/providers/wires/openai-chat.ts'
import { openaiResponses } from '../../src/providers/wires/openai-responses.ts'

/** A reply, before a family puts it into its own words. */
export interface FakeReply {
  /** Each is a delta of its own. */
  readonly text?: readonly string[]
  readonly calls?: readonly FakeCall[]
  /** In the family's own words; left out, what it says when all is well. */
  readonly stop?: string
  /** As the family counts; left out, 10 in and 5 out. */
  readonly usage?: unknown
}

export interface FakeCall {
  readonly id?: string
  readonly name: string
  /** Each is a delta of its own, where the family has such. */
  readonly args?: readonly string[]
}

/** One of the four wires, spoken by a service that is ours. */
export interface Family {
  readonly name: string
  readonly wire: () => Wire
  make(options: ServiceOptions): Provider
  /** The events of a reply, one frame each. */
  frames(reply: FakeReply): string[]
  /** What it calls a reply that was cut by the limit, refused, or ended for an unknown reason. */
  readonly stops: {
    readonly length: string
    readonly refusal: string
    readonly unknown: string
    readonly call: string
    readonly end: string
  }
  /** An error in the middle of a stream that is otherwise well. */
  readonly overload: string
  /** The body of an answer that is none. */
  error(message: string, code?: string): string
  usage(counts: { readonly input: unknown; readonly output: unknown }): unknown
  /** Which frame of how many completes the reply. */
  isComplete(frames: readonly string[], seen: number): boolean
}

const data = (payload: unknown): string => `data: ${JSON.stringify(payload)}\n\n`
const named = (type: string, more: object = {}): string => `event: ${type}\n${data({ type, ...more })}`

const anthropicFamily: Family = {
  name: 'anthropic',
  wire: anthropicMessages,
  make: anthropic,
  frames({ text = [], calls = [], stop, usage }) {
    const counts = (usage ?? { input_tokens: 10, output_tokens: 5 }) as object
    const blocks = [
      ...(text.length > 0
        ? [{ start: { type: 'text', text: '' }, deltas: text.map((t) => ({ type: 'text_delta', text: t })) }]
        : []),
      ...calls.map(({ id = '', name, args = [] }) => ({
        start: { type: 'tool_use', id, name, input: {} },
        deltas: args.map((partial_json) => ({ type: 'input_json_delta', partial_json })),
      })),
    ]
    return [
      named('message_start', { message: { id: 'msg_1', role: 'assistant', content: [], usage: counts } }),
      ...blocks.flatMap(({ start, deltas }, index) => [
        named('content_block_start', { index, content_block: start }),
        ...deltas.map((delta) => named('content_block_delta', { index, delta })),
        named('content_block_stop', { index }),
      ]),
      named('message_delta', {
        delta: { stop_reason: stop ?? (calls.length > 0 ? 'tool_use' : 'end_turn') },
        usage: counts,
      }),
      named('message_stop'),
    ]
  },
  stops: { length: 'max_tokens', refusal: 'refusal', unknown: 'quantum', call: 'tool_use', end: 'end_turn' },
  overload: named('error', { error: { type: 'overloaded_error', message: 'Overloaded' } }),
  error: (message, code = 'invalid_request_error') => JSON.stringify({ type: 'error', error: { type: code, message } }),
  usage: ({ input, output }) => ({ input_tokens: input, output_tokens: output }),
  isComplete: (frames, seen) => seen >= frames.length,
}

const chatChunk = (choice: object | undefined, more: object = {}): string =>
  data({ id: 'gen-1', object: 'chat.completion.chunk', choices: choice ? [{ index: 0, ...choice }] : [], ...more })

const chatFamily: Family = {
  name: 'openrouter',
  wire: () => openaiChat(),
  make: openrouter,
  frames({ text = [], calls = [], stop, usage = { prompt_tokens: 10, completion_tokens: 5 } }) {
    return [
      chatChunk({ delta: { role: 'assistant', content: '' } }),
      ...text.map((content) => chatChunk({ delta: { content } })),
      ...calls.flatMap(({ id, name, args = [] }, index) => [
        chatChunk({
          delta: {
            tool_calls: [
              { index, ...(id !== undefined && { id }), type: 'function', function: { name, arguments: '' } },
            ],
          },
        }),
        ...args.map((piece) => chatChunk({ delta: { tool_calls: [{ index, function: { arguments: piece } }] } })),
      ]),
      chatChunk({ delta: {}, finish_reason: stop ?? (calls.length > 0 ? 'tool_calls' : 'stop') }),
      chatChunk(undefined, { usage }),
      'data: [DONE]\n\n',
    ]
  },
  stops: { length: 'length', refusal: 'content_filter', unknown: 'quantum', call: 'tool_calls', end: 'stop' },
  overload: data({
    error: { code: 503, message: 'The upstream is overloaded', metadata: { error_type: 'overloaded_error' } },
  }),
  error: (message, code = 'invalid_request_error') =>
    JSON.stringify({ error: { message, type: code, param: null, code } }),
  usage: ({ input, output }) => ({ prompt_tokens: input, completion_tokens: output }),
  isComplete: (frames, seen) => seen >= frames.length - 2,
}

const responsesFamily: Family = {
  name: 'openai',
  wire: () => openaiResponses(),
  make: openai,
  frames({ text = [], calls = [], stop, usage = { input_tokens: 10, output_tokens: 5 } }) {
    const message = { id: 'msg_1', type: 'message', role: 'assistant' }
    const whole = {
      ...message,
      status: 'completed',
      content: [{ type: 'output_text', text: text.join(''), annotations: [] }],
    }
    const called = calls.map(({ id = '', name, args = [] }, i) => ({
      id: `fc_${i}`,
      type: 'function_call',
      call_id: id,
      name,
      arguments: args.join(''),
      status: 'completed',
    }))
    const first = text.length > 0 ? 1 : 0
    const isIncomplete = stop !== undefined && stop !== 'completed'
    const response = {
      id: 'resp_1',
      status: isIncomplete ? 'incomplete' : 'completed',
      ...(isIncomplete && { incomplete_details: { reason: stop } }),
      output: [...(first === 1 ? [whole] : []), ...called],
      usage,
    }
    return [
      named('response.created', { response: { id: 'resp_1', status: 'in_progress', output: [] } }),
      ...(first === 1
        ? [
            named('response.output_item.added', { output_index: 0, item: { ...message, content: [] } }),
            ...text.map((delta) => named('response.output_text.delta', { output_index: 0, content_index: 0, delta })),
            named('response.output_item.done', { output_index: 0, item: whole }),
          ]
        : []),
      ...called.flatMap((item, i) => [
        named('response.output_item.added', {
          output_index: first + i,
          item: { ...item, arguments: '', status: 'in_progress' },
        }),
        ...(calls[i]?.args ?? []).map((delta) =>
          named('response.function_call_arguments.delta', { output_index: first + i, delta }),
        ),
        ...(isIncomplete ? [] : [named('response.output_item.done', { output_index: first + i, item })]),
      ]),
      named(isIncomplete ? 'response.incomplete' : 'response.completed', { response }),
    ]
  },
  stops: {
    length: 'max_output_tokens',
    refusal: 'content_filter',
    unknown: 'quantum',
    call: 'completed',
    end: 'completed',
  },
  overload: named('error', { code: 'server_is_overloaded', message: 'Our servers are overloaded' }),
  error: (message, code = 'invalid_request_error') =>
    JSON.stringify({ error: { message, type: code, param: null, code: null } }),
  usage: ({ input, output }) => ({ input_tokens: input, output_tokens: output }),
  isComplete: (frames, seen) => seen >= frames.length,
}

const geminiFamily: Family = {
  name: 'google',
  wire: gemini,
  make: google,
  frames({ text = [], calls = [], stop, usage = { promptTokenCount: 10, candidatesTokenCount: 5 } }) {
    const parts = [
      ...text.map((t) => ({ text: t })),
      ...calls.map(({ id, name, args = [] }) => ({
        functionCall: { ...(id !== undefined && { id }), name, args: argsOf(args.join('')) },
      })),
    ]
    const frame = (content: object | undefined, more: object): string =>
      data({ candidates: [{ ...(content && { content }), index: 0, ...more }], usageMetadata: usage, responseId: 'r1' })
    return [
      ...parts.map((part) => frame({ role: 'model', parts: [part] }, {})),
      frame(undefined, { finishReason: stop ?? 'STOP' }),
    ]
  },
  stops: { length: 'MAX_TOKENS', refusal: 'SAFETY', unknown: 'QUANTUM', call: 'STOP', end: 'STOP' },
  overload: data({ error: { code: 503, message: 'The model is overloaded', status: 'UNAVAILABLE' } }),
  error: (message, code = 'INVALID_ARGUMENT') => JSON.stringify({ error: { code: 400, message, status: code } }),
  usage: ({ input, output }) => ({ promptTokenCount: input, candidatesTokenCount: output }),
  isComplete: (frames, seen) => seen >= frames.length,
}

/** This family hands arguments over as an object; what is none it hands over as it is. */
function argsOf(text: string): unknown {
  try {
    return text === '' ? {} : JSON.parse(text)
  } catch {
    return text
  }
}

export const families: readonly Family[] = [anthropicFamily, chatFamily, responsesFamily, geminiFamily]

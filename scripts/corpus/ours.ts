import type { ModelEvent, ModelRequest } from '../../src/core/provider.ts'
import type { ToolSpec } from '../../src/core/tool.ts'
import { ReplyReader } from '../../src/providers/sse.ts'
import type { Wire, WireReply } from '../../src/providers/wire.ts'
import { anthropicMessages } from '../../src/providers/wires/anthropic-messages.ts'
import { gemini } from '../../src/providers/wires/gemini.ts'
import { openaiChat } from '../../src/providers/wires/openai-chat.ts'
import { openaiResponses } from '../../src/providers/wires/openai-responses.ts'
import type { WireName } from './names.ts'
import { type Outcome, readInput } from './outcome.ts'
import type { Answer, Readable } from './recordings.ts'

const wires: Readonly<Record<WireName, Wire>> = {
  'anthropic-messages': anthropicMessages(),
  'openai-chat': openaiChat(),
  'openai-responses': openaiResponses(),
  gemini: gemini(),
}

/** Reads an answer as `model-stream.ts` does, from bytes to the reply. */
export function decodeWithOurs({ wire: name }: Readable, answer: Answer): Outcome {
  const wire = wires[name]
  if (answer.status >= 400) return refused(wire, answer)
  const reader = new ReplyReader(wire.decoder(requestWith(answer.tools)))
  // In pieces, as a network would.
  const { bytes } = answer
  for (let at = 0; at < bytes.length; at += pieceLength) reader.read(bytes.subarray(at, at + pieceLength))
  reader.end()
  const events = reader.takeEvents()
  const reply = events.find((event): event is WireReply => event.type === 'reply')
  if (reply) return outcomeOf(reply)
  const { code, message = 'no reply' } = reader.failure ?? {}
  if (code === 'stream_cut') return { ...streamed(events), stop: 'cut' }
  const isOurs = code === 'bad_json' || code === 'bad_stream'
  return { ...streamed(events), stop: 'other', failure: message, ...(isOurs && { isUnread: true }) }
}

const pieceLength = 997

function refused(wire: Wire, { bytes, status }: Answer): Outcome {
  const { message } = wire.readError(readInput(new TextDecoder().decode(bytes)))
  return { text: '', thinking: '', calls: [], stop: 'other', failure: message ?? `HTTP ${status}`, isRefused: true }
}

const requestWith = (tools: readonly string[]): ModelRequest => ({
  model: 'recorded',
  system: '',
  messages: [],
  tools: tools.map((name): ToolSpec => ({ name, description: '', inputSchema: { type: 'object' } })),
  maxTokens: 1000,
  thinking: 'off',
  cache: false,
})

function outcomeOf({ content, usage, stop, isPaused }: WireReply): Outcome {
  let text = ''
  let thinking = ''
  for (const block of content) {
    if (block.type === 'thinking') thinking += block.text
    if (block.type === 'text') text += block.text + compacted(block.providerData)
  }
  const { input, output, cacheRead = 0, cacheCreation = 0 } = usage
  return {
    text,
    thinking,
    calls: content.flatMap((block) =>
      block.type === 'tool_call' ? [{ name: block.name, input: readInput(block.input) }] : [],
    ),
    // A paused reply has ended; the service wants another request to continue.
    stop: isPaused ? 'end' : stop,
    usage: { input, output, cacheRead, cacheCreation },
  }
}

/** Anthropic's compaction summary: we keep it as a block of the service's own kind, the AI SDK as text. */
function compacted(data: Readonly<Record<string, unknown>> | undefined): string {
  const own = data?.['anthropic-messages'] as { block?: { type?: unknown; content?: unknown } } | undefined
  return own?.block?.type === 'compaction' && typeof own.block.content === 'string' ? own.block.content : ''
}

/** What was received before an answer broke off. */
function streamed(events: readonly ModelEvent[]): Omit<Outcome, 'stop'> {
  const said = (type: 'text' | 'thinking'): string =>
    events.map((event) => (event.type === type ? event.delta : '')).join('')
  return { text: said('text'), thinking: said('thinking'), calls: [] }
}

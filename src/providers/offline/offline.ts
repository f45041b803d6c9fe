import type { ModelEvent, ModelReply, ModelRequest, Provider } from '../../core/provider.ts'
import { type Message, textOf } from '../../core/turn.ts'
import { nextStep, type Step } from './act.ts'
import { condense, isSummaryRequest } from './condense.ts'
import { conversationOf } from './conversation.ts'
import { inShape } from './in-shape.ts'

export interface OfflineOptions {
  /** Characters in a piece of streamed text. Default 12. */
  readonly chunk?: number
  /** Milliseconds between two pieces, for people who watch. Default 0. */
  readonly delayMs?: number
}

/**
 * A model that needs no key and no network: rules that turn plain English requests into real tool calls. It says itself
 * that it is no language model. All it knows is in the messages of a request.
 */
export function offline(options: OfflineOptions = {}): Provider {
  const { chunk = 12, delayMs = 0 } = options
  for (const [name, value, least] of [
    ['chunk', chunk, 1],
    ['delayMs', delayMs, 0],
  ] as const)
    if (!Number.isSafeInteger(value) || value < least)
      throw new TypeError(`offline: ${name} must be a whole number of at least ${least}, got ${String(value)}`)
  return {
    meta: { name: 'offline', defaultModel: 'offline', capabilities: { vision: false } },
    costOf: () => 0,
    async *stream(request, signal) {
      signal.throwIfAborted()
      const reply = replyTo(request)
      for (const event of eventsOf(reply, chunk)) {
        signal.throwIfAborted()
        if (delayMs > 0 && event.type !== 'reply') await pause(delayMs, signal)
        yield event
      }
    },
  }
}

function replyTo(request: ModelRequest): ModelReply {
  const { text, call } = answerTo(request)
  const input = call && JSON.stringify(call.input)
  const content: ModelReply['content'] = [
    ...(text === '' ? [] : [{ type: 'text' as const, text }]),
    ...(call && input !== undefined
      ? [{ type: 'tool_call' as const, id: callId(request.messages), name: call.name, input }]
      : []),
  ]
  const usage = { input: tokens(sizeOf(request)), output: tokens(text.length + (input?.length ?? 0)), cost: 0 }
  return { type: 'reply', content, usage, stop: call ? 'tool_use' : 'end' }
}

function answerTo({ system, messages, tools, toolChoice }: ModelRequest): Step {
  if (typeof toolChoice === 'object') return forced(toolChoice.name, messages, tools)
  if (isSummaryRequest(system, messages)) return { text: condense(system, messages) }
  return nextStep(conversationOf(messages), toolChoice === 'none' ? [] : tools, system)
}

/** A tool that must be called: its input is what was said last, where its shape takes a text. */
function forced(name: string, messages: ModelRequest['messages'], tools: ModelRequest['tools']): Step {
  const last = messages.findLast(({ role, content }) => role === 'assistant' && textOf({ role, content }) !== '')
  const schema = tools.find((tool) => tool.name === name)?.inputSchema
  const input = schema && inShape(schema, last ? textOf(last) : '')
  if (input) return { text: '', call: { name, input } }
  return {
    text: `I cannot answer in the shape that ${name} wants: I am the offline model, a set of rules, and can only fill in fixed values and plain texts.`,
  }
}

/** The same for the same conversation, and new with every turn. */
const callId = (messages: readonly Message[]): string =>
  `offline_${messages.length}_${messages.reduce((sum, { content }) => sum + content.length, 0)}`

/** As services count, roughly. */
const tokens = (characters: number): number => Math.max(1, Math.ceil(characters / 4))

function sizeOf({ system, messages, tools }: ModelRequest): number {
  let size = system.length
  for (const { name, description } of tools) size += name.length + description.length
  for (const { content } of messages)
    for (const block of content) {
      if (block.type === 'text' || block.type === 'thinking') size += block.text.length
      else if (block.type === 'tool_call') size += JSON.stringify(block.input).length
      else if (block.type === 'tool_result')
        size +=
          typeof block.output === 'string'
            ? block.output.length
            : textOf({ role: 'user', content: block.output }).length
    }
  return size
}

function* eventsOf(reply: ModelReply, chunk: number): Generator<ModelEvent> {
  yield { type: 'start' }
  for (const block of reply.content) {
    if (block.type === 'text') for (const delta of inPieces(block.text, chunk)) yield { type: 'text', delta }
    if (block.type !== 'tool_call') continue
    const { id, name, input } = block
    yield { type: 'tool_start', id, name }
    for (const delta of inPieces(String(input), chunk * 4)) yield { type: 'tool_args', id, delta }
    yield { type: 'tool_end', id }
  }
  yield reply
}

/** No piece ends in the middle of a character. */
function* inPieces(text: string, size: number): Generator<string> {
  let start = 0
  while (start < text.length) {
    let end = Math.min(start + size, text.length)
    const isHalf = end < text.length && /[\ud800-\udbff]/.test(text[end - 1]!)
    if (isHalf) end++
    yield text.slice(start, end)
    start = end
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      clearTimeout(timer)
      reject(signal.reason)
    }
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', stop)
      resolve()
    }, ms)
    signal.addEventListener('abort', stop, { once: true })
  })
}

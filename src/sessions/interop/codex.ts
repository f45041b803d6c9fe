import { isRecord } from '../../core/is-record.ts'
import { flawOf } from '../../core/plain-json.ts'
import type { SessionContentBlock, ToolCallBlock, ToolOutput, ToolResultContent } from '../../core/turn.ts'
import {
  type Fields,
  type ForeignTranscript,
  Messages,
  metaOf,
  readLines,
  Skipped,
  textIn,
  timeIn,
} from './transcript.ts'

/**
 * Reads a rollout of Codex (`~/.codex/sessions/<date>/rollout-<time>-<id>.jsonl`): lines of `{ timestamp, type, payload }`
 * as its Rust version writes them since the autumn of 2025, and the bare items of the months before. The
 * conversation is in the `response_item`s, much like those of the Responses API; `event_msg`s repeat it for a screen and are
 * ignored, except rollbacks and names of threads. After a `compacted` line only its history counts. Left out: developer
 * messages, the context that Codex adds as user messages, encrypted thinking.
 */
export function fromCodex(jsonl: string): ForeignTranscript {
  const skipped = new Skipped()
  const reader = new Reader(skipped)
  const lines = readLines(jsonl, 'fromCodex', skipped)
  for (const { fields, number } of lines) {
    if (isRecord(fields.payload)) reader.add(String(fields.type), fields.payload, number)
    else if (typeof fields.type === 'string') reader.item(fields, number)
    else if (textIn(fields, 'id') && number === 1) reader.add('session_meta', fields, number)
    else skipped.add(textIn(fields, 'record_type') ?? 'a line without a type', number)
  }
  const { first, model, cwd, title } = reader
  const meta = {
    id: textIn(first, 'id'),
    cwd: textIn(first, 'cwd') ?? cwd,
    model,
    createdAt: timeIn(first, 'timestamp') ?? timeIn(lines[0]?.fields, 'timestamp'),
    title,
  }
  return { messages: reader.messages.list, meta: metaOf(meta), skipped: skipped.list }
}

class Reader {
  readonly messages = new Messages()
  first: Fields | undefined
  model: string | undefined
  cwd: string | undefined
  title: string | undefined
  readonly #skipped: Skipped

  constructor(skipped: Skipped) {
    this.#skipped = skipped
  }

  add(type: string, payload: Fields, number: number): void {
    switch (type) {
      case 'session_meta':
        this.first ??= payload // a fork also has the one of its origin, after its own
        return
      case 'turn_context':
        this.model = textIn(payload, 'model') ?? this.model
        this.cwd = textIn(payload, 'cwd') ?? this.cwd
        return
      case 'response_item':
        this.item(payload, number)
        break
      case 'compacted':
        this.#compact(payload, number)
        break
      case 'event_msg':
        if (payload.type === 'thread_rolled_back') this.#rollBack(Number(payload.num_turns), number)
        if (payload.type === 'thread_name_updated') this.title = textIn(payload, 'thread_name') ?? this.title
        return
      default:
        this.#skipped.add(type, number)
    }
  }

  item(item: Fields, number: number): void {
    const id = textIn(item, 'call_id') ?? textIn(item, 'id') ?? `line ${number}`
    switch (item.type) {
      case 'message':
        this.#message(item, number)
        break
      case 'reasoning':
        this.messages.continueAssistant(thoughtOf(item))
        break
      case 'function_call':
        this.#call({ id, ...nameOf(item), ...argumentsOf(item.arguments) })
        break
      case 'custom_tool_call':
        this.#call({ id, ...nameOf(item), input: { input: textIn(item, 'input') ?? '' } })
        break
      case 'local_shell_call':
        this.#call({ id, name: 'local_shell', input: isRecord(item.action) ? { ...item.action } : {} })
        break
      case 'function_call_output':
      case 'custom_tool_call_output':
      case 'local_shell_call_output':
        this.#result(id, item.output, number)
        break
      default:
        this.#skipped.add(`an item of type ${String(item.type)}`, number)
    }
  }

  #message(item: Fields, number: number): void {
    const content = partsOf(item.content, number, this.#skipped)
    if (item.role === 'assistant') this.messages.continueAssistant(content)
    else if (item.role !== 'user') this.#skipped.add(`a message of ${String(item.role)}`, number)
    else if (content.every(isContext)) this.#skipped.add('context that Codex added', number)
    else this.messages.user(content)
  }

  #call(call: Omit<ToolCallBlock, 'type'>): void {
    this.messages.continueAssistant([{ type: 'tool_call', ...call }])
  }

  #result(callId: string, output: unknown, number: number): void {
    const isWrapped = isRecord(output) // as written before November 2025
    const content = isWrapped ? output.content : output
    const failed = isWrapped && output.success === false
    const shown: ToolOutput = typeof content === 'string' ? content : partsOf(content, number, this.#skipped)
    this.messages.result({ type: 'tool_result', callId, output: shown, ...(failed && { isError: true }) })
  }

  /** The compacted history replaces the messages before; without one, the user's messages and the summary remain. */
  #compact({ message, replacement_history: history }: Fields, number: number): void {
    const before = this.messages.list
    this.messages.list = []
    this.#skipped.add('what was before a compaction', number)
    if (Array.isArray(history)) {
      for (const item of history.filter(isRecord)) this.item(item, number)
      return
    }
    for (const { role, content } of before)
      if (role === 'user') this.messages.user(content.filter(({ type }) => type !== 'tool_result'))
    if (typeof message === 'string' && message !== '')
      this.messages.user([{ type: 'text', text: `What was said before was summed up as follows:\n\n${message}` }])
  }

  /** Removes the last turns of the user with all that followed them. */
  #rollBack(turns: number, number: number): void {
    if (!(turns > 0)) return
    const { list } = this.messages
    const begun = [...list.keys()].filter((i) => {
      const message = list[i]
      return message?.role === 'user' && message.content.some(({ type }) => type !== 'tool_result')
    })
    this.messages.list = list.slice(0, begun.at(-turns) ?? 0)
    this.#skipped.add('turns that were rolled back', number)
  }
}

/** The beginnings of context that Codex adds as user messages. */
const contexts = ['<environment_context>', '<user_instructions>', '<INSTRUCTIONS>', '# AGENTS.md instructions']

const isContext = (part: SessionContentBlock): boolean =>
  part.type === 'text' && contexts.some((beginning) => part.text.trimStart().startsWith(beginning))

const nameOf = (item: Fields): { name: string } => ({ name: textIn(item, 'name') ?? 'unknown' })

function argumentsOf(text: unknown): Pick<ToolCallBlock, 'input' | 'raw' | 'unreadable'> {
  const raw = typeof text === 'string' ? text : JSON.stringify(text ?? {})
  if (raw.trim() === '') return { input: {} }
  try {
    const input: unknown = JSON.parse(raw)
    if (isRecord(input) && flawOf(input) !== 'too deep') return { input: { ...input } }
    return { input: {}, raw, unreadable: 'the arguments are no JSON object that can be used' }
  } catch {
    return { input: {}, raw, unreadable: 'the arguments are no JSON' }
  }
}

function thoughtOf({ summary, content }: Fields): SessionContentBlock[] {
  const parts = [summary, content].flatMap((list) => (Array.isArray(list) ? list.filter(isRecord) : []))
  const text = parts.flatMap((part) => textIn(part, 'text') ?? []).join('\n\n')
  return text === '' ? [] : [{ type: 'thinking', text }]
}

function partsOf(content: unknown, number: number, skipped: Skipped): ToolResultContent[] {
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', text: content }]
  if (!Array.isArray(content)) return []
  return content.filter(isRecord).flatMap((part): ToolResultContent[] => {
    const { type, text, image_url: url } = part
    if ((type === 'input_text' || type === 'output_text' || type === 'text') && typeof text === 'string')
      return text === '' ? [] : [{ type: 'text', text }]
    if (type === 'input_image' && typeof url === 'string') return [imageOf(url)]
    skipped.add(`a block of type ${String(type)}`, number)
    return []
  })
}

/** A remote image becomes a text that names it. */
function imageOf(url: string): ToolResultContent {
  const [, mediaType, data] = /^data:([^;,]+);base64,(.*)$/s.exec(url) ?? []
  if (mediaType === undefined || data === undefined) return { type: 'text', text: `[image: ${url.slice(0, 500)}]` }
  return { type: 'image', mediaType, data }
}

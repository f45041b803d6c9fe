import type { LogEntry, SessionContentBlock, SessionTurn, TurnUsage } from '../events/events.ts'
import type { ZotEvent, ZotStop, ZotUsage } from './frames.ts'
import { contentOf, type ToolName, timeOf, toolCallOf } from './zot-content.ts'
import { nothing, plus } from './zot-usage.ts'

type ToolCallBlock = Extract<SessionContentBlock, { type: 'tool_call' }>
type Stop = Extract<LogEntry, { type: 'turn' }>['stop']

/** How a model call ended without a turn. */
export interface Failure {
  readonly stop: 'error' | 'aborted'
  readonly error: string
  readonly partial: string
  readonly at: number
}

/**
 * One step on the wire, from `turn_start` to `turn_end`. What was sent cannot be taken back: when a stream is void and
 * begins anew, the same step goes on, and `assistant_message` says what counts.
 */
export class ZotTurn {
  readonly id: string
  readonly #nameOf: ToolName
  #isOpen = false
  #spent = nothing
  #hasText = false
  #text = ''
  /** The calls that the present attempt has written, or is writing. */
  readonly #written = new Set<string>()
  readonly #writing = new Map<string, string>()

  constructor(id: string, nameOf: ToolName) {
    this.id = id
    this.#nameOf = nameOf
  }

  /** The first sign of an answer, and only that one. */
  open(): ZotEvent[] {
    if (this.#isOpen) return []
    this.#isOpen = true
    return [{ type: 'assistant_start' }]
  }

  text(delta: string): ZotEvent[] {
    const [whole, rest] = wholeCharacters(this.#text + delta)
    this.#text = rest
    if (whole === '') return this.open()
    this.#hasText = true
    return [...this.open(), { type: 'text_delta', delta: whole }]
  }

  callStarts(id: string, name: string): ZotEvent[] {
    const ended = this.callEnds(id) // in case a service begins the same call twice
    this.#writing.set(id, '')
    this.#written.add(id)
    return [...this.open(), ...ended, { type: 'tool_use_start', id, name }]
  }

  callGoesOn(id: string, delta: string): ZotEvent[] {
    const before = this.#writing.get(id)
    if (before === undefined) return []
    const [whole, rest] = wholeCharacters(before + delta)
    this.#writing.set(id, rest)
    return whole === '' ? [] : [{ type: 'tool_use_args', id, delta: whole }]
  }

  callEnds(id: string): ZotEvent[] {
    return this.#writing.delete(id) ? [{ type: 'tool_use_end', id }] : []
  }

  spends(usage: TurnUsage): void {
    this.#spent = plus(this.#spent, usage)
  }

  /** What was streamed is void; calls that were begun are closed, and may begin again under the same id. */
  startOver(): ZotEvent[] {
    const frames = this.#endCalls()
    this.#written.clear()
    this.#hasText = false
    this.#text = ''
    return frames
  }

  /** The reply is a fact. What was not streamed, because the service does not, is caught up with before. */
  complete({ content, createdAt }: SessionTurn, stop: Stop, total: ZotUsage): ZotEvent[] {
    const calls = content.filter((block) => block.type === 'tool_call')
    return [
      ...this.open(),
      ...this.#missing(content),
      ...this.#endCalls(),
      this.#usage(total),
      { type: 'assistant_message', content: contentOf(content, this.#nameOf), time: timeOf(createdAt) },
      ...calls.map((call) => toolCallOf(call, this.#nameOf)),
      { type: 'turn_end', stop: stopOf(stop, calls) },
    ]
  }

  /** There is no reply. Calls that were begun are dropped: they never run, so nothing will answer them. */
  fail({ stop, error, partial, at }: Failure, total: ZotUsage): ZotEvent[] {
    const end: ZotEvent = { type: 'turn_end', stop, error }
    if (!this.#isOpen) return [end]
    const isShown = partial !== '' && (stop === 'error' || this.#written.size === 0)
    const content = [{ type: 'text' as const, text: partial }]
    const frames = [...this.#endCalls(), this.#usage(total)]
    if (isShown) frames.push({ type: 'assistant_message', content, time: timeOf(at) })
    return [...frames, end]
  }

  #missing(content: SessionTurn['content']): ZotEvent[] {
    return content.flatMap((block): ZotEvent[] => {
      if (block.type === 'text' && !this.#hasText) return [{ type: 'text_delta', delta: block.text }]
      if (block.type !== 'tool_call' || this.#written.has(block.id)) return []
      const { id, name, input, raw, unreadable } = block
      return [
        { type: 'tool_use_start', id, name: this.#nameOf(name) },
        { type: 'tool_use_args', id, delta: (unreadable !== undefined && raw) || JSON.stringify(input) },
        { type: 'tool_use_end', id },
      ]
    })
  }

  #endCalls(): ZotEvent[] {
    return [...this.#writing.keys()].flatMap((id) => this.callEnds(id))
  }

  #usage(cumulative: ZotUsage): ZotEvent {
    return { type: 'usage', ...this.#spent, cumulative }
  }
}

/** A text without the first half of a character at its end, and that half. */
function wholeCharacters(text: string): [whole: string, rest: string] {
  const last = text.charCodeAt(text.length - 1)
  return last >= 0xd800 && last <= 0xdbff ? [text.slice(0, -1), text.slice(-1)] : [text, '']
}

/** Results follow wherever there are calls, whatever the service says. */
function stopOf(stop: Stop, calls: readonly ToolCallBlock[]): ZotStop {
  if (calls.length > 0) return 'tool_use'
  return stop === 'length' ? 'length' : 'end'
}

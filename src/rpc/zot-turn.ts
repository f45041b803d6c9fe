import type { LogEntry, SessionContentBlock, SessionTurn, TurnUsage } from '../events/events.ts'
import type { ZotEvent, ZotStop, ZotUsage } from './frames.ts'
import { addUsage, contentOf, noUsage, outputOf, type ToolName, timeOf, toolCallOf } from './zot-content.ts'

type ToolCallBlock = Extract<SessionContentBlock, { type: 'tool_call' }>
type StopReason = Extract<LogEntry, { type: 'turn' }>['stop']

/** A model call that ended without a turn. */
export interface TurnFailure {
  readonly stop: 'error' | 'aborted'
  readonly error: string
  readonly partial: string
  readonly at: number
}

/**
 * One step of the protocol, from `turn_start` to `turn_end`. Frames cannot be undone: when a stream is void and restarts,
 * the same step continues, and `assistant_message` has the final content.
 */
export class ZotTurn {
  readonly id: string
  readonly #nameOf: ToolName
  #isOpen = false
  #spent = noUsage
  #hasText = false
  #text = ''
  /** The calls that the current attempt has streamed, and those it is streaming. */
  readonly #written = new Set<string>()
  readonly #writing = new Map<string, string>()

  constructor(id: string, nameOf: ToolName) {
    this.id = id
    this.#nameOf = nameOf
  }

  /** `assistant_start`, once. */
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
    const ended = this.callEnds(id) // a service may begin the same call twice
    this.#writing.set(id, '')
    this.#written.add(id)
    return [...this.open(), ...ended, { type: 'tool_use_start', id, name }]
  }

  callContinues(id: string, delta: string): ZotEvent[] {
    const before = this.#writing.get(id)
    if (before === undefined) return []
    const [whole, rest] = wholeCharacters(before + delta)
    this.#writing.set(id, rest)
    return whole === '' ? [] : [{ type: 'tool_use_args', id, delta: whole }]
  }

  callEnds(id: string): ZotEvent[] {
    return this.#writing.delete(id) ? [{ type: 'tool_use_end', id }] : []
  }

  addUsage(usage: TurnUsage): void {
    this.#spent = addUsage(this.#spent, usage)
  }

  /** The streamed text is void. Open calls are closed, and may begin again with the same id. */
  restart(): ZotEvent[] {
    const frames = this.#endCalls()
    this.#written.clear()
    this.#hasText = false
    this.#text = ''
    return frames
  }

  /** The reply is complete. Content that the service did not stream is sent first. */
  complete({ content, createdAt }: SessionTurn, stop: StopReason, total: ZotUsage): ZotEvent[] {
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

  /** There is no reply. Streamed calls are dropped, because they never run. */
  fail({ stop, error, partial, at }: TurnFailure, total: ZotUsage): ZotEvent[] {
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

/** Splits off half a surrogate pair at the end of a text. */
function wholeCharacters(text: string): [whole: string, rest: string] {
  const last = text.charCodeAt(text.length - 1)
  return last >= 0xd800 && last <= 0xdbff ? [text.slice(0, -1), text.slice(-1)] : [text, '']
}

/** With calls always `tool_use`, whatever the service reports, because results follow. */
function stopOf(stop: StopReason, calls: readonly ToolCallBlock[]): ZotStop {
  if (calls.length > 0) return 'tool_use'
  return stop === 'length' ? 'length' : 'end'
}

interface OpenCall {
  readonly id: string
  result?: ZotEvent
}

/** The open calls of a turn. Each gets one result frame, in the order of the calls. */
export class OpenCalls {
  #calls: OpenCall[] = []
  /** The calls that wait for an approval, with the reason. A call made by a tool counts as the tool's own call. */
  readonly #waiting = new Map<string, string | undefined>()

  open(content: SessionTurn['content']): void {
    this.#calls = content.flatMap((block) => (block.type === 'tool_call' ? [{ id: block.id }] : []))
  }

  clear(): void {
    this.#calls = []
    this.#waiting.clear()
  }

  progress(id: string, text: string): readonly ZotEvent[] {
    const call = this.#find(id)
    return call && !call.result ? [{ type: 'tool_progress', id, text }] : []
  }

  /** The result frames that are next in order. Results of calls that were not shown are left out. */
  answer({ callId, output, isError }: Extract<LogEntry, { type: 'call_result' }>): readonly ZotEvent[] {
    const call = this.#find(callId)
    if (!call || call.result) return []
    call.result = { type: 'tool_result', id: callId, is_error: isError === true, content: outputOf(output) }
    const frames: ZotEvent[] = []
    while (this.#calls[0]?.result) frames.push(this.#calls.shift()!.result!)
    return frames
  }

  addWaiting({ callId, reason }: Extract<LogEntry, { type: 'approval_requested' }>): void {
    this.#waiting.set(this.#find(callId) ? callId : callId.replace(/\.\d+(\.\d+)*$/, ''), reason)
  }

  /** Result frames for all open calls; `suspended` is the reason why the run waits. */
  closeAll(suspended?: string): readonly ZotEvent[] {
    const frames = this.#calls.map(({ id, result }): ZotEvent => {
      if (result) return result
      const text = suspended === undefined ? 'Aborted: the run is over' : this.#halted(id, suspended)
      return { type: 'tool_result', id, is_error: true, content: [{ type: 'text', text }] }
    })
    this.clear()
    return frames
  }

  #halted(id: string, suspended: string): string {
    if (this.#waiting.size > 0 && !this.#waiting.has(id)) return 'Not run: another call of this turn had to wait'
    const reason = this.#waiting.get(id) ?? suspended
    return reason === 'permission-required'
      ? 'Not run: permission required, and no person can be asked here'
      : `Not run: ${reason}`
  }

  #find(id: string): OpenCall | undefined {
    return this.#calls.find((call) => call.id === id)
  }
}

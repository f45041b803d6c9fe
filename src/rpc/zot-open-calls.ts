import type { LogEntry, SessionTurn } from '../events/events.ts'
import type { ZotEvent } from './frames.ts'
import { outputOf } from './zot-content.ts'

interface OpenCall {
  readonly id: string
  result?: ZotEvent
}

/** The calls of a turn that the wire has shown: each gets one result, in their order, whichever is ready first. */
export class OpenCalls {
  #calls: OpenCall[] = []
  /** Which calls wait for somebody, and why; a call that a tool made counts for the tool's own. */
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

  /** The results that it is now the turn of. A result of a call that is not shown is not shown either. */
  answer({ callId, output, isError }: Extract<LogEntry, { type: 'call_result' }>): readonly ZotEvent[] {
    const call = this.#find(callId)
    if (!call || call.result) return []
    call.result = { type: 'tool_result', id: callId, is_error: isError === true, content: outputOf(output) }
    const frames: ZotEvent[] = []
    while (this.#calls[0]?.result) frames.push(this.#calls.shift()!.result!)
    return frames
  }

  wait({ callId, reason }: Extract<LogEntry, { type: 'approval_requested' }>): void {
    this.#waiting.set(this.#find(callId) ? callId : callId.replace(/\.\d+(\.\d+)*$/, ''), reason)
  }

  /** Results for all that got none; `suspended` is why the run has to wait, and nobody can answer on this wire. */
  giveUp(suspended?: string): readonly ZotEvent[] {
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
      ? 'Not run: permission required, and nobody can be asked here'
      : `Not run: ${reason}`
  }

  #find(id: string): OpenCall | undefined {
    return this.#calls.find((call) => call.id === id)
  }
}

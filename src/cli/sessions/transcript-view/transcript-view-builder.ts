import type { EntryOf, LogEntry } from '../../../core/log.ts'
import { type SessionContentBlock, type ToolCallBlock, textOf } from '../../../core/turn.ts'
import type { CallPart, TranscriptPart } from './transcript-view.ts'

/** Builds the parts of a transcript from the entries of a log. */
export class TranscriptViewBuilder {
  parts: TranscriptPart[] = []
  readonly models = new Set<string>()
  readonly #calls = new Map<string, CallPart>()

  add(entry: LogEntry): void {
    if (entry.type === 'turn') this.#turn(entry)
    else if (entry.type === 'call_result') this.#result(entry.callId, entry)
    else if (entry.type === 'approval_requested') this.#callOf(entry.callId)?.approvals.push({ decision: 'asked' })
    else if (entry.type === 'approval_answered') this.#answered(entry)
    else if (entry.type === 'rewind') this.#rewind(entry)
    else {
      const text = noteOf(entry)
      if (text !== undefined) this.parts.push({ type: 'note', seq: entry.seq, at: entry.at, text })
    }
  }

  #turn({ seq, at, turn }: EntryOf<'turn'>): void {
    const { role, model, content } = turn
    if (model !== undefined) this.models.add(model)
    if (!Array.isArray(content)) return
    const blocks = content as readonly SessionContentBlock[]
    const message = blocks.filter((block) => block.type !== 'tool_call' && block.type !== 'tool_result')
    if (message.length > 0)
      this.parts.push({ type: 'said', seq, at, who: role, content: message, ...(model !== undefined && { model }) })
    for (const block of blocks) {
      if (block.type === 'tool_call') this.#call(block, seq, at)
      if (block.type === 'tool_result') this.#result(block.callId, block)
    }
  }

  #call({ id, name, input, raw }: ToolCallBlock, seq: number, at: number): void {
    const part: CallPart = {
      type: 'call',
      seq,
      at,
      id,
      name,
      input: raw === undefined ? input : { raw },
      approvals: [],
    }
    this.#calls.set(id, part)
    this.parts.push(part)
  }

  /** A call made by a tool counts as part of that tool's call. */
  #callOf(id: string): CallPart | undefined {
    for (let end = id.length; end > 0; end = id.lastIndexOf('.', end - 1)) {
      const call = this.#calls.get(id.slice(0, end))
      if (call) return call
    }
    return undefined
  }

  #result(id: string, { output, isError, outcome }: Pick<CallPart, 'output' | 'isError' | 'outcome'>): void {
    const call = this.#calls.get(id)
    if (!call || call.output !== undefined) return
    Object.assign(call, { output, ...(isError && { isError }), ...(outcome && { outcome }) })
  }

  #answered({ callId, decision, by, note = [] }: EntryOf<'approval_answered'>): void {
    const approvals = this.#callOf(callId)?.approvals
    const asked = approvals?.findIndex((one) => one.decision === 'asked') ?? -1
    if (!approvals || asked < 0) return
    const noteText = textOf({ role: 'user', content: note })
    approvals[asked] = { decision, by, ...(noteText !== '' && { note: noteText }) }
  }

  #rewind({ seq, at, toSeq }: EntryOf<'rewind'>): void {
    this.parts = this.parts.filter((part) => part.seq <= toSeq)
    this.parts.push({
      type: 'note',
      seq,
      at,
      text: `Went back to entry ${toSeq}; what came after it is no longer part of the conversation`,
    })
  }
}

function noteOf(entry: LogEntry): string | undefined {
  switch (entry.type) {
    case 'run_ended':
      return endingOf(entry)
    case 'compaction':
      return `Everything above was summarised for the model:\n${textOf({ role: 'user', content: entry.summary })}`
    case 'label':
      return `Label: ${entry.text}`
    case 'parked':
      return `Parked: ${entry.reason}`
    case 'state':
      return entry.owner === 'fork' ? forkedFrom(entry.value) : undefined
    default:
      return undefined
  }
}

function endingOf({ status, stop, error }: EntryOf<'run_ended'>): string | undefined {
  if (status === 'completed') return undefined
  if (status === 'suspended') return 'The run ended here, to wait for an answer'
  if (status === 'left') return 'The process left the run here, for another one to continue it'
  if (status === 'aborted') return stop === 'forked' ? undefined : 'Stopped'
  if (stop === 'crashed') return 'The process ended during this run'
  return `The run failed: ${error?.message ?? stop}`
}

function forkedFrom(value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null || !('session' in value)) return undefined
  return `A copy of session ${String(value.session)} up to here`
}

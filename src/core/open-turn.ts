import type { EntryOf } from './log.ts'
import type { SessionContentBlock, SessionTurn, ToolCallBlock, ToolResultBlock } from './turn.ts'

type CallStart = EntryOf<'call_started'>
type CallResultEntry = EntryOf<'call_result'>

/** An assistant turn with calls that have no result yet, and what the log has about these calls. */
export class OpenTurn {
  readonly turn: SessionTurn
  readonly #calls: readonly ToolCallBlock[]
  readonly #results = new Map<string, ToolResultBlock | undefined>()
  /** How many calls have no result. */
  #missing: number
  /** Calls whose results came as blocks of an imported turn. */
  #imported: Set<string> | undefined
  /** Calls that have begun, nested ones too. */
  #starts: Map<string, { readonly entry: CallStart; isRunning: boolean }> | undefined
  /** Results of the calls that tools made. */
  #nested: Map<string, CallResultEntry> | undefined

  constructor(turn: SessionTurn, calls: readonly ToolCallBlock[]) {
    this.turn = turn
    this.#calls = calls
    for (const { id } of calls) this.#results.set(id, undefined)
    this.#missing = this.#results.size
  }

  get isComplete(): boolean {
    return this.#missing === 0
  }

  get openCalls(): readonly ToolCallBlock[] {
    return this.#calls.filter((call) => this.#results.get(call.id) === undefined)
  }

  /** The results in the order of the calls, without those that an imported turn has. */
  get results(): readonly ToolResultBlock[] {
    return this.#calls.flatMap((call) => (this.#imported?.has(call.id) ? [] : [this.#results.get(call.id)!]))
  }

  lastStartOf(callId: string): CallStart | undefined {
    return this.#starts?.get(callId)?.entry
  }

  /** Whether the process ended while this call ran: it began and has neither a result nor a suspension. */
  wasInterrupted(callId: string): boolean {
    return this.#starts?.get(callId)?.isRunning ?? false
  }

  /** Calls without a result that this call started, directly or through other calls. */
  nestedWithin(callId: string): string[] {
    return [...(this.#starts?.keys() ?? [])].filter(
      (id) => id.startsWith(`${callId}.`) && !this.#nested?.has(id) && !this.#results.has(id),
    )
  }

  nestedResultOf(callId: string): CallResultEntry | undefined {
    return this.#nested?.get(callId)
  }

  addStart(entry: CallStart): void {
    ;(this.#starts ??= new Map()).set(entry.callId, { entry, isRunning: true })
  }

  addResult(entry: CallResultEntry): void {
    const { callId, output, isError } = entry
    const start = this.#starts?.get(callId)
    if (start) start.isRunning = false
    if (!this.#results.has(callId)) (this.#nested ??= new Map()).set(callId, entry)
    else if (this.#results.get(callId) === undefined) {
      this.#results.set(callId, { type: 'tool_result', callId, output, ...(isError && { isError }) })
      this.#missing--
    }
  }

  /** Imported turns have their results as blocks, possibly spread over several turns. */
  addResultBlocks(content: readonly SessionContentBlock[]): void {
    for (const block of content) {
      if (block.type !== 'tool_result' || !this.#results.has(block.callId) || this.#results.get(block.callId)) continue
      this.#results.set(block.callId, block)
      ;(this.#imported ??= new Set()).add(block.callId)
      this.#missing--
    }
  }

  /** The run was suspended: its open calls wait on purpose, and were not interrupted. */
  suspend(): void {
    for (const start of this.#starts?.values() ?? []) start.isRunning = false
  }
}

import type { EntryOf } from './log-entry.ts'
import {
  type SessionContentBlock,
  type SessionTurn,
  type ToolCallBlock,
  type ToolResultBlock,
  toolCallsOf,
} from './turn.ts'

/** A turn, with the number of the entry that completed it. */
export interface NumberedTurn {
  readonly seq: number
  readonly turn: SessionTurn
}

/** The turns of a conversation: those that are loaded, and what is known of those before them. */
export class TurnList {
  /** This list only grows; a rewind replaces it by another one. */
  turns: readonly SessionTurn[] = []
  seqs: number[] = []
  /** The number of turns before these. */
  before = 0
  /** The turns before the loaded ones that later work needs. */
  kept: readonly NumberedTurn[] = []
  /** Whether `kept` has a turn that the last checkpoint lacks. */
  hasNewKept = false
  /** The loaded turns are those that entries after this one completed. */
  from = 0
  /** The seq of the last rewind. */
  rewoundAt = 0
  /** How many of the loaded turns the last checkpoint left out. */
  leftOut = 0
  /** The first entry that the loaded turns can be rewound to. A rewind to the beginning (0) is always possible. */
  earliestRewind = 0

  push(turn: SessionTurn, seq: number): void {
    ;(this.turns as SessionTurn[]).push(turn)
    this.seqs.push(seq)
  }

  keep(one: NumberedTurn): void {
    this.kept = [...this.kept, one].sort((a, b) => a.seq - b.seq)
    this.hasNewKept = true
  }

  findLast(matches: (turn: SessionTurn) => boolean): SessionTurn | undefined {
    return this.turns.findLast(matches) ?? this.kept.findLast(({ turn }) => matches(turn))?.turn
  }

  seqOf(turnId: string | undefined): number | undefined {
    const index = this.turns.findLastIndex((turn) => turn.id === turnId)
    return this.seqs[index] ?? this.kept.find(({ turn }) => turn.id === turnId)?.seq
  }

  rewind(toSeq: number): void {
    if (toSeq < this.earliestRewind) this.#forgetEarlier(toSeq)
    let count = this.seqs.filter((seq) => seq <= toSeq).length
    // A rewind to between a call and its results removes the call too.
    if (count > 0 && toolCallsOf(this.turns[count - 1]!).length > 0) count--
    this.turns = this.turns.slice(0, count)
    this.seqs = this.seqs.slice(0, count)
    this.leftOut = 0
  }

  #forgetEarlier(toSeq: number): void {
    if (toSeq > 0) throw new Error(`A rewind to entry ${toSeq} needs turns that are not loaded; read the whole log`)
    this.before = 0
    this.kept = []
    this.earliestRewind = 0
  }
}

/** A log of another version may have malformed blocks; each becomes an empty text. */
export function readable(turn: SessionTurn): SessionTurn {
  const { content } = turn
  const isBlock = (block: unknown): boolean => typeof block === 'object' && block !== null
  if (Array.isArray(content) && content.every(isBlock)) return turn
  const blocks: readonly SessionContentBlock[] = Array.isArray(content) ? content : []
  return { ...turn, content: blocks.map((block) => (isBlock(block) ? block : { type: 'text', text: '' })) }
}

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

  /** Whether the call started and has neither a result nor a suspension. If no process works on it, it was interrupted. */
  isUnderWay(callId: string): boolean {
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

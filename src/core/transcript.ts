import type { EntryOf, LogEntry } from './log-entry.ts'
import type { RunRecord } from './run-record.ts'
import { type ShownTurn, ShownTurns } from './shown-turns.ts'
import { type TouchedFile, TouchedFiles } from './tool.ts'
import {
  deepFreeze,
  type Message,
  type SessionContentBlock,
  type SessionTurn,
  type ToolCallBlock,
  toolCallsOf,
} from './turn.ts'
import { type NumberedTurn, OpenTurn, readable, TurnList } from './turn-list.ts'

/** The conversation in a log. It is built entry by entry, live and on replay alike, so that both give the same turns. */
export class Transcript {
  /** Accepted messages that are not delivered yet. */
  inbox: readonly EntryOf<'input'>[] = []
  /** For each call that needs an approval: the latest request or, once that is answered, the answer. So an open request is in here too. */
  readonly approvals = new Map<string, EntryOf<'approval_requested'> | EntryOf<'approval_answered'>>()
  /** The latest state of each extension. */
  readonly states = new Map<string, unknown>()
  /** Oldest first. A checkpoint keeps the latest ones. */
  readonly runs: RunRecord[] = []
  /** Answers to the questions that calls asked. */
  readonly answers = new Map<string, readonly SessionContentBlock[]>()
  readonly labels: EntryOf<'label'>[] = []
  /** Why no run may be started in this session; absent unless it is parked. */
  parked: string | undefined
  /** Consecutive runs without any progress that crashed, in processes that held no other session, or whose store lost a reply of the model. */
  crashes = 0
  /** Whether a run of this process is under way. */
  isRunActive = false
  /** The keys of all messages, or of the latest ones. */
  readonly clientKeys = new Set<string>()
  /** Whether an older message may have this key. A yes may be wrong; the log then asks the store. */
  olderKeys: { mayHave(key: string): boolean } | undefined
  /** The `from` of the latest checkpoint; 0 without one. */
  checkpointFrom = 0
  /** The checkpoint that this transcript was opened from. When its entry is applied, `takeState` takes over the stored state. */
  openedFrom: { readonly seq: number; readonly takeState: () => void } | undefined
  readonly #list = new TurnList()
  readonly #touched = new TouchedFiles()
  #open: OpenTurn | undefined
  readonly #callIds = new Set<string>()
  #complete: { of: readonly SessionTurn[]; list: readonly SessionTurn[] } = { of: [], list: [] }
  readonly #shown = new ShownTurns()

  /** For checkpoints. */
  get parts(): { readonly list: TurnList; readonly shown: ShownTurns; readonly touched: TouchedFiles } {
    return { list: this.#list, shown: this.#shown, touched: this.#touched }
  }

  /** The turns that are loaded. This list only grows; a rewind replaces it by another one. */
  get turns(): readonly SessionTurn[] {
    return this.#list.turns
  }

  /** The number of turns in the conversation before those that are loaded. */
  get turnsBefore(): number {
    return this.#list.before
  }

  /** The number of turns in the conversation. */
  get turnCount(): number {
    return this.#list.before + this.turns.length
  }

  /** Turns before those that are loaded, which later work needs: the last messages, and pinned turns. */
  get keptTurns(): readonly SessionTurn[] {
    return this.#list.kept.map(({ turn }) => turn)
  }

  /** Keeps a turn that is not loaded. */
  keep(turn: NumberedTurn): void {
    this.#list.keep(turn)
  }

  /** The last turn that matches, among those that are loaded and those that are kept. */
  findLastTurn(matches: (turn: SessionTurn) => boolean): SessionTurn | undefined {
    return this.#list.findLast(matches)
  }

  /** Whether the loaded turns are enough for a rewind to this entry. */
  canRewindTo(toSeq: number): boolean {
    return toSeq === 0 || toSeq >= this.#list.earliestRewind
  }

  /** The file that each call read or changed, in the order of the results. */
  get touched(): ReadonlyMap<string, TouchedFile> {
    return this.#touched.byCall
  }

  /** The assistant turn with calls that have no result yet. */
  get turnWithOpenCalls(): SessionTurn | undefined {
    return this.#open?.turn
  }

  get openCalls(): readonly ToolCallBlock[] {
    return this.#open?.openCalls ?? []
  }

  /** The last turn is a complete reply of the model. */
  get isAnswered(): boolean {
    return !this.#open && this.turns.at(-1)?.role === 'assistant' && !this.isInterrupted
  }

  /** The last turn is an interrupted reply of the model. */
  get isInterrupted(): boolean {
    return this.turns.at(-1)?.interrupted === true
  }

  /** The run that has begun and not ended. After a crash it never will. */
  get activeRun(): RunRecord | undefined {
    const last = this.runs.at(-1)
    return last && last.status === undefined ? last : undefined
  }

  /**
   * The turns for readers outside the core: a frozen copy that does not grow. While no run is under way it leaves out a
   * turn whose calls have no results yet.
   */
  get completeTurns(): readonly SessionTurn[] {
    const length = this.#open && !this.isRunActive ? this.turns.length - 1 : this.turns.length
    if (this.#complete.of !== this.turns || this.#complete.list.length !== length)
      this.#complete = { of: this.turns, list: Object.freeze(this.turns.slice(0, length)) }
    return this.#complete.list
  }

  lastStartOf(callId: string): EntryOf<'call_started'> | undefined {
    return this.#open?.lastStartOf(callId)
  }

  /** Whether the call started and has neither a result nor a suspension. If no process works on it, it was interrupted. */
  isUnderWay(callId: string): boolean {
    return this.#open?.isUnderWay(callId) ?? false
  }

  /** Calls without a result that a call of the open turn started, directly or through other calls. */
  nestedWithin(callId: string): string[] {
    return this.#open?.nestedWithin(callId) ?? []
  }

  /** The result of a call that a tool of the open turn made. */
  nestedResultOf(callId: string): EntryOf<'call_result'> | undefined {
    return this.#open?.nestedResultOf(callId)
  }

  /** Whether this is a call of the loaded turns, or of turns that a rewind removed. */
  hasCall(id: string): boolean {
    return this.#callIds.has(id)
  }

  /** Whether an earlier call may have this id. Always true after a checkpoint: the ids of the calls before it are not loaded. */
  mayHaveCall(id: string): boolean {
    return this.openedFrom !== undefined || this.#callIds.has(id)
  }

  hasClientKey(key: string): boolean {
    return this.clientKeys.has(key)
  }

  /** The messages for a model: the list of turns itself, unless something in it was compacted, edited or interrupted. */
  messagesFor(provider: string): readonly Message[] {
    return this.#shown.messagesFor(provider, this.#list)
  }

  /** The summary that replaces the beginning of the conversation, if there is one. */
  get compaction(): EntryOf<'compaction'> | undefined {
    return this.#shown.compaction
  }

  /** The number of the entry that completed a turn. */
  seqOf(turnId: string | undefined): number | undefined {
    return this.#list.seqOf(turnId)
  }

  /** The turns after the summary, for compaction, which decides what to replace. A call among them may still lack its result. */
  shownTurns(provider: string): ShownTurn[] {
    return this.#shown.turnsFor(provider, this.#list)
  }

  /** The kind of change made to the model's view of earlier turns since entry `seq`, if any. */
  lastChange(seq: number): string | undefined {
    return this.#list.rewoundAt > seq ? 'rewind' : this.#shown.changeAfter(seq)
  }

  apply(entry: LogEntry): void {
    switch (entry.type) {
      case 'run_started':
        this.runs.push(runRecordOf(entry, this.turnCount))
        break
      case 'run_ended':
        this.#endRun(entry)
        break
      case 'attempt':
        if (this.activeRun) this.activeRun.hasAskedModel = true
        break
      case 'input':
        this.clientKeys.add(entry.clientKey)
        if (entry.mode === 'stop') this.#noteStop(entry)
        else if (entry.mode !== 'answer') this.inbox = [...this.inbox, entry]
        else if (entry.callId !== undefined) this.answers.set(entry.callId, entry.content)
        break
      case 'withdrawn':
        this.inbox = this.inbox.filter(({ id }) => id !== entry.input) // its key stays: a request made again changes nothing
        break
      case 'turn':
        this.#addTurn(entry)
        break
      case 'call_started':
        this.#open?.addStart(entry)
        break
      case 'call_result':
        if (isProgress(entry)) this.crashes = 0
        this.#touched.add(entry)
        this.#addResult(entry)
        break
      case 'approval_requested':
        this.approvals.set(entry.callId, entry)
        break
      case 'approval_answered':
        this.#approve(entry)
        break
      case 'label':
        this.labels.push(entry)
        break
      case 'parked':
        this.parked = entry.reason
        break
      case 'unparked':
        this.parked = undefined
        this.crashes = 0
        break
      case 'state':
        this.states.set(entry.owner, entry.value)
        break
      case 'compaction':
        this.#shown.compact(entry)
        break
      case 'context_edit':
        this.#shown.edit(entry)
        break
      case 'rewind':
        this.#rewind(entry.toSeq)
        this.#list.rewoundAt = entry.seq
        break
      case 'checkpoint':
        this.checkpointFrom = entry.from
        this.#list.hasNewKept = false
        if (this.openedFrom?.seq === entry.seq) this.openedFrom.takeState()
        break
    }
  }

  #addTurn({ turn: stored, consumed, clientKey, seq }: EntryOf<'turn'>): void {
    const turn = readable(stored)
    this.#list.push(turn, seq)
    if (clientKey !== undefined) this.clientKeys.add(clientKey)
    if (consumed) this.inbox = this.inbox.filter((item) => !consumed.includes(item.id))
    if (turn.role === 'user') {
      this.#open?.addResultBlocks(turn.content)
      if (this.#open?.isComplete) this.#open = undefined
      return
    }
    this.crashes = 0
    if (turn.interrupted) this.#shown.noteInterrupted()
    const calls = toolCallsOf(turn)
    this.#open = undefined // calls of an earlier turn no longer count as open
    if (calls.length === 0) return
    for (const { id } of calls) {
      this.#callIds.add(id)
      // Earlier approvals and answers were for another call with the same id.
      this.approvals.delete(id)
      this.answers.delete(id)
    }
    this.#open = new OpenTurn(turn, calls)
  }

  /** The first answer counts, and only if it has the digest of the request. */
  #approve(entry: EntryOf<'approval_answered'>): void {
    if (entry.clientKey !== undefined) this.clientKeys.add(entry.clientKey)
    const asked = this.approvals.get(entry.callId)
    if (asked?.type === 'approval_requested' && asked.digest === entry.digest) this.approvals.set(entry.callId, entry)
  }

  /** Results are logged as calls end; the turn that they form has the order of the calls. */
  #addResult(entry: EntryOf<'call_result'>): void {
    const open = this.#open
    if (!open) return
    open.addResult(entry)
    if (!open.isComplete) return
    this.#open = undefined
    const { id, runId } = open.turn
    const { results: content } = open
    this.#list.push(deepFreeze({ id: `${id}.results`, runId, role: 'user', content, createdAt: entry.at }), entry.seq)
  }

  /** A stop request is for the run under way, not for later ones. */
  #noteStop({ seq }: EntryOf<'input'>): void {
    const run = this.activeRun
    if (run) run.stopSeq ??= seq
  }

  #endRun(entry: EntryOf<'run_ended'>): void {
    const run = this.runs.findLast(({ id }) => id === entry.runId)
    const { status, stop, at: endedAt, seq: endSeq } = entry
    if (run) Object.assign(run, { status, stop, endedAt, endSeq, turnCountAtEnd: this.turnCount })
    const { dropsTo } = entry
    // If the process that crashed held other sessions too, one of them may be the cause: the crash is not counted.
    if (entry.stop !== 'crashed' && entry.stop !== 'store_failed') this.crashes = 0
    else if (!entry.sharedCrash) this.crashes++
    if (dropsTo !== undefined) this.#keepMessages(({ seq }) => seq > dropsTo)
    if (entry.status === 'suspended') this.#open?.suspend()
  }

  /** Drops the other messages; they may be sent again with the same key. */
  #keepMessages(isKept: (message: EntryOf<'input'>) => boolean): void {
    for (const message of this.inbox) if (!isKept(message)) this.clientKeys.delete(message.clientKey)
    this.inbox = this.inbox.filter(isKept)
  }

  #rewind(toSeq: number): void {
    this.#list.rewind(toSeq)
    this.#keepMessages(({ seq }) => seq <= toSeq)
    this.#open = undefined
    this.#touched.rewind(toSeq)
    this.#shown.rewind(toSeq)
  }
}

function runRecordOf(entry: EntryOf<'run_started'>, firstTurn: number): RunRecord {
  const { type: _, seq: __, id: ___, at: startedAt, runId: id, unconfined: ____, ...labels } = entry
  return { id, startedAt, firstTurn, ...labels }
}

/** Whether an entry is progress: the model replied, or a call ran or was decided by a gate. */
export function isProgress(entry: LogEntry): boolean {
  if (entry.type === 'turn') return entry.turn.role === 'assistant'
  return entry.type === 'call_result' && progressOutcomes.has(entry.outcome)
}

const progressOutcomes: ReadonlySet<string> = new Set(['done', 'error', 'timeout', 'substituted', 'blocked'])

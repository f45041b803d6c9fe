import { continueNote } from '../core/interrupted-turn.ts'
import type { EntryOf, LogEntry } from '../core/log.ts'
import { type SessionTurn, type ToolCallBlock, textOf, toolCallsOf } from '../core/turn.ts'
import { AgentStatus, PendingCallMarks, type WaitChange } from './agent-status.ts'
import { userContentOf } from './attachments.ts'
import type { AgentInstanceLatestStatus, AgentInstanceMessage, MessageCall, UserContent } from './message.ts'
import { endMessage, handlerMessage, MessageList, modelMessage, resultMessage, userMessage } from './message-list.ts'
import { errorResultDuration, marksOf } from './tool-marks.ts'
import { type SnapshotNote, snapshotOf, TurnSnapshots } from './turn-snapshots.ts'
import { partialOf, yieldOf } from './yield-note.ts'

export interface ProjectionOptions {
  readonly agentId: string
  /** With how many model calls a result is sent that does not say so itself; `null` means all. */
  readonly resultDuration: number | null
}

/**
 * The messages and the state of an agent, computed from its log. Fed entry by entry; each entry returns the messages that
 * it changed, so that a screen redraws only those.
 */
export class MessageProjection {
  /** The snapshots of files before and after messages. */
  readonly files = new TurnSnapshots()
  /** Model calls so far. */
  rounds = 0
  readonly #options: ProjectionOptions
  readonly #messages: MessageList
  readonly #calls = new Map<string, { readonly call: ToolCallBlock; readonly messageId: string }>()
  /** Messages that wait to be delivered. */
  readonly #inbox = new Map<string, EntryOf<'input'>>()
  /** The turns that hold several messages, by the ids of the messages after the first. */
  readonly #turns = new Map<string, string>()
  readonly #pending = new PendingCallMarks()
  #status = new AgentStatus()
  #roundsBefore = 0
  #lastAnswer: string | undefined
  /** A run has begun and has no turn yet. */
  #isBeginning = false
  /** Between `run_started` and `run_ended`. */
  #isRunning = false
  /** The entries to apply again after a rewind. */
  #entries: LogEntry[] = []

  constructor(options: ProjectionOptions) {
    this.#options = options
    this.#messages = new MessageList(options.agentId)
  }

  /** In their order. The same list as long as nothing changes. */
  get messages(): readonly AgentInstanceMessage[] {
    return this.#messages.list
  }

  get status(): AgentInstanceLatestStatus {
    const { state, modified } = this.#status
    const message = this.#lastAnswer === undefined ? undefined : this.#messages.get(this.#lastAnswer)
    return { state, modified, ...(message && { message }) }
  }

  get(id: string): AgentInstanceMessage | undefined {
    return this.#messages.get(id)
  }

  /** The messages of people in a turn: one, or several that waited together. */
  userMessagesOf(turnId: string): readonly AgentInstanceMessage[] {
    const found: AgentInstanceMessage[] = []
    for (;;) {
      const message = this.get(idInTurn(turnId, found.length))
      if (message?.role !== 'user' || message.hidden) return found
      found.push(message)
    }
  }

  /**
   * The content of a person's message, and the entry to which a rewind goes that removes it, with the run that it began.
   * Messages that the model received in one turn are removed together.
   */
  rewindPoint(messageId: string): { readonly content: UserContent; readonly toSeq: number } | undefined {
    const message = this.#messages.get(messageId)
    if (message?.role !== 'user' || message.hidden) return undefined
    const turnId = this.#turns.get(messageId) ?? messageId
    const at = this.#entries.findLastIndex((entry) => entry.type === 'turn' && entry.turn.id === turnId)
    const before = this.#entries.slice(0, at).findLast(({ type }) => type !== 'input')
    const first = before?.type === 'run_started' ? before : this.#entries[at]!
    return { content: userContentOf(message), toSeq: first.seq - 1 }
  }

  /** Returns the messages that are new or changed. */
  apply(entry: LogEntry): readonly AgentInstanceMessage[] {
    if (entry.type === 'rewind') this.#rewind(entry)
    else if (usedTypes.has(entry.type)) this.#entries.push(entry)
    return this.#apply(entry)
  }

  #apply(entry: LogEntry): readonly AgentInstanceMessage[] {
    switch (entry.type) {
      case 'run_started':
        this.#isBeginning = true
        this.#isRunning = true
        this.#roundsBefore = this.rounds
        this.#status.begin(entry.at)
        return []
      case 'input':
        this.#inbox.set(entry.id, entry)
        return []
      case 'turn':
        return entry.turn.role === 'user' ? this.#userTurn(entry) : [this.#modelTurn(entry.turn)]
      case 'approval_requested':
        return this.#markCalls(this.#pending.ask(entry))
      case 'call_started':
        this.#pending.begin(entry.callId)
        return []
      case 'call_result':
        return this.#result(entry)
      case 'state':
        return [...this.#note(entry), ...this.#unmarkIfCancelled()]
      case 'run_ended':
        return [...this.#markCalls(this.#pending.end(entry)), ...this.#end(entry), ...this.#unmarkIfCancelled()]
      default:
        return []
    }
  }

  #userTurn({ turn, consumed = [], clientKey }: EntryOf<'turn'>): readonly AgentInstanceMessage[] {
    const results = turn.content.filter((block) => block.type === 'tool_result')
    if (results.length > 0 && results.length === turn.content.length) return []
    const isBare = consumed.length === 0 && clientKey === undefined
    const isNote = isBare && (!this.#isBeginning || textOf(turn) === continueNote)
    // An answer of an earlier run is no answer to this message.
    if (!isNote && (this.#isBeginning || !this.#isRunning)) this.#lastAnswer = undefined
    this.#isBeginning = false
    this.#status.userMessage()
    const delivered = this.#takeFromInbox(consumed)
    const { meta, ...shared } = turn
    if (delivered.length === 0)
      return [this.#put(turn, userMessage(turn.content, { ...(meta && { meta }), isHidden: isNote }))]
    const messages = delivered.map(({ content, meta: own }, at) => {
      const id = idInTurn(turn.id, at)
      if (at > 0) this.#turns.set(id, turn.id)
      return this.#put({ ...shared, id }, userMessage(content, { ...(own && { meta: own }), isHidden: false }))
    })
    // Plugins may have added to the same turn.
    const notes = turn.content.slice(delivered.flatMap(({ content }) => content).length)
    if (notes.length === 0) return messages
    return [...messages, this.#put({ ...shared, id: `${turn.id}.note` }, userMessage(notes, { isHidden: true }))]
  }

  /** None if the log does not have them all, as one that was imported from elsewhere. */
  #takeFromInbox(consumed: readonly string[]): readonly EntryOf<'input'>[] {
    const messages = consumed.flatMap((id) => this.#inbox.get(id) ?? [])
    for (const id of consumed) this.#inbox.delete(id)
    return messages.length === consumed.length ? messages : []
  }

  #modelTurn(turn: SessionTurn): AgentInstanceMessage {
    this.#isBeginning = false
    this.rounds++
    const calls = toolCallsOf(turn)
    this.#status.modelMessage({ hasMore: calls.length > 0 || turn.interrupted === true })
    for (const call of calls) this.#calls.set(call.id, { call, messageId: turn.id })
    if (!turn.interrupted) this.#lastAnswer = turn.id
    return this.#put(turn, modelMessage(turn))
  }

  #markCalls(changes: readonly WaitChange[]): readonly AgentInstanceMessage[] {
    return changes.flatMap(([callId, waitsFor]) => this.#changeCall(callId, waitsFor ? { waitsFor } : {}) ?? [])
  }

  /** The calls of a cancelled agent wait for nothing any more. */
  #unmarkIfCancelled(): readonly AgentInstanceMessage[] {
    return this.#status.state === 'canceled' ? this.#markCalls(this.#pending.cancel()) : []
  }

  #changeCall(callId: string, state: Pick<MessageCall, 'outcome' | 'waitsFor'>): AgentInstanceMessage | undefined {
    const known = this.#calls.get(callId)
    if (!known) return undefined // a tool made the call
    return this.#messages.change(known.messageId, ({ calls = [] }) => ({
      calls: calls.map((call) => {
        const { toolId, parameters } = call
        return call.callId === callId ? { callId, toolId, parameters, ...state } : call
      }),
    }))
  }

  #result(entry: EntryOf<'call_result'>): readonly AgentInstanceMessage[] {
    const { callId, details, outcome, at } = entry
    this.#pending.complete(callId)
    const known = this.#calls.get(callId)
    if (!known) return [] // a tool made the call
    const marks = marksOf(details)
    this.#status.takeResult(marks)
    const { duration = entry.isError ? errorResultDuration : this.#options.resultDuration, leavesTo } = marks
    const result = this.#put({ id: `${callId}.result`, createdAt: at }, resultMessage(entry, known.call, duration))
    if (leavesTo === 'end' && result.content !== '') this.#lastAnswer = result.id
    const call = this.#changeCall(callId, { outcome })
    return call ? [call, result] : [result]
  }

  #note({ owner, value, at }: EntryOf<'state'>): readonly AgentInstanceMessage[] {
    const partial = partialOf(owner, value)
    if (partial) {
      const { id, text: content } = partial
      return [this.#put({ id, createdAt: at }, { role: 'assistant', content, duration: 0 })]
    }
    const yielded = yieldOf(owner, value)
    if (yielded) {
      const { to, message } = yielded
      this.#status.yieldTo(to, at)
      return message ? [this.#putLast({ id: message.id, createdAt: at }, handlerMessage(message))] : []
    }
    const snapshot = snapshotOf(owner, value)
    return snapshot ? this.#snapshot(snapshot) : []
  }

  #snapshot(note: SnapshotNote): readonly AgentInstanceMessage[] {
    this.files.apply(note)
    const { messageId, folder, before, isRolledBack, withIt = [] } = note
    return [messageId, ...withIt].flatMap((id) => {
      const changed = this.#messages.change(id, () => ({
        ...(before && { beforeCommitMap: { [folder]: before.id } }),
        ...(isRolledBack !== undefined && { rolledBack: isRolledBack }),
      }))
      return changed ?? []
    })
  }

  #end(entry: EntryOf<'run_ended'>): readonly AgentInstanceMessage[] {
    this.#isRunning = false
    if (!this.#status.end(entry)) return []
    const message = endMessage(entry, { rounds: this.rounds - this.#roundsBefore })
    return message ? [this.#putLast({ id: `${entry.runId}.end`, createdAt: entry.at }, message)] : []
  }

  /** Applies the remaining entries again. Files are not restored with messages. */
  #rewind({ toSeq, at }: EntryOf<'rewind'>): void {
    for (const one of [this.#messages, this.#calls, this.#inbox, this.#turns, this.#pending]) one.clear()
    this.#status = new AgentStatus()
    this.rounds = this.#roundsBefore = 0
    this.#lastAnswer = undefined
    this.#isBeginning = this.#isRunning = false
    this.#entries = entriesUpTo(this.#entries, toSeq)
    for (const entry of this.#entries) this.#apply(entry)
    this.#status.rewind({ isEmpty: this.messages.length === 0, at })
  }

  #put(
    { id, createdAt }: { readonly id: string; readonly createdAt: number },
    body: Parameters<MessageList['put']>[1],
  ): AgentInstanceMessage {
    return this.#messages.put({ id, createdAt, round: this.rounds }, body)
  }

  /** Puts a message that is shown with the status. */
  #putLast(
    of: { readonly id: string; readonly createdAt: number },
    body: Parameters<MessageList['put']>[1],
  ): AgentInstanceMessage {
    const message = this.#put(of, body)
    this.#lastAnswer = message.id
    return message
  }
}

/** The first message has the id of its turn. */
const idInTurn = (turnId: string, at: number): string => (at === 0 ? turnId : `${turnId}.${at + 1}`)

/** The types of entries that messages are computed from. */
const usedTypes: ReadonlySet<string> = new Set([
  'run_started',
  'input',
  'turn',
  'approval_requested',
  'call_started',
  'call_result',
  'state',
  'run_ended',
])

/** As in the conversation itself, a turn is removed too if not all its calls have results. */
function entriesUpTo(entries: readonly LogEntry[], toSeq: number): LogEntry[] {
  const remaining = entries.filter(({ seq }) => seq <= toSeq)
  const last = remaining.findLast((entry) => entry.type === 'turn')
  const calls = last ? toolCallsOf(last.turn).map(({ id }) => id) : []
  const answered = new Set(remaining.flatMap((entry) => (entry.type === 'call_result' ? [entry.callId] : [])))
  if (calls.every((id) => answered.has(id))) return remaining
  return remaining.filter((entry) => entry !== last && !(entry.type === 'call_result' && calls.includes(entry.callId)))
}

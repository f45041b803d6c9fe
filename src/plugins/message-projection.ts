import type { EntryOf, LogEntry } from '../core/log.ts'
import type { AnswerRow, CallRow, MessageRow, NoticeRow, Row } from '../view/rows.ts'
import { emptyView, foldOnwards, type SessionView } from '../view/session-view.ts'
import { AgentStatus } from './agent-status.ts'
import { userContentOf } from './attachments.ts'
import type { AgentInstanceLatestStatus, AgentInstanceMessage, MessageCall, UserContent } from './message.ts'
import { MessageList } from './message-list.ts'
import {
  callsAfter,
  endMessage,
  handlerMessage,
  messageCall,
  modelMessage,
  resultMessage,
  userMessage,
} from './row-messages.ts'
import { errorResultDuration, marksOf } from './tool-marks.ts'
import { type SnapshotNote, snapshotOf, TurnSnapshots } from './turn-snapshots.ts'
import { partialOf, yieldOf } from './yield-note.ts'

export interface ProjectionOptions {
  readonly agentId: string
  /** With how many model calls a result is sent that does not say so itself; `null` means all. */
  readonly resultDuration: number | null
}

/**
 * The messages and the state of an agent, computed from the view of its session and from what the workflow notes in its
 * log. Fed entry by entry; each entry returns the messages that it changed, so that a screen redraws only those.
 */
export class MessageProjection {
  /** The snapshots of files before and after messages. */
  readonly files = new TurnSnapshots()
  /** Model calls so far. */
  rounds = 0
  /** Counts for the results that come next; those that came before keep their duration. */
  resultDuration: number | null
  readonly #messages: MessageList
  /** Calls that waited for a person when the agent was cancelled: they wait for nothing any more. */
  readonly #withdrawn = new Set<string>()
  #view: SessionView = emptyView
  #status = new AgentStatus()
  #roundsBefore = 0

  constructor({ agentId, resultDuration }: ProjectionOptions) {
    this.resultDuration = resultDuration
    this.#messages = new MessageList(agentId)
  }

  /** In their order. The same list as long as nothing changes. */
  get messages(): readonly AgentInstanceMessage[] {
    return this.#messages.list
  }

  get status(): AgentInstanceLatestStatus {
    const { state, modified } = this.#status
    const message = this.#messages.lastAnswer
    return { state, modified, ...(message && { message }) }
  }

  get(id: string): AgentInstanceMessage | undefined {
    return this.#messages.get(id)
  }

  /** The messages of people in a turn: one, or several that waited together. */
  userMessagesOf(turnId: string): readonly AgentInstanceMessage[] {
    const rows = this.#messageRows((row) => row.turnId === turnId)
    return rows.flatMap(({ id }) => this.get(id) ?? [])
  }

  /**
   * The content of a person's message, and the entry to which a rewind goes that removes it, with the run that it began.
   * Messages that the model received in one turn are removed together.
   */
  rewindPoint(messageId: string): { readonly content: UserContent; readonly toSeq: number } | undefined {
    const [row] = this.#messageRows(({ id }) => id === messageId)
    const message = row && this.get(row.id)
    return message && { content: userContentOf(message), toSeq: row.from - 1 }
  }

  /** Searches from the end, because callers ask for new messages, and finds those of one turn at most. */
  #messageRows(isMeant: (row: MessageRow) => boolean): readonly MessageRow[] {
    const { rows } = this.#view
    const found: MessageRow[] = []
    for (let at = rows.length - 1; at >= 0; at--) {
      const row = rows.at(at)!
      if (row.kind === 'message' && !row.isNote && isMeant(row)) found.unshift(row)
      else if (found.length > 0) break
    }
    return found
  }

  /** Returns the messages that are new or changed. */
  apply(entry: LogEntry): readonly AgentInstanceMessage[] {
    const before = this.#view
    this.#view = foldOnwards(before, { durable: true, seq: entry.seq, entry })
    if (entry.type === 'rewind') this.#rewind(entry, before)
    if (entry.type === 'run_started') this.#begin(entry)
    if ('callId' in entry && entry.callId !== undefined) this.#withdrawn.delete(entry.callId)
    const isReported = entry.type === 'run_ended' && this.#status.end(entry)
    const changed = entry.type === 'state' ? [...this.#note(entry)] : []
    if (entry.type !== 'rewind')
      for (const at of this.#view.rows.changesSince(before.rows)) {
        const row = this.#view.rows.at(at)!
        if (row.kind !== 'notice' || isReported) changed.push(...this.#show(row, at, entry))
      }
    const mayCancel = entry.type === 'run_ended' || entry.type === 'state'
    return mayCancel && this.#status.state === 'canceled' ? [...changed, ...this.#withdraw()] : changed
  }

  #begin({ at }: EntryOf<'run_started'>): void {
    this.#roundsBefore = this.rounds
    this.#status.begin(at)
  }

  #show(row: Row, at: number, entry: LogEntry): readonly AgentInstanceMessage[] {
    switch (row.kind) {
      case 'message':
        return [this.#showMessage(row)]
      case 'answer':
        return [this.#showAnswer(row, at)]
      case 'call':
        return row.seq === entry.seq ? [] : this.#showCall(row, entry) // else it is part of the answer
      case 'notice':
        return this.#showEnd(row)
      case 'compaction':
        return []
    }
  }

  #showMessage(row: MessageRow): AgentInstanceMessage {
    const { id, seq, at, isNote, from } = row
    this.#status.userMessage()
    // An answer of an earlier run is no answer to this message.
    const isFirst = !isNote && (from < seq || !this.#view.run)
    return this.#put({ id, seq, createdAt: at, ...(isFirst && { mark: 'begins' }) }, userMessage(row))
  }

  #showAnswer(row: AnswerRow, index: number): AgentInstanceMessage {
    const { id, seq, at, isInterrupted } = row
    const calls = callsAfter(this.#view.rows, index)
    this.rounds++
    this.#status.modelMessage({ hasMore: calls.length > 0 || isInterrupted === true })
    const body = { ...modelMessage(row, calls), ...(calls.length > 0 && { duration: 1 }) }
    return this.#put({ id, seq, createdAt: at, ...(!isInterrupted && { mark: 'answer' }) }, body)
  }

  #showCall(row: CallRow, { seq }: LogEntry): readonly AgentInstanceMessage[] {
    const call = this.#markCall(row) ?? []
    return row.result?.seq === seq ? [call, this.#showResult(row, row.result)].flat() : [call].flat()
  }

  #showResult(row: CallRow, result: NonNullable<CallRow['result']>): AgentInstanceMessage {
    const marks = marksOf(result.details)
    this.#status.takeResult(marks)
    const { duration = result.isError ? errorResultDuration : this.resultDuration, leavesTo } = marks
    const body = { ...resultMessage(row, result), ...(duration !== null && { duration }) }
    const isAnswer = leavesTo === 'end' && body.content !== ''
    const { seq, at: createdAt } = result
    return this.#put({ id: `${row.id}.result`, seq, createdAt, ...(isAnswer && { mark: 'answer' }) }, body)
  }

  /** Returns the message that made the call, if what it shows of the call changed. */
  #markCall(row: CallRow): AgentInstanceMessage | undefined {
    const { waitsFor, ...call } = messageCall(row)
    const now: MessageCall = { ...call, ...(waitsFor && !this.#withdrawn.has(row.id) && { waitsFor }) }
    const known = this.get(row.turnId)?.metadata?.calls?.find(({ callId }) => callId === row.id)
    if (!known || (known.outcome === now.outcome && known.waitsFor === now.waitsFor)) return undefined
    return this.#messages.change(row.turnId, ({ calls = [] }) => ({
      calls: calls.map((one) => (one === known ? now : one)),
    }))
  }

  #withdraw(): readonly AgentInstanceMessage[] {
    const { rows, fold } = this.#view
    return [...fold.open.values()].flatMap((at) => {
      const row = rows.at(at)
      if (row?.kind !== 'call') return []
      this.#withdrawn.add(row.id)
      return this.#markCall(row) ?? []
    })
  }

  #showEnd({ seq, at, run }: NoticeRow): readonly AgentInstanceMessage[] {
    const message = run && endMessage(run, this.rounds - this.#roundsBefore)
    return message ? [this.#put({ id: `${run.runId}.end`, seq, createdAt: at, mark: 'answer' }, message)] : []
  }

  #note({ owner, value, seq, at: createdAt }: EntryOf<'state'>): readonly AgentInstanceMessage[] {
    const partial = partialOf(owner, value)
    if (partial) {
      const { id, text: content } = partial
      return [this.#put({ id, seq, createdAt }, { role: 'assistant', content, duration: 0 })]
    }
    const yielded = yieldOf(owner, value)
    if (yielded) {
      const { to, message } = yielded
      this.#status.yieldTo(to, createdAt)
      return message ? [this.#put({ id: message.id, seq, createdAt, mark: 'answer' }, handlerMessage(message))] : []
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

  /** Files are not restored with messages. */
  #rewind({ toSeq, at }: EntryOf<'rewind'>, before: SessionView): void {
    const rows = [...this.#view.rows]
    const remaining = new Set(rows)
    const gone = [...before.rows].filter((row) => !remaining.has(row))
    this.#messages.rewind(toSeq, new Set(gone.map((row) => (row.kind === 'call' ? `${row.id}.result` : row.id))))
    this.rounds = this.#roundsBefore = rows.filter(({ kind }) => kind === 'answer').length
    this.#withdrawn.clear()
    this.#status = new AgentStatus()
    const last = rows.findLast(({ kind }) => kind !== 'notice' && kind !== 'compaction')
    if (last?.kind === 'answer') this.#status.modelMessage({ hasMore: last.isInterrupted === true })
    this.#status.rewind({ isEmpty: this.messages.length === 0, at })
  }

  #put(of: Omit<Parameters<MessageList['put']>[0], 'round'>, body: Parameters<MessageList['put']>[1]) {
    return this.#messages.put({ ...of, round: this.rounds }, body)
  }
}

import type { LogEntry } from '../../core/log.ts'
import { LogViews } from '../../plugins/log-views.ts'
import type { AgentInstanceMessage, AgentState } from '../../plugins/message.ts'
import type { AgentInstance } from '../definitions/definition.ts'
import { resultDurationOf } from '../engine/config-of.ts'
import type { WorkflowDependencies } from '../engine/workflow-dependencies.ts'
import { closedWords, noteIn, unknownWords } from '../instance-note.ts'
import type { Updates } from '../updates.ts'

export interface FollowedLogOptions {
  readonly instance: AgentInstance
  readonly makings: WorkflowDependencies
  readonly updates: Updates
  /** Each entry, before it counts. */
  readonly onEntry: (entry: LogEntry) => void
  readonly show: (message: AgentInstanceMessage) => void
  /** Somebody closed it, perhaps another process. */
  readonly onClosed: (why: string) => void
}

/** What the log of one agent amounts to, entry by entry, whoever writes them; listeners hear what changes. */
export class FollowedLog {
  readonly views: LogViews
  instance: AgentInstance
  /** Why it cannot be spoken to any more. */
  over: string | undefined
  /** Another process has deleted it. */
  isGone = false
  /** By the log: of this process, of another one, or of one that died. */
  activeRun: string | undefined
  /** How it stood when the last run began. */
  stoodBefore: AgentState | undefined
  /** It is stopped only because its process ends: nobody has cancelled it. */
  isLeaving = false
  readonly #options: FollowedLogOptions
  #toldState: string

  constructor(options: FollowedLogOptions) {
    const { instance, makings } = options
    this.#options = options
    this.instance = instance
    this.views = new LogViews(instance.id, resultDurationOf(makings, instance))
    this.#toldState = this.views.messages.status.state
  }

  apply(entry: LogEntry): void {
    this.#take(entry)
    this.#tellStatus()
  }

  #tellStatus(): void {
    const { status } = this.views.messages
    if (status.state === this.#toldState || (this.isLeaving && status.state === 'canceled')) return
    this.#toldState = status.state
    this.#options.updates.emit({ type: 'status', agentId: this.instance.id, status })
  }

  #take(entry: LogEntry): void {
    const { onEntry, show, updates } = this.#options
    onEntry(entry)
    if (entry.seq > this.views.head) this.#takeOwn(entry)
    const { messages } = this.views
    const before = entry.type === 'rewind' ? messages.messages : []
    for (const message of this.views.apply(entry)) show(message)
    const messageIds = before.map(({ id }) => id).filter((id) => !messages.get(id))
    if (messageIds.length > 0) updates.emit({ type: 'removed', agentId: this.instance.id, messageIds })
  }

  /** What the log says of the agent itself, and of who works on it. */
  #takeOwn(entry: LogEntry): void {
    if (entry.type === 'run_started') {
      this.activeRun = entry.runId
      this.stoodBefore = this.views.messages.status.state
    }
    if (entry.type === 'run_ended') this.activeRun = undefined
    const note = noteIn(entry)
    if (!note) return
    const before = this.instance
    const { id } = before
    this.instance = { id, modified: entry.at, ...note }
    if (note.closed) {
      this.over ??= closedWords(id)
      this.#options.onClosed(closedWords(id))
    }
    if (before.closed === note.closed && before.name === note.name) return
    this.#options.updates.emit({ type: 'agent', agentId: id, agent: this.instance })
  }

  /** Reads what others wrote meanwhile; how many entries that were. */
  async catchUp(): Promise<number> {
    const { id, volatile } = this.instance
    const { head } = this.views
    const read = await this.#options.makings.entries(id, Math.max(0, head - 1))
    this.isGone = read.length === 0 && head > 0 && !volatile
    if (this.isGone) this.over ??= unknownWords(id)
    const entries = read.filter(({ seq }) => seq > head)
    for (const entry of entries) this.#take(entry)
    if (head > 0) this.#tellStatus()
    else this.#toldState = this.views.messages.status.state // what was there before is nothing new
    return entries.length
  }
}

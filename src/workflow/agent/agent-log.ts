import type { LogEntry } from '../../core/log.ts'
import { LogViews } from '../../plugins/log-views.ts'
import type { AgentInstanceMessage, AgentState } from '../../plugins/message.ts'
import { closedMessage, type InstanceNote, readNote, unknownAgentMessage } from '../agent-instance.ts'
import { type AgentInstance, resultDurationOf } from '../definitions/definition.ts'
import type { Updates } from '../listeners.ts'
import type { WorkflowDependencies } from '../workflow-contract.ts'

export interface AgentLogOptions {
  readonly instance: AgentInstance
  readonly dependencies: WorkflowDependencies
  readonly updates: Updates
  /** Which of the entries that were there when the agent was loaded go to listeners. Default: all. */
  readonly tells?: ((entry: LogEntry) => boolean) | undefined
  /** Called with each entry, before it is applied. */
  readonly onEntry: (entry: LogEntry) => void
  readonly onMessage: (message: AgentInstanceMessage) => void
  /** The agent was closed, perhaps by another process. */
  readonly onClosed: (reason: string) => void
  /** Its name or settings were changed, perhaps by another process. */
  readonly onChanged: () => void
}

/** The state that the log of one agent describes, entry by entry, from any process; listeners receive the changes. */
export class AgentLog {
  readonly views: LogViews
  instance: AgentInstance
  /** Why the agent accepts no more messages. */
  endReason: string | undefined
  /** Another process has deleted it. */
  isDeleted = false
  /** The run that the log has begun and not ended: of this process, of another one, or of one that died. */
  activeRun: string | undefined
  stateBeforeRun: AgentState | undefined
  /** It is stopped only because its process ends, and not cancelled by a person. */
  isShuttingDown = false
  readonly #options: AgentLogOptions
  /** The latest record of the agent that was applied. */
  #note: InstanceNote | undefined
  #emittedState: string

  constructor(options: AgentLogOptions) {
    const { instance, dependencies } = options
    this.#options = options
    this.instance = instance
    this.views = new LogViews(instance.id, resultDurationOf(dependencies, instance))
    this.#emittedState = this.views.messages.status.state
  }

  apply(entry: LogEntry): void {
    this.#applyEntry(entry)
    this.#emitStatus()
  }

  /** Reads the entries that other processes wrote, and returns their number. */
  async catchUp(): Promise<number> {
    const { id, volatile } = this.instance
    const { head } = this.views
    const read = await this.#options.dependencies.entries(id, Math.max(0, head - 1))
    this.isDeleted = read.length === 0 && head > 0 && !volatile
    if (this.isDeleted) this.endReason ??= unknownAgentMessage(id)
    const entries = read.filter(({ seq }) => seq > head)
    const { tells } = this.#options
    for (const entry of entries) {
      const isTold = head > 0 || !tells || tells(entry)
      this.#applyEntry(entry, isTold)
      if (head > 0 || (tells && isTold)) this.#emitStatus()
      else this.#emittedState = this.views.messages.status.state // a state from before this process is no change
    }
    return entries.length
  }

  #emitStatus(): void {
    const { status } = this.views.messages
    if (status.state === this.#emittedState || (this.isShuttingDown && status.state === 'canceled')) return
    this.#emittedState = status.state
    this.#options.updates.emit({ type: 'status', agentId: this.instance.id, status })
  }

  #applyEntry(entry: LogEntry, isTold = true): void {
    const { onEntry, onMessage, updates } = this.#options
    onEntry(entry)
    if (entry.seq > this.views.head) this.#applyToAgent(entry, isTold)
    const { messages } = this.views
    const before = entry.type === 'rewind' ? messages.messages : []
    for (const message of this.views.apply(entry)) if (isTold) onMessage(message)
    const messageIds = before.map(({ id }) => id).filter((id) => !messages.get(id))
    if (isTold && messageIds.length > 0) updates.emit({ type: 'removed', agentId: this.instance.id, messageIds })
  }

  /** What an entry says of the agent itself and of its runs. */
  #applyToAgent(entry: LogEntry, isTold: boolean): void {
    if (entry.type === 'run_started') {
      this.activeRun = entry.runId
      this.stateBeforeRun = this.views.messages.status.state
    }
    if (entry.type === 'run_ended') this.activeRun = undefined
    const note = readNote(entry)
    if (!note) return
    const before = this.#note ?? note // the instance that was given may be later than the first note
    this.#note = note
    const { id } = this.instance
    this.instance = { id, modified: entry.at, ...note }
    this.views.messages.resultDuration = resultDurationOf(this.#options.dependencies, this.instance)
    if (note.closed) {
      this.endReason ??= closedMessage(id)
      this.#options.onClosed(closedMessage(id))
    }
    const isChanged = before.name !== note.name || JSON.stringify(before.config) !== JSON.stringify(note.config)
    if (isChanged) this.#options.onChanged()
    if (!isTold || (before.closed === note.closed && !isChanged)) return
    this.#options.updates.emit({ type: 'agent', agentId: id, agent: this.instance })
  }
}

import type { Session, SessionStore } from '../core/store.ts'
import type { MessageProjection } from '../plugins/message-projection.ts'
import type { ScheduleBook } from '../plugins/schedule.ts'
import type { TokenBreakdown } from '../plugins/tokens/token-breakdown.ts'
import { createMemoryStore } from '../sessions/memory-store.ts'
import { createSession, loadSession } from '../sessions/session.ts'
import { appendOverRuns, cancelAgent } from './agent/cancel-agent.ts'
import { LiveAgent, type LiveAgentOptions } from './agent/live-agent.ts'
import { closedMessage, instanceEntry, noteOf, unknownAgentMessage } from './agent-instance.ts'
import { type AgentInstance, resultDurationOf } from './definitions/definition.ts'
import { type Directory, readSubAgent } from './directory.ts'
import { removeSchedulesOf } from './schedules/schedule-book.ts'

interface OpenAgentsOptions extends Pick<LiveAgentOptions, 'dependencies' | 'handlers' | 'updates' | 'files'> {
  readonly directory: Directory
  readonly schedules: ScheduleBook
}

type AgentMessages = Pick<MessageProjection, 'messages' | 'status'>

/** The agents that this process uses: each is loaded once, on first use, and kept. */
export class OpenAgents {
  readonly #options: OpenAgentsOptions
  readonly #live = new Map<string, Promise<LiveAgent>>()
  readonly #closings = new Map<string, Promise<void>>()
  /** Holds the volatile agents. */
  readonly #memory = createMemoryStore()
  #isClosed = false

  constructor(options: OpenAgentsOptions) {
    this.#options = options
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  checkOpen(): void {
    if (this.#isClosed) throw new Error(workflowClosed)
  }

  /** Stores a new agent. */
  async add(instance: AgentInstance): Promise<void> {
    const { dependencies, updates } = this.#options
    const { clock, newId } = dependencies
    const { id } = instance
    const session = await createSession({ store: this.#storeOf(instance), id, clock, newId, owner: 'workflow' })
    const agent = this.#liveAgent(instance, session)
    await agent.writer.append(instanceEntry(noteOf(instance)))
    this.#live.set(id, Promise.resolve(agent))
    updates.emit({ type: 'agent', agentId: id, agent: instance })
  }

  /** The agent in this process. Rejects for one that does not exist, and for a sub-agent. */
  open(agentId: string): Promise<LiveAgent> {
    this.checkOpen()
    const known = this.#live.get(agentId)
    if (known) return known
    const loading = this.#load(agentId)
    this.#live.set(agentId, loading)
    loading.catch(() => this.#live.get(agentId) === loading && this.#live.delete(agentId))
    return loading
  }

  /** As `open`, with the latest log; rejects for a closed agent. */
  async openForWork(agentId: string): Promise<LiveAgent> {
    const agent = await this.#openLatest(agentId)
    if (agent.instance.closed) throw new Error(closedMessage(agentId))
    return agent
  }

  /** As `open`, with the latest log; rejects if another process has deleted the agent. */
  async #openLatest(agentId: string): Promise<LiveAgent> {
    const agent = await this.open(agentId)
    await agent.refresh()
    if (!agent.log.isDeleted) return agent
    this.#forget(agentId)
    throw new Error(unknownAgentMessage(agentId))
  }

  async #load(agentId: string): Promise<LiveAgent> {
    const { directory, dependencies } = this.#options
    const { store, clock, newId } = dependencies
    const instance = await directory.get(agentId)
    if (!instance) throw new Error(unknownAgentMessage(agentId))
    if (instance.isSubAgent)
      throw new Error(`"${agentId}" is a sub-agent of "${instance.parentAgentId}"; speak to that one`)
    const session = await loadSession(store, agentId, { clock, newId, owner: 'workflow' })
    const agent = this.#liveAgent(instance, session)
    await agent.refresh()
    return agent
  }

  #liveAgent(instance: AgentInstance, session: Session): LiveAgent {
    const { dependencies, updates, handlers, files } = this.#options
    return new LiveAgent({ instance, session, store: this.#storeOf(instance), dependencies, updates, handlers, files })
  }

  #storeOf({ volatile }: AgentInstance): SessionStore {
    return volatile ? this.#memory : this.#options.dependencies.store
  }

  #forget(agentId: string): void {
    this.#live.delete(agentId)
    this.#options.directory.forget(agentId)
  }

  /** The messages and the status of an agent or a sub-agent. */
  async read(agentId: string): Promise<AgentMessages> {
    const { directory, dependencies } = this.#options
    const instance = this.#live.has(agentId) ? undefined : await directory.get(agentId)
    if (instance?.isSubAgent)
      return (await readSubAgent(directory, agentId, resultDurationOf(dependencies, instance))).messages
    const agent = await this.open(agentId)
    await agent.refresh()
    return { messages: agent.log.views.messages.messages, status: agent.status }
  }

  /** Of the last request in this process; unknown for sub-agents. */
  async tokens(agentId: string): Promise<TokenBreakdown | undefined> {
    const agent = (await this.find(agentId))?.isSubAgent ? undefined : await this.open(agentId)
    return agent?.runs.tokens
  }

  /** Any agent: loaded or not, a sub-agent, or a closed one. */
  async find(agentId: string): Promise<AgentInstance | undefined> {
    const agent = await this.#live.get(agentId)?.catch(() => undefined)
    await agent?.refresh()
    if (agent?.log.isDeleted) this.#forget(agentId)
    const found = agent && !agent.log.isDeleted ? agent.instance : await this.#options.directory.get(agentId)
    const { isSubAgent, parentAgentId } = found ?? {}
    if (!found || !isSubAgent || parentAgentId === undefined) return found
    return { ...found, closed: (await this.#options.directory.get(parentAgentId))?.closed ?? found.closed }
  }

  async list({ subAgents = false, closed = false } = {}): Promise<readonly AgentInstance[]> {
    const stored = await this.#options.directory.list()
    const volatile = (await this.loaded()).map(({ instance }) => instance).filter((one) => one.volatile)
    const closedIds = new Set(stored.filter((one) => one.closed).map(({ id }) => id))
    const isClosedWithParent = ({ isSubAgent, parentAgentId = '' }: AgentInstance): boolean =>
      isSubAgent && closedIds.has(parentAgentId)
    return [...stored, ...volatile]
      .map((one) => (isClosedWithParent(one) ? { ...one, closed: true } : one))
      .filter((one) => (subAgents || !one.isSubAgent) && (closed || !one.closed))
  }

  /** The agents that are loaded or being loaded. */
  async loaded(): Promise<readonly LiveAgent[]> {
    const all = await Promise.allSettled(this.#live.values())
    return all.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))
  }

  /** Closes an agent. Calls at the same time share one promise. */
  close(agentId: string): Promise<void> {
    const known = this.#closings.get(agentId)
    if (known) return known
    const work = this.#closeNow(agentId).finally(() => this.#closings.delete(agentId))
    this.#closings.set(agentId, work)
    return work
  }

  async #closeNow(agentId: string): Promise<void> {
    const { schedules } = this.#options
    const agent = await this.#openLatest(agentId)
    if (agent.instance.closed) return
    agent.log.endReason = closedMessage(agentId) // it accepts no messages from here on
    try {
      await cancelAgent(agent)
      await agent.engine.release()
      await appendOverRuns(agent, () => instanceEntry(noteOf({ ...agent.instance, closed: true })))
    } catch (error) {
      agent.log.endReason = undefined
      throw error
    }
    await removeSchedulesOf(schedules, agentId)
  }

  async delete(agentId: string): Promise<void> {
    const { instance } = await this.open(agentId)
    await this.close(agentId)
    this.#forget(agentId)
    await this.#storeOf(instance).delete(agentId)
  }

  /** From now on no agent is opened. */
  refuseNew(): void {
    this.#isClosed = true
  }

  /** Stops all agents without cancelling them: the next process continues their work. */
  async shutDownAll(): Promise<void> {
    const ending = [...this.#live.values()].map(async (loading) =>
      (await loading.catch(() => undefined))?.shutDown(workflowClosed),
    )
    for (const ended of await Promise.allSettled(ending))
      if (ended.status === 'rejected')
        this.#options.dependencies.onError(new Error('an agent could not be shut down', { cause: ended.reason }))
  }
}

const workflowClosed = 'this workflow is closed; create another one'

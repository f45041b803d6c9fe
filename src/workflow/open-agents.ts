import type { Session, SessionDetails, SessionStore } from '../core/store.ts'
import type { MessageProjection } from '../plugins/message-projection.ts'
import type { ScheduleBook } from '../plugins/schedule.ts'
import type { TokenBreakdown } from '../plugins/tokens/token-breakdown.ts'
import { createMemoryStore } from '../sessions/memory-store.ts'
import { createSession, loadSession } from '../sessions/session.ts'
import { appendOverRuns, cancelAgent } from './agent/cancel-agent.ts'
import { checkAgent } from './agent/engine.ts'
import { LiveAgent, type LiveAgentOptions } from './agent/live-agent.ts'
import {
  agentLease,
  closedMessage,
  instanceEntry,
  noteOf,
  subAgentMessage,
  unknownAgentMessage,
} from './agent-instance.ts'
import { type AgentChange, changedInstance } from './agent-settings.ts'
import { type AgentInstance, resultDurationOf } from './definitions/definition.ts'
import { Directory, readSubAgent } from './directory.ts'
import { removeSchedulesOf } from './schedules/schedule-book.ts'
import type { AgentPage, AgentQuery } from './workflow-contract.ts'

interface OpenAgentsOptions extends Pick<LiveAgentOptions, 'dependencies' | 'handlers' | 'updates' | 'files'> {
  readonly directory: Directory
  readonly schedules: ScheduleBook
  /** How many agents stay loaded that nothing uses. */
  readonly maxIdle: number
}

type AgentMessages = Pick<MessageProjection, 'messages' | 'status'>

interface LoadedAgent {
  readonly loading: Promise<LiveAgent>
  agent?: LiveAgent
  /** Calls under way that use it. */
  uses: number
}

/** The agents that this process uses. Each is loaded once, on first use; of those that are idle only the last used stay. */
export class OpenAgents {
  readonly #options: OpenAgentsOptions
  /** The least recently used first. */
  readonly #loaded = new Map<string, LoadedAgent>()
  readonly #closings = new Map<string, Promise<void>>()
  /** Engines that end. */
  readonly #releases = new Set<Promise<void>>()
  /** Holds the volatile agents. */
  readonly #memory = createMemoryStore()
  readonly #volatile = new Directory(this.#memory)
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
  async add(instance: AgentInstance, details: Pick<SessionDetails, 'tenant'> = {}): Promise<void> {
    const { dependencies, updates } = this.#options
    const { clock, newId } = dependencies
    const { id } = instance
    const store = this.#storeOf(instance)
    const session = await createSession({ store, id, clock, newId, ...agentLease, ...details })
    const agent = this.#liveAgent(instance, session)
    await agent.writer.append(instanceEntry(noteOf(instance)))
    this.#loaded.set(id, { loading: Promise.resolve(agent), agent, uses: 0 })
    updates.emit({ type: 'agent', agentId: id, agent: instance })
    this.#dropIdle()
  }

  /** Works with an agent, which stays loaded meanwhile. Rejects for one that does not exist, and for a sub-agent. */
  async use<Result>(
    agentId: string,
    work: (agent: LiveAgent) => Promise<Result> | Result,
    { tells }: Pick<LiveAgentOptions, 'tells'> = {},
  ): Promise<Result> {
    this.checkOpen()
    const loaded = this.#loaded.get(agentId) ?? { loading: this.#load(agentId, tells), uses: 0 }
    this.#loaded.delete(agentId)
    this.#loaded.set(agentId, loaded) // as the last used one
    loaded.uses++
    try {
      loaded.agent = await loaded.loading
      return await work(loaded.agent)
    } finally {
      loaded.uses--
      if (!loaded.agent && this.#loaded.get(agentId) === loaded) this.#loaded.delete(agentId) // it could not be loaded
      this.#dropIdle()
    }
  }

  /** As `use`, with the latest log; rejects for a closed agent. */
  useForWork<Result>(agentId: string, work: (agent: LiveAgent) => Promise<Result> | Result): Promise<Result> {
    return this.use(agentId, async (agent) => {
      await this.#readLatest(agent)
      if (agent.instance.closed) throw new Error(closedMessage(agentId))
      return work(agent)
    })
  }

  /** Rejects if another process has deleted the agent. */
  async #readLatest(agent: LiveAgent): Promise<void> {
    await agent.refresh()
    if (!agent.log.isDeleted) return
    this.#loaded.delete(agent.id)
    throw new Error(unknownAgentMessage(agent.id))
  }

  /** Unloads those idle agents that were not used for the longest time. What they are is in the store. */
  #dropIdle(): void {
    const { maxIdle } = this.#options
    if (this.#isClosed || this.#loaded.size <= maxIdle) return
    const idle = [...this.#loaded].flatMap(([id, { agent, uses }]) =>
      uses === 0 && agent?.isIdle ? [{ id, agent }] : [],
    )
    for (const { id, agent } of idle.slice(0, Math.max(0, idle.length - maxIdle))) {
      this.#loaded.delete(id)
      this.#release(agent)
    }
  }

  #release({ id, engine }: LiveAgent): void {
    const { onError } = this.#options.dependencies
    const release = engine
      .release()
      .catch((cause) => onError(new Error(`the engine of agent ${id} could not be released`, { cause })))
      .finally(() => this.#releases.delete(release))
    this.#releases.add(release)
  }

  async #load(agentId: string, tells: LiveAgentOptions['tells']): Promise<LiveAgent> {
    const { directory, dependencies } = this.#options
    const { store, clock, newId } = dependencies
    const instance = await directory.get(agentId)
    if (!instance) throw new Error(unknownAgentMessage(agentId))
    if (instance.isSubAgent) throw new Error(subAgentMessage(agentId, instance.parentAgentId))
    const session = await loadSession(store, agentId, { clock, newId, ...agentLease })
    const agent = this.#liveAgent(instance, session, tells)
    await agent.refresh()
    return agent
  }

  #liveAgent(instance: AgentInstance, session: Session, tells?: LiveAgentOptions['tells']): LiveAgent {
    const { dependencies, updates, handlers, files } = this.#options
    const store = this.#storeOf(instance)
    return new LiveAgent({ instance, session, store, dependencies, updates, handlers, files, tells })
  }

  #storeOf({ volatile }: AgentInstance): SessionStore {
    return volatile ? this.#memory : this.#options.dependencies.store
  }

  /** The messages and the status of an agent or a sub-agent. */
  async read(agentId: string): Promise<AgentMessages> {
    const { directory, dependencies } = this.#options
    const instance = this.#loaded.has(agentId) ? undefined : await directory.get(agentId)
    if (instance?.isSubAgent)
      return (await readSubAgent(directory, agentId, resultDurationOf(dependencies, instance))).messages
    return this.use(agentId, async (agent) => {
      await agent.refresh()
      return { messages: agent.log.views.messages.messages, status: agent.status }
    })
  }

  /** Of the last request in this process; unknown for sub-agents. */
  async tokens(agentId: string): Promise<TokenBreakdown | undefined> {
    if ((await this.find(agentId))?.isSubAgent) return undefined
    return this.use(agentId, ({ runs }) => runs.tokens)
  }

  /** Any agent: loaded or not, a sub-agent, or a closed one. */
  async find(agentId: string): Promise<AgentInstance | undefined> {
    const { directory } = this.#options
    const agent = await this.#loaded.get(agentId)?.loading.catch(() => undefined)
    await agent?.refresh()
    if (agent?.log.isDeleted) this.#loaded.delete(agentId)
    const found = agent && !agent.log.isDeleted ? agent.instance : await directory.get(agentId)
    const { isSubAgent, parentAgentId } = found ?? {}
    if (!found || !isSubAgent || parentAgentId === undefined) return found
    return { ...found, closed: (await directory.find(parentAgentId))?.closed ?? found.closed }
  }

  /** One page of agents. The volatile ones are on the first page, beside those of the store. */
  async list(query: AgentQuery = {}): Promise<AgentPage> {
    const page = await this.#options.directory.list(query)
    if (query.cursor !== undefined) return page
    const { agents } = await this.#volatile.list(query)
    return { ...page, agents: [...agents.map((agent) => ({ ...agent, volatile: true })), ...page.agents] }
  }

  isLoaded(agentId: string): boolean {
    return this.#loaded.has(agentId)
  }

  /** The agents that are loaded or being loaded. */
  async loaded(): Promise<readonly LiveAgent[]> {
    const all = await Promise.allSettled([...this.#loaded.values()].map(({ loading }) => loading))
    return all.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))
  }

  /** Changes the name and settings of an agent. */
  update(agentId: string, change: AgentChange): Promise<AgentInstance> {
    return this.useForWork(agentId, async (agent) => {
      const { dependencies } = this.#options
      await agent.writer.exclusively(async () => {
        if (agent.running) throw new Error(`agent "${agentId}" is at work; stop it, or change it when it is done`)
        const definition = dependencies.definition(agent.instance.definitionId)
        const instance = changedInstance(definition, agent.instance, change)
        await checkAgent(dependencies, instance)
        const title = change.name ? [{ type: 'details', title: change.name } as const] : []
        const note = instanceEntry(noteOf(instance))
        await agent.writer.withLease(() => agent.session.log.append(note, ...title))
      })
      return agent.instance
    })
  }

  /** Closes an agent. Calls at the same time share one promise. */
  close(agentId: string): Promise<void> {
    const known = this.#closings.get(agentId)
    if (known) return known
    const work = this.#closeNow(agentId).finally(() => this.#closings.delete(agentId))
    this.#closings.set(agentId, work)
    return work
  }

  #closeNow(agentId: string): Promise<void> {
    return this.use(agentId, async (agent) => {
      await this.#readLatest(agent)
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
      await removeSchedulesOf(this.#options.schedules, agentId)
    })
  }

  delete(agentId: string): Promise<void> {
    return this.use(agentId, async ({ instance }) => {
      await this.close(agentId)
      const store = this.#storeOf(instance)
      await this.#forgetOutside(agentId).catch((cause) => {
        const what = `what belongs to agent ${agentId} outside of the store could not be deleted`
        this.#options.dependencies.onError(new Error(what, { cause }))
      })
      this.#loaded.delete(agentId)
      await store.delete(agentId)
    })
  }

  /** Removes what belongs to an agent outside of the store: snapshots of files, and grants for its session. */
  async #forgetOutside(agentId: string): Promise<void> {
    const { files, dependencies } = this.#options
    const { home } = dependencies.authority
    await files?.forget([agentId])
    if (home === undefined) return
    const { forgetSessionGrants } = await import('../authority/grants/forget-sessions.ts')
    await forgetSessionGrants(home, [agentId])
    const { forgetUsedAnswers } = await import('../authority/grants/used-answers.ts')
    await forgetUsedAnswers(home, [agentId])
  }

  /** From now on no agent is opened. */
  refuseNew(): void {
    this.#isClosed = true
  }

  /** Stops all agents without cancelling them: the next process continues their work. */
  async shutDownAll(): Promise<void> {
    const ending = [...this.#loaded.values()].map(async ({ loading }) =>
      (await loading.catch(() => undefined))?.shutDown(workflowClosed),
    )
    await Promise.all(this.#releases)
    for (const ended of await Promise.allSettled(ending))
      if (ended.status === 'rejected')
        this.#options.dependencies.onError(new Error('an agent could not be shut down', { cause: ended.reason }))
  }
}

const workflowClosed = 'this workflow is closed; create another one'

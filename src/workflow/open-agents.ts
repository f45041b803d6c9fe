import type { Session, SessionStore } from '../core/store.ts'
import type { MessageProjection } from '../plugins/message-projection.ts'
import type { ScheduleBook } from '../plugins/schedule.ts'
import type { TokenBreakdown } from '../plugins/tokens/token-breakdown.ts'
import { createMemoryStore } from '../sessions/memory-store.ts'
import { createSession, loadSession } from '../sessions/session.ts'
import { LiveAgent } from './agent/live-agent.ts'
import type { LiveOptions } from './agent/live-parts.ts'
import type { AgentInstance } from './definitions/definition.ts'
import type { Directory } from './directory.ts'
import { resultDurationOf } from './engine/config-of.ts'
import { closedWords, instanceEntry, noteOf, unknownWords } from './instance-note.ts'
import { removeSchedulesOf } from './schedules/schedule-book.ts'
import { readSubAgent } from './sub-agent-state.ts'

export interface OpenAgentsOptions extends Pick<LiveOptions, 'makings' | 'handlers' | 'updates' | 'files'> {
  readonly directory: Directory
  readonly schedules: ScheduleBook
}

type ReadAgent = Pick<MessageProjection, 'messages' | 'status'>

/** The agents that this process has to do with: each loaded once, when it is first asked for, and kept. */
export class OpenAgents {
  readonly #options: OpenAgentsOptions
  readonly #live = new Map<string, Promise<LiveAgent>>()
  readonly #closings = new Map<string, Promise<void>>()
  /** Where those are that end with the process. */
  readonly #volatiles = createMemoryStore()
  #isShut = false

  constructor(options: OpenAgentsOptions) {
    this.#options = options
  }

  /** The workflow is closed: nobody is let in any more. */
  get isShut(): boolean {
    return this.#isShut
  }

  refuseWhenShut(): void {
    if (this.#isShut) throw new Error(shutWords)
  }

  /** Writes a new one down. */
  async add(instance: AgentInstance): Promise<void> {
    const { makings, updates } = this.#options
    const { clock, newId } = makings
    const { id } = instance
    const session = await createSession({ store: this.#storeOf(instance), id, clock, newId, owner: 'workflow' })
    const agent = this.#liveAgent(instance, session)
    await agent.note(instanceEntry(noteOf(instance)))
    this.#live.set(id, Promise.resolve(agent))
    updates.emit({ type: 'agent', agentId: id, agent: instance })
  }

  /** The agent in this process; throws where there is none, or where it cannot be spoken to. */
  open(agentId: string): Promise<LiveAgent> {
    this.refuseWhenShut()
    const known = this.#live.get(agentId)
    if (known) return known
    const loading = this.#load(agentId)
    this.#live.set(agentId, loading)
    loading.catch(() => this.#live.get(agentId) === loading && this.#live.delete(agentId))
    return loading
  }

  /** What an agent said and how it stands; of a sub-agent too, which can only be read. */
  async read(agentId: string): Promise<ReadAgent> {
    const ofSubAgent = await this.#readSubAgent(agentId)
    if (ofSubAgent) return ofSubAgent
    const agent = await this.open(agentId)
    await agent.refresh()
    return { messages: agent.views.messages.messages, status: agent.status }
  }

  async #readSubAgent(agentId: string): Promise<ReadAgent | undefined> {
    const { directory, makings } = this.#options
    const instance = this.#live.has(agentId) ? undefined : await directory.get(agentId)
    if (!instance?.isSubAgent) return undefined
    return (await readSubAgent(directory, agentId, resultDurationOf(makings, instance))).messages
  }

  /** Of the last request in this process; a sub-agent's are not kept. */
  async tokens(agentId: string): Promise<TokenBreakdown | undefined> {
    const agent = (await this.find(agentId))?.isSubAgent ? undefined : await this.open(agentId)
    return agent?.tokens.latest
  }

  async #load(agentId: string): Promise<LiveAgent> {
    const { directory, makings } = this.#options
    const { store, clock, newId } = makings
    const instance = await directory.get(agentId)
    if (!instance) throw new Error(unknownWords(agentId))
    if (instance.isSubAgent)
      throw new Error(`"${agentId}" is a sub-agent of "${instance.parentAgentId}"; speak to that one`)
    const session = await loadSession(store, agentId, { clock, newId, owner: 'workflow' })
    const agent = this.#liveAgent(instance, session)
    await agent.refresh()
    return agent
  }

  #liveAgent(instance: AgentInstance, session: Session): LiveAgent {
    const { makings, updates, handlers, files } = this.#options
    return new LiveAgent({ instance, session, store: this.#storeOf(instance), makings, updates, handlers, files })
  }

  #storeOf({ volatile }: AgentInstance): SessionStore {
    return volatile ? this.#volatiles : this.#options.makings.store
  }

  /** The same for who wants it to do something: one that is closed does nothing. */
  async openForWork(agentId: string): Promise<LiveAgent> {
    const agent = await this.#openAsItIs(agentId)
    if (agent.instance.closed) throw new Error(closedWords(agentId))
    return agent
  }

  /** With what other processes made of it meanwhile; throws where one has deleted it. */
  async #openAsItIs(agentId: string): Promise<LiveAgent> {
    const agent = await this.open(agentId)
    await agent.refresh()
    if (!agent.isGone) return agent
    this.#forget(agentId)
    throw new Error(unknownWords(agentId))
  }

  #forget(agentId: string): void {
    this.#live.delete(agentId)
    this.#options.directory.forget(agentId)
  }

  /** What is known of an agent, loaded or not, sub-agents and closed ones too. */
  async find(agentId: string): Promise<AgentInstance | undefined> {
    const agent = await this.#live.get(agentId)?.catch(() => undefined)
    await agent?.refresh()
    if (agent?.isGone) this.#forget(agentId)
    const found = agent && !agent.isGone ? agent.instance : await this.#options.directory.get(agentId)
    const { isSubAgent, parentAgentId } = found ?? {}
    if (!found || !isSubAgent || parentAgentId === undefined) return found
    return { ...found, closed: (await this.#options.directory.get(parentAgentId))?.closed ?? found.closed }
  }

  async list({ subAgents = false, closed = false } = {}): Promise<readonly AgentInstance[]> {
    const kept = await this.#options.directory.list()
    const passing = (await this.loaded()).map(({ instance }) => instance).filter((one) => one.volatile)
    const closedIds = new Set(kept.filter((one) => one.closed).map(({ id }) => id))
    const endsWith = ({ isSubAgent, parentAgentId = '' }: AgentInstance): boolean =>
      isSubAgent && closedIds.has(parentAgentId)
    return [...kept, ...passing]
      .map((one) => (endsWith(one) ? { ...one, closed: true } : one))
      .filter((one) => (subAgents || !one.isSubAgent) && (closed || !one.closed))
  }

  /** Those that are loaded or about to be. */
  async loaded(): Promise<readonly LiveAgent[]> {
    const all = await Promise.allSettled(this.#live.values())
    return all.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))
  }

  /** Once, however many ask for it at the same time. */
  close(agentId: string): Promise<void> {
    const known = this.#closings.get(agentId)
    if (known) return known
    const work = this.#closeNow(agentId).finally(() => this.#closings.delete(agentId))
    this.#closings.set(agentId, work)
    return work
  }

  async #closeNow(agentId: string): Promise<void> {
    const { schedules } = this.#options
    const agent = await this.#openAsItIs(agentId)
    if (agent.instance.closed) return
    agent.over = closedWords(agentId) // from here on nobody is listened to: what was said before is written down
    try {
      await agent.cancel()
      await agent.rest()
      await agent.noteOverRuns(() => instanceEntry(noteOf({ ...agent.instance, closed: true })))
    } catch (error) {
      agent.over = undefined
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

  /** Lets nobody in any more. */
  shut(): void {
    this.#isShut = true
  }

  /** Stops all of them without a word: they go on where they stand with the next process. */
  async leaveAll(): Promise<void> {
    const leaving = [...this.#live.values()].map(async (loading) =>
      (await loading.catch(() => undefined))?.leave(shutWords),
    )
    for (const left of await Promise.allSettled(leaving))
      if (left.status === 'rejected')
        this.#options.makings.onError(new Error('an agent could not be left in good order', { cause: left.reason }))
  }
}

const shutWords = 'this workflow is closed; create another one'

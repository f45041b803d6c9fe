import type { Clock } from '../core/clock.ts'
import { SessionNotFoundError } from '../core/errors.ts'
import type { SessionStore, SessionSummary } from '../core/store.ts'
import { sleep } from '../core/waiting.ts'
import { SessionChanges } from '../sessions/session-changes.ts'
import type { LiveAgent, LiveAgentOptions } from './agent/live-agent.ts'
import { agentPrefix } from './agent-instance.ts'
import type { Directory } from './directory.ts'
import type { Updates } from './listeners.ts'
import type { OpenAgents } from './open-agents.ts'

interface ChangesElsewhereOptions {
  readonly store: SessionStore
  readonly clock: Clock
  readonly agents: OpenAgents
  readonly directory: Directory
  readonly updates: Updates
  readonly onError: (error: Error) => void
}

/** When a store that failed, or an agent that is not there yet, is looked at again. */
const retryMs = 2000

/** Clocks of machines may differ by so much. To report a message twice is harmless, to miss one is not. */
const toleranceMs = 60_000

/**
 * Reads what other processes write about agents that have listeners here: an agent with listeners of its own by watching its
 * session, all agents by the store's list of recent changes, however many there are.
 */
export class ChangesElsewhere {
  readonly #options: ChangesElsewhereOptions
  readonly #changes: SessionChanges
  readonly #watched = new Map<string, { listeners: number; readonly stop: AbortController }>()
  readonly #closing = new AbortController()
  #all: { listeners: number; readonly unfollow: Promise<() => void> } | undefined
  #reading: Promise<void> = Promise.resolve()
  /** Agents at work here, which are read when their run is over. */
  readonly #readAfterRun = new Set<string>()

  constructor(options: ChangesElsewhereOptions) {
    this.#options = options
    this.#changes = new SessionChanges(options.store, options.clock)
  }

  /** Reads the changes of an agent, or of all, until the function that it returns is called. */
  watch(agentId: string | undefined): () => void {
    if (this.#options.store.isOneProcess || this.#closing.signal.aborted) return () => {}
    const stop = agentId === undefined ? this.#watchAll() : this.#watchOne(agentId)
    let isStopped = false
    return () => {
      if (!isStopped) stop()
      isStopped = true
    }
  }

  close(): void {
    this.#closing.abort()
    for (const { stop } of this.#watched.values()) stop.abort()
    this.#stopAll()
  }

  #watchOne(agentId: string): () => void {
    const known = this.#watched.get(agentId)
    const watched = known ?? { listeners: 0, stop: new AbortController() }
    watched.listeners++
    if (!known) {
      this.#watched.set(agentId, watched)
      void this.#follow(agentId, watched.stop.signal)
    }
    return () => {
      if (--watched.listeners > 0) return
      watched.stop.abort()
      this.#watched.delete(agentId)
    }
  }

  async #follow(agentId: string, signal: AbortSignal): Promise<void> {
    const { agents, directory, clock, onError } = this.#options
    for (let isNew = false; !signal.aborted; ) {
      try {
        const found = await directory.find(agentId)
        if (found?.isSubAgent) return // its parent reads its log
        if (isNew && found && !agents.isLoaded(agentId)) await this.#tellOfNew(agentId)
        if (found) await agents.use(agentId, (agent) => this.#read(agent, signal), { tells: () => isNew })
        isNew = !found
      } catch (cause) {
        if (signal.aborted || agents.isClosed) return
        if (!(cause instanceof SessionNotFoundError))
          onError(new Error(`agent ${agentId} could not be followed; this is tried again`, { cause }))
      }
      await sleep(retryMs, { clock, signals: [signal] }).catch(() => {})
    }
  }

  async #tellOfNew(agentId: string): Promise<void> {
    const { directory, updates } = this.#options
    const agent = await directory.get(agentId)
    if (agent) updates.emit({ type: 'agent', agentId, agent })
  }

  /** The agent stays loaded meanwhile, so that it knows what listeners have received. */
  async #read(agent: LiveAgent, signal: AbortSignal): Promise<void> {
    if (agent.instance.volatile) return
    for await (const { entries } of agent.store.watch(agent.id, { after: agent.log.views.head, signal })) {
      if (signal.aborted) return
      if ((entries.at(-1)?.seq ?? 0) > agent.log.views.head) await readNew(agent)
    }
  }

  #watchAll(): () => void {
    this.#all ??= { listeners: 0, unfollow: this.#followAll() }
    const all = this.#all
    all.listeners++
    return () => {
      if (--all.listeners === 0 && this.#all === all) this.#stopAll()
    }
  }

  async #followAll(): Promise<() => void> {
    const { clock, onError } = this.#options
    const since = clock.now() - toleranceMs
    do
      try {
        return await this.#changes.follow((...change) => this.#plan(since, ...change))
      } catch (cause) {
        onError(new Error('the store could not be asked what other processes wrote; this is tried again', { cause }))
        await sleep(retryMs, { clock, signals: [this.#closing.signal] }).catch(() => {})
      }
    while (this.#all && !this.#closing.signal.aborted)
    return () => {}
  }

  #stopAll(): void {
    void this.#all?.unfollow.then((unfollow) => unfollow())
    this.#all = undefined
  }

  /** One agent after the other, in the order of their changes. */
  #plan(since: number, summary: SessionSummary, before: number | undefined): void {
    const { id, parent, kind } = summary
    if (!id.startsWith(agentPrefix) || parent !== undefined || (kind !== 'agent' && kind !== 'closed agent')) return
    if (this.#watched.has(id) || before === summary.head) return
    this.#readNext(() => this.#readChanged(summary, since, before))
  }

  #readNext(read: () => Promise<void>): void {
    this.#reading = this.#reading.then(read).catch(() => {})
  }

  async #readChanged(summary: SessionSummary, since: number, before: number | undefined): Promise<void> {
    const { id, createdAt } = summary
    const { agents, directory, onError } = this.#options
    if (!this.#all || agents.isClosed) return
    try {
      if (!agents.isLoaded(id) && before === undefined && createdAt >= since) await this.#tellOfNew(id)
      const tells: LiveAgentOptions['tells'] = ({ seq, at }) => (before === undefined ? at >= since : seq > before)
      const running = await agents.use(id, readUnlessRunning, { tells })
      if (!running || this.#readAfterRun.has(id)) return
      this.#readAfterRun.add(id)
      void running.over.then(() => {
        this.#readAfterRun.delete(id)
        this.#readNext(() => this.#readChanged(summary, since, before))
      })
    } catch (cause) {
      if (agents.isClosed || !(await directory.find(id).catch(() => undefined))) return // it was deleted meanwhile
      onError(new Error(`what changed about agent ${id} could not be read`, { cause }))
    }
  }
}

/** A run here has its own entries; what others wrote before or after it is read when it is over. */
async function readNew(agent: LiveAgent): Promise<void> {
  for (let run = await readUnlessRunning(agent); run; run = await readUnlessRunning(agent)) await run.over
}

/** Returns the end of the run that is under way here; other agents need not wait for it. */
async function readUnlessRunning(agent: LiveAgent): Promise<{ readonly over: Promise<unknown> } | undefined> {
  if (agent.running) return { over: agent.running.catch(() => {}) }
  await agent.refresh()
  return undefined
}

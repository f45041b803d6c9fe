import type { Clock } from '../core/clock.ts'
import type { AgentInstanceLatestStatus } from '../plugins/message.ts'
import type { LiveAgent } from './agent/live-agent.ts'
import type { Directory } from './directory.ts'
import type { OpenAgents } from './open-agents.ts'
import { whyNeverWoken } from './schedules/agent-schedules.ts'
import { isOtherWake, type Wake } from './schedules/schedule-owner.ts'

interface BackgroundWorkOptions {
  readonly agents: OpenAgents
  readonly directory: Directory
  readonly clock: Clock
  readonly onError: (error: Error) => void
  /** Set if other processes do the work: wakes one of them. */
  readonly leave?: ((agentId: string) => Promise<unknown>) | undefined
}

/** How often agents are looked for that need attention: their process may have died, or a message came from another one. */
const lookEveryMs = 5000

/** When a message is checked again that was left to another process: that may be ending, or be dead. */
const recheckAfterMs = [250, 500, 1000, 2000, 4000, 8000, 16_000]

/** Work that no caller waits for: agents that a schedule wakes, and those that an ended process left. */
export class BackgroundWork {
  readonly #options: BackgroundWorkOptions
  readonly #recheckTimers = new Map<string, () => void>()
  /** The agents that needed attention at the last look, and what was known of them then. */
  #seen: ReadonlyMap<string, string> = new Map()
  #stopLooking: (() => void) | undefined

  constructor(options: BackgroundWorkOptions) {
    this.#options = options
  }

  readonly wake: Wake = async (call) => {
    const { agentId, scheduleId, clientKey, message, isRepeating } = call
    const { agents, onError, leave } = this.#options
    const known = await agents.find(agentId)
    const why = whyNeverWoken(agentId, known)
    if (why !== undefined) {
      // The schedules of a closed agent are removed without a report.
      if (!known?.closed) onError(new Error(`schedule "${scheduleId}" wakes no agent, and is removed: ${why}`))
      return 'closed'
    }
    return agents.useForWork(agentId, async (agent) => {
      if (isRepeating && (await agent.hasUndelivered((key) => isOtherWake(key, call)))) return 'skipped'
      await agent.session.send({ clientKey, mode: 'prompt', content: [{ type: 'text', text: message }] })
      if (leave) await leave(agentId)
      else void this.#resume(agentId)
      return undefined
    })
  }

  /** Continues the work that ended processes left, now and whenever it is found later. */
  async start(): Promise<void> {
    await this.resumeAll()
    this.#lookLater()
  }

  #lookLater(): void {
    const { agents, clock } = this.#options
    if (agents.isClosed) return
    this.#stopLooking?.()
    this.#stopLooking = clock.timer(lookEveryMs, () => void this.#lookAgain())
  }

  async #lookAgain(): Promise<void> {
    const { agents, onError } = this.#options
    try {
      await this.resumeAll()
    } catch (cause) {
      const next = `this is tried again in ${lookEveryMs / 1000} s`
      if (!agents.isClosed)
        onError(new Error(`agents with unfinished work could not be looked for; ${next}`, { cause }))
    }
    this.#lookLater()
  }

  /** Continues the work that ended processes left. Looks only at agents that need attention, and at each change once. */
  async resumeAll(): Promise<void> {
    const { agents, directory } = this.#options
    const seen = new Map<string, string>()
    for await (const { id, head, attention } of directory.each({ attention: true })) {
      if (agents.isClosed) return
      const known = `${head} ${attention}`
      seen.set(id, known)
      if (this.#seen.get(id) !== known) await this.#resumeIfFree(id)
    }
    this.#seen = seen
  }

  /** Works on an agent until nothing is left. Resolves with `submitted` if another process works on it. */
  work(agentId: string): Promise<AgentInstanceLatestStatus> {
    const { agents, clock } = this.#options
    return agents.use(agentId, async (agent) => {
      await agent.refresh()
      if (agent.log.endReason !== undefined) return agent.status
      if (!(await agent.importInbox())) return { state: 'submitted', modified: clock.now() }
      return mayWork(agent) ? agent.resume() : agent.status
    })
  }

  async #resumeIfFree(agentId: string): Promise<void> {
    const { agents, onError } = this.#options
    try {
      const hasWork = await agents.use(
        agentId,
        async (agent) => agent.log.endReason === undefined && (await agent.importInbox()) && mayWork(agent),
      )
      if (hasWork) void this.#resume(agentId)
    } catch (error) {
      if (agents.isClosed) return
      onError(new Error(`agent ${agentId} could not be looked at; the others go on`, { cause: error }))
    }
  }

  async #resume(agentId: string): Promise<void> {
    try {
      await this.#options.agents.use(agentId, async (agent) => this.checkLater(agent, await agent.resume()))
    } catch (error) {
      this.#options.onError(new Error(`agent ${agentId} could not go on`, { cause: error }))
    }
  }

  /** Checks later on a message that was left to another process: that may have been about to end. */
  checkLater(agent: LiveAgent, { state }: AgentInstanceLatestStatus, tries = 0): void {
    const { agents, clock } = this.#options
    const ms = recheckAfterMs[tries]
    if (state !== 'submitted' || ms === undefined || agents.isClosed || agent.log.endReason !== undefined) return
    this.#recheckTimers.get(agent.id)?.()
    this.#recheckTimers.set(
      agent.id,
      clock.timer(ms, () => void this.#recheck(agent.id, tries + 1)),
    )
  }

  async #recheck(agentId: string, tries: number): Promise<void> {
    const { agents, onError } = this.#options
    this.#recheckTimers.delete(agentId)
    if (agents.isClosed) return
    try {
      await agents.use(agentId, async (agent) => {
        if (agent.running || !(await agent.hasMore())) return
        if (!(await agent.importInbox())) this.checkLater(agent, { state: 'submitted', modified: 0 }, tries)
        else if (mayWork(agent)) void this.#resume(agentId)
      })
    } catch (error) {
      if (agents.isClosed) return
      onError(new Error(`agent ${agentId} could not be looked at again`, { cause: error }))
    }
  }

  /** Cancels all timers. */
  stop(): void {
    this.#stopLooking?.()
    for (const cancelTimer of this.#recheckTimers.values()) cancelTimer()
  }
}

/** After its inbox was moved into the log, which may have closed it. */
const mayWork = (agent: LiveAgent): boolean => agent.log.endReason === undefined && agent.hasWork

import type { Clock } from '../core/clock.ts'
import type { AgentInstanceLatestStatus } from '../plugins/message.ts'
import type { LiveAgent } from './agent/live-agent.ts'
import type { OpenAgents } from './open-agents.ts'
import { whyNeverWoken } from './schedules/agent-schedules.ts'
import { isOtherWake, type Wake } from './schedules/schedule-owner.ts'

interface BackgroundWorkOptions {
  readonly agents: OpenAgents
  readonly clock: Clock
  readonly onError: (error: Error) => void
}

/** How often an agent is checked that was busy in another process at the start. */
const checkBusyMs = 10_000

/** When a message is checked again that was left to another process: that may be ending, or be dead. */
const recheckAfterMs = [250, 500, 1000, 2000, 4000, 8000, 16_000]

/** Work that no caller waits for: agents that a schedule wakes, and those that an ended process left. */
export class BackgroundWork {
  readonly #options: BackgroundWorkOptions
  readonly #busyTimers = new Map<string, () => void>()
  readonly #recheckTimers = new Map<string, () => void>()

  constructor(options: BackgroundWorkOptions) {
    this.#options = options
  }

  readonly wake: Wake = async (call) => {
    const { agentId, scheduleId, clientKey, message, isRepeating } = call
    const { agents, onError } = this.#options
    const known = await agents.find(agentId)
    const why = whyNeverWoken(agentId, known)
    if (why !== undefined) {
      // The schedules of a closed agent are removed without a report.
      if (!known?.closed) onError(new Error(`schedule "${scheduleId}" wakes no agent, and is removed: ${why}`))
      return 'closed'
    }
    const agent = await agents.openForWork(agentId)
    if (isRepeating && (await agent.hasUndelivered((key) => isOtherWake(key, call)))) return 'skipped'
    await agent.session.send({ clientKey, mode: 'prompt', content: [{ type: 'text', text: message }] })
    void this.#resume(agent)
    return undefined
  }

  /** Continues the work that ended processes left. */
  async resumeAll(): Promise<void> {
    const { agents } = this.#options
    for (const { id } of await agents.list()) if (!agents.isClosed) await this.#resumeIfFree(id)
  }

  /** If another process is running the agent, it is checked again later: that process may end. */
  async #resumeIfFree(agentId: string): Promise<void> {
    const { agents, onError } = this.#options
    this.#cancelBusyTimer(agentId)
    try {
      const agent = await agents.open(agentId)
      if (agent.log.endReason !== undefined) return
      if (!(await agent.importInbox())) this.#checkBusyLater(agentId)
      else if (agent.log.endReason === undefined && agent.hasWork) void this.#resume(agent)
    } catch (error) {
      if (agents.isClosed) return
      onError(new Error(`agent ${agentId} could not be looked at; the others go on`, { cause: error }))
    }
  }

  #checkBusyLater(agentId: string): void {
    const { agents, clock } = this.#options
    if (agents.isClosed) return
    this.#cancelBusyTimer(agentId)
    this.#busyTimers.set(
      agentId,
      clock.timer(checkBusyMs, () => void this.#resumeIfFree(agentId)),
    )
  }

  #cancelBusyTimer(agentId: string): void {
    this.#busyTimers.get(agentId)?.()
    this.#busyTimers.delete(agentId)
  }

  async #resume(agent: LiveAgent): Promise<void> {
    try {
      this.checkLater(agent, await agent.resume())
    } catch (error) {
      this.#options.onError(new Error(`agent ${agent.id} could not go on`, { cause: error }))
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
      clock.timer(ms, () => void this.#recheck(agent, tries + 1)),
    )
  }

  async #recheck(agent: LiveAgent, tries: number): Promise<void> {
    const { agents, onError } = this.#options
    this.#recheckTimers.delete(agent.id)
    try {
      if (agents.isClosed || agent.running || !(await agent.hasMore())) return
      if (!(await agent.importInbox())) this.checkLater(agent, { state: 'submitted', modified: 0 }, tries)
      else if (agent.log.endReason === undefined && agent.hasWork) await this.#resume(agent)
    } catch (error) {
      if (agents.isClosed) return
      onError(new Error(`agent ${agent.id} could not be looked at again`, { cause: error }))
    }
  }

  /** Cancels all timers. */
  stop(): void {
    for (const cancelTimer of [...this.#busyTimers.values(), ...this.#recheckTimers.values()]) cancelTimer()
  }
}

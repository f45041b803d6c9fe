import type { Clock } from '../core/clock.ts'
import type { AgentInstanceLatestStatus } from '../plugins/message.ts'
import type { LiveAgent } from './agent/live-agent.ts'
import { settle } from './agent/settle.ts'
import type { OpenAgents } from './open-agents.ts'
import { whyNeverWoken } from './schedules/agent-schedules.ts'
import type { Wake } from './schedules/owner-shift.ts'
import { isOtherWake } from './schedules/wake-key.ts'

export interface BackgroundWorkOptions {
  readonly agents: OpenAgents
  readonly clock: Clock
  readonly onError: (error: Error) => void
}

/** How often an agent is looked at that another process was busy with at the start. */
const lookAgainMs = 10_000

/** When somebody looks again whose words wait for another process: that may be ending, or dead and soon known to be so. */
const lookAgainAfterMs = [250, 500, 1000, 2000, 4000, 8000, 16_000]

/** Agents that work without anybody waiting for them: those a schedule wakes, and those a process left that is gone. */
export class BackgroundWork {
  readonly #options: BackgroundWorkOptions
  readonly #later = new Map<string, () => void>()
  readonly #again = new Map<string, () => void>()

  constructor(options: BackgroundWorkOptions) {
    this.#options = options
  }

  readonly wake: Wake = async (call) => {
    const { agentId, scheduleId, clientKey, message, isRepeating } = call
    const { agents, onError } = this.#options
    const known = await agents.find(agentId)
    const why = whyNeverWoken(agentId, known)
    if (why !== undefined) {
      // Those of a closed agent go with it.
      if (!known?.closed) onError(new Error(`schedule "${scheduleId}" wakes nobody, and is removed: ${why}`))
      return 'closed'
    }
    const agent = await agents.openForWork(agentId)
    if (isRepeating && (await agent.hasUnheard((key) => isOtherWake(key, call)))) return 'skipped'
    await agent.session.send({ clientKey, mode: 'prompt', content: [{ type: 'text', text: message }] })
    void this.#goOn(agent)
    return undefined
  }

  /** Goes on with what a process left that is gone. */
  async pickUpAll(): Promise<void> {
    const { agents } = this.#options
    for (const { id } of await agents.list()) if (!agents.isShut) await this.#pickUp(id)
  }

  /** Where another process is at work we look again: it may be about to go, too. */
  async #pickUp(agentId: string): Promise<void> {
    const { agents, onError } = this.#options
    this.#callOff(agentId)
    try {
      const agent = await agents.open(agentId)
      if (agent.over !== undefined) return
      if (!(await agent.lookAround())) this.#lookLater(agentId)
      else if (agent.over === undefined && agent.hasWork) void this.#goOn(agent)
    } catch (error) {
      if (agents.isShut) return
      onError(new Error(`agent ${agentId} could not be looked at; the others go on`, { cause: error }))
    }
  }

  #lookLater(agentId: string): void {
    const { agents, clock } = this.#options
    if (agents.isShut) return
    this.#callOff(agentId)
    this.#later.set(
      agentId,
      clock.timer(lookAgainMs, () => void this.#pickUp(agentId)),
    )
  }

  #callOff(agentId: string): void {
    this.#later.get(agentId)?.()
    this.#later.delete(agentId)
  }

  async #goOn(agent: LiveAgent): Promise<void> {
    try {
      this.lookAgain(agent, await settle(agent, await agent.advance()))
    } catch (error) {
      this.#options.onError(new Error(`agent ${agent.id} could not go on`, { cause: error }))
    }
  }

  /** What was left to another process is not left for good: that may have been about to end. */
  lookAgain(agent: LiveAgent, { state }: AgentInstanceLatestStatus, tries = 0): void {
    const { agents, clock } = this.#options
    const ms = lookAgainAfterMs[tries]
    if (state !== 'submitted' || ms === undefined || agents.isShut || agent.over !== undefined) return
    this.#again.get(agent.id)?.()
    this.#again.set(
      agent.id,
      clock.timer(ms, () => void this.#goOnIfLeft(agent, tries + 1)),
    )
  }

  async #goOnIfLeft(agent: LiveAgent, tries: number): Promise<void> {
    const { agents, onError } = this.#options
    this.#again.delete(agent.id)
    try {
      if (agents.isShut || agent.isRunning || !(await agent.hasMore())) return
      if (!(await agent.lookAround())) this.lookAgain(agent, { state: 'submitted', modified: 0 }, tries)
      else if (agent.over === undefined && agent.hasWork) await this.#goOn(agent)
    } catch (error) {
      if (agents.isShut) return
      onError(new Error(`agent ${agent.id} could not be looked at again`, { cause: error }))
    }
  }

  /** Looks at nobody again. */
  stop(): void {
    for (const callOff of [...this.#later.values(), ...this.#again.values()]) callOff()
  }
}

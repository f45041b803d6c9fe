import type { Clock } from '../core/clock.ts'
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

/** Agents that work without anybody waiting for them: those a schedule wakes, and those a process left that is gone. */
export class BackgroundWork {
  readonly #options: BackgroundWorkOptions
  readonly #later = new Map<string, () => void>()

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
      await settle(agent, await agent.advance())
    } catch (error) {
      this.#options.onError(new Error(`agent ${agent.id} could not go on`, { cause: error }))
    }
  }

  /** Looks at nobody again. */
  stop(): void {
    for (const callOff of this.#later.values()) callOff()
  }
}

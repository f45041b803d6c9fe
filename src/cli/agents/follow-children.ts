import type { LogEntry } from '../../core/log.ts'
import type { SessionStore } from '../../core/store.ts'
import { toolCallsOf } from '../../core/turn.ts'
import type { AgentInstanceMessage } from '../../plugins/message.ts'
import { spawnAgentPlugin } from '../../plugins/tools/spawn-agent.ts'
import { withSpill } from '../../sessions/spill.ts'

/** A sub-agent at work; `depth` is 1 for one of the agent itself. */
export interface WorkingChild {
  readonly id: string
  readonly depth: number
}

export interface FollowChildrenOptions {
  readonly store: SessionStore
  readonly agentId: string
  readonly signal: AbortSignal
  /** What it wrote into its log. */
  onEntry(child: WorkingChild, entry: LogEntry): void
}

/** Follows the sub-agents that an agent's messages start, and theirs, by their logs: whichever process lets them work. */
export function followChildren(options: FollowChildrenOptions): (message: AgentInstanceMessage) => void {
  const { agentId, signal, onEntry } = options
  const store = withSpill(options.store)
  const followed = new Map<string, AbortController>()

  function begin(callId: string, parent: WorkingChild): void {
    const child = { id: `${parent.id}/${callId}`, depth: parent.depth + 1 }
    if (followed.has(child.id)) return
    const stop = new AbortController()
    followed.set(child.id, stop)
    // It is only for show: where it cannot be followed the work goes on all the same.
    void follow(child, AbortSignal.any([signal, stop.signal])).catch(() => {})
  }

  async function follow(child: WorkingChild, until: AbortSignal): Promise<void> {
    for await (const { entries } of store.watch(child.id, { signal: until }))
      for (const entry of entries) {
        if (until.aborted) return
        onEntry(child, entry)
        if (entry.type === 'turn')
          for (const { id, name } of toolCallsOf(entry.turn)) if (name === spawning) begin(id, child)
        if (entry.type === 'call_result') followed.get(`${child.id}/${entry.callId}`)?.abort()
      }
  }

  return ({ metadata }) => {
    for (const { callId, toolId, outcome } of metadata?.calls ?? []) {
      if (toolId !== spawning) continue
      if (outcome === undefined) begin(callId, { id: agentId, depth: 0 })
      else followed.get(`${agentId}/${callId}`)?.abort()
    }
  }
}

const spawning = spawnAgentPlugin.toolId

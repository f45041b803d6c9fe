import { isRecord } from '../../core/is-record.ts'
import { digestOf } from '../../platform/digest.ts'
import type { NewSchedule, ScheduleBook, ScheduleState } from '../../plugins/schedule.ts'
import { closedMessage, unknownAgentMessage } from '../agent-instance.ts'
import type { AgentDefinition, AgentInstance, Heartbeat } from '../definitions/definition.ts'

/** The schedules of a workflow: refuses a schedule that would never wake an agent. */
export function agentSchedules(
  book: ScheduleBook,
  find: (agentId: string) => Promise<AgentInstance | undefined>,
): ScheduleBook {
  return {
    ...book,
    async add(schedule, options) {
      // Other errors are reported by the book.
      if (isRecord(schedule) && typeof schedule.agentId === 'string') {
        const why = whyNeverWoken(schedule.agentId, await find(schedule.agentId))
        if (why !== undefined) throw new Error(`This cannot be scheduled: ${why}`)
      }
      return book.add(schedule, options)
    },
  }
}

/** Whether schedules wake an agent: not if it ends with a run or a process. */
export const mayBeWoken = (agent: AgentInstance): boolean => whyNeverWoken(agent.id, agent) === undefined

/** Why schedules do not wake an agent; undefined if they do. */
export function whyNeverWoken(agentId: string, agent: AgentInstance | undefined): string | undefined {
  if (!agent) return unknownAgentMessage(agentId)
  if (agent.closed) return closedMessage(agentId)
  if (agent.volatile) return `agent "${agentId}" is volatile, and such agents are never woken`
  if (agent.isSubAgent)
    return `agent "${agentId}" is a sub-agent, which ends with its task; name "${agent.parentAgentId}"`
  return undefined
}

interface HeartbeatsOptions {
  readonly schedules: ScheduleBook
  readonly definitions: ReadonlyMap<string, AgentDefinition>
  readonly onError: (error: Error) => void
}

/** Adds the heartbeat of its definition to a new agent. */
export async function addHeartbeat(schedules: ScheduleBook, agent: AgentInstance, heartbeat?: Heartbeat) {
  if (isEnabled(heartbeat) && mayBeWoken(agent)) await schedules.add(scheduleOf(agent.id, heartbeat))
}

/**
 * Updates the heartbeats of agents whose definitions have changed. A heartbeat is replaced only if its definition differs
 * from the one it was made from, so that manual changes stay until then. Agents with an unknown definition belong to
 * another program, and are left as they are.
 */
export async function syncHeartbeats(agents: readonly AgentInstance[], options: HeartbeatsOptions): Promise<void> {
  const { schedules, definitions, onError } = options
  const existing = new Map((await schedules.list()).map((one) => [one.id, one]))
  for (const agent of agents) {
    const definition = definitions.get(agent.definitionId)
    if (!definition || !mayBeWoken(agent)) continue
    try {
      await syncHeartbeat(schedules, agent.id, definition.heartbeat, existing.get(heartbeatIdOf(agent.id)))
    } catch (cause) {
      const what = `the heartbeat of agent ${agent.id} could not be made as definition "${definition.id}" has it`
      onError(new Error(`${what}; the others go on`, { cause }))
    }
  }
}

async function syncHeartbeat(
  schedules: ScheduleBook,
  agentId: string,
  heartbeat: Heartbeat | undefined,
  found: ScheduleState | undefined,
): Promise<void> {
  if (isEnabled(heartbeat)) {
    const wanted = scheduleOf(agentId, heartbeat)
    if (found?.madeFrom !== wanted.madeFrom) await schedules.add(wanted)
  } else if (found?.madeFrom !== undefined) await schedules.remove(found.id)
}

function isEnabled(heartbeat: Heartbeat | undefined): heartbeat is Heartbeat {
  return heartbeat !== undefined && heartbeat.enabled !== false
}

const heartbeatIdOf = (agentId: string): string => `heartbeat:${agentId}`

function scheduleOf(agentId: string, { intervalSeconds, message, activeHours }: Heartbeat): NewSchedule {
  const { from, to, timeZone } = activeHours ?? {}
  return {
    id: heartbeatIdOf(agentId),
    ...{ agentId, message, kind: 'heartbeat' },
    when: { type: 'interval', everySeconds: intervalSeconds },
    ...(activeHours && { activeHours }),
    madeFrom: digestOf(JSON.stringify([intervalSeconds, message, from, to, timeZone])),
  }
}

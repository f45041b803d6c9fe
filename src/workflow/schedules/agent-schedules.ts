import { isRecord } from '../../core/is-record.ts'
import { digestOf } from '../../platform/digest.ts'
import type { NewSchedule, ScheduleBook } from '../../plugins/schedule.ts'
import { closedMessage, unknownAgentMessage } from '../agent-instance.ts'
import type { AgentDefinition, AgentInstance, Heartbeat } from '../definitions/definition.ts'
import type { Directory } from '../directory.ts'

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
export const mayBeWoken = (agent: WokenAgent): boolean => whyNeverWoken(agent.id, agent) === undefined

type WokenAgent = Pick<AgentInstance, 'id' | 'closed' | 'volatile' | 'isSubAgent' | 'parentAgentId'>

/** Why schedules do not wake an agent; undefined if they do. */
export function whyNeverWoken(agentId: string, agent: WokenAgent | undefined): string | undefined {
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
  readonly directory: Pick<Directory, 'each' | 'find'>
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
export async function syncHeartbeats({ schedules, definitions, directory, onError }: HeartbeatsOptions): Promise<void> {
  const existing = new Map((await schedules.list()).map((one) => [one.id, one]))
  const withHeartbeat = new Set<string>()
  const attempt = async (agentId: string, definitionId: string, work: () => Promise<unknown>): Promise<void> => {
    try {
      await work()
    } catch (cause) {
      const what = `the heartbeat of agent ${agentId} could not be made as definition "${definitionId}" has it`
      onError(new Error(`${what}; the others go on`, { cause }))
    }
  }
  for (const { id: definitionId, heartbeat } of definitions.values()) {
    if (!isEnabled(heartbeat)) continue
    for await (const { id } of directory.each({ definitionId })) {
      const wanted = scheduleOf(id, heartbeat)
      withHeartbeat.add(wanted.id!)
      if (existing.get(wanted.id!)?.madeFrom !== wanted.madeFrom)
        await attempt(id, definitionId, () => schedules.add(wanted))
    }
  }
  for (const { id, agentId, madeFrom } of existing.values()) {
    if (madeFrom === undefined || withHeartbeat.has(id) || id !== heartbeatIdOf(agentId)) continue
    const agent = await directory.find(agentId)
    const definition = agent && mayBeWoken(agent) ? definitions.get(agent.definitionId) : undefined
    if (definition && !isEnabled(definition.heartbeat))
      await attempt(agentId, definition.id, () => schedules.remove(id))
  }
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

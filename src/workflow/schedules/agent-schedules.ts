import { isRecord } from '../../core/is-record.ts'
import { digestOf } from '../../platform/digest.ts'
import type { NewSchedule, ScheduleBook, ScheduleState } from '../../plugins/schedule.ts'
import { closedMessage, unknownAgentMessage } from '../agent-instance.ts'
import type { AgentDefinition, AgentInstance, Heartbeat } from '../definitions/definition.ts'

/** The same book for the people of a workflow: what would never wake anybody is refused. */
export function agentSchedules(
  book: ScheduleBook,
  find: (agentId: string) => Promise<AgentInstance | undefined>,
): ScheduleBook {
  return {
    ...book,
    async add(schedule, options) {
      // What is no schedule at all is the book's to name.
      if (isRecord(schedule) && typeof schedule.agentId === 'string') {
        const why = whyNeverWoken(schedule.agentId, await find(schedule.agentId))
        if (why !== undefined) throw new Error(`This cannot be scheduled: ${why}`)
      }
      return book.add(schedule, options)
    },
  }
}

/** Whether a schedule wakes it: nothing does that ends with a run or a process. */
export const mayBeWoken = (agent: AgentInstance): boolean => whyNeverWoken(agent.id, agent) === undefined

/** Why no schedule wakes an agent; nothing where one does. */
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

/** Gives a new agent the heartbeat of its definition. */
export async function addHeartbeat(schedules: ScheduleBook, agent: AgentInstance, heartbeat?: Heartbeat) {
  if (isBeating(heartbeat) && mayBeWoken(agent)) await schedules.add(scheduleOf(agent.id, heartbeat))
}

/**
 * Lets agents follow their definitions, which may have changed since they were made. What counts is whether a
 * definition says something else than it did when the schedule was made, so that what a person changed there by hand
 * stays until then. Agents whose definition is not here belong to another program, and are left as they are.
 */
export async function syncHeartbeats(agents: readonly AgentInstance[], options: HeartbeatsOptions): Promise<void> {
  const { schedules, definitions, onError } = options
  const there = new Map((await schedules.list()).map((one) => [one.id, one]))
  for (const agent of agents) {
    const definition = definitions.get(agent.definitionId)
    if (!definition || !mayBeWoken(agent)) continue
    try {
      await follow(schedules, agent.id, definition.heartbeat, there.get(heartbeatIdOf(agent.id)))
    } catch (cause) {
      const what = `the heartbeat of agent ${agent.id} could not be made as definition "${definition.id}" has it`
      onError(new Error(`${what}; the others go on`, { cause }))
    }
  }
}

async function follow(
  schedules: ScheduleBook,
  agentId: string,
  heartbeat: Heartbeat | undefined,
  found: ScheduleState | undefined,
): Promise<void> {
  if (isBeating(heartbeat)) {
    const wanted = scheduleOf(agentId, heartbeat)
    if (found?.madeFrom !== wanted.madeFrom) await schedules.add(wanted)
  } else if (found?.madeFrom !== undefined) await schedules.remove(found.id)
}

function isBeating(heartbeat: Heartbeat | undefined): heartbeat is Heartbeat {
  return heartbeat !== undefined && heartbeat.enabled !== false
}

/** An agent has one. */
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

import { isRecord } from '../../core/is-record.ts'
import type { ScheduleBook } from '../../plugins/schedule.ts'
import type { AgentInstance } from '../definitions/definition.ts'
import { closedWords, unknownWords } from '../instance-note.ts'

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
  if (!agent) return unknownWords(agentId)
  if (agent.closed) return closedWords(agentId)
  if (agent.volatile) return `agent "${agentId}" is volatile, and such agents are never woken`
  if (agent.isSubAgent)
    return `agent "${agentId}" is a sub-agent, which ends with its task; name "${agent.parentAgentId}"`
  return undefined
}

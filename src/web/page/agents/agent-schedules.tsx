import { ScheduleList } from '../schedules/schedule-list.tsx'

/** When this agent is woken. */
export function AgentSchedules({ id }: { readonly id: string }) {
  return <ScheduleList agent={id} />
}

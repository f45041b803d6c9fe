import { ScheduleList } from '../schedules/schedule-list.tsx'

/** When agents are woken, and with which messages; heartbeats too. */
export function SchedulesScreen() {
  return (
    <section class="sheet">
      <ScheduleList />
    </section>
  )
}

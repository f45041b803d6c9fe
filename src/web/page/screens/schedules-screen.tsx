import { ScheduleList } from '../schedules/schedule-list.tsx'

/** When agents are woken, and with which messages; heartbeats too. */
export function SchedulesScreen() {
  return (
    <section class="sheet">
      <h1>Schedules</h1>
      <ScheduleList />
    </section>
  )
}

/** Comes with the next commits. */
export function SchedulesScreen() {
  return <h1>Schedules</h1>
}

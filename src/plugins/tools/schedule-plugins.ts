import type { PluginDefinition } from '../plugin.ts'
import { alarmClockPlugin } from './alarm-clock.ts'
import { listSchedulesPlugin } from './list-schedules.ts'
import { removeSchedulePlugin } from './remove-schedule.ts'
import { scheduleTaskPlugin } from './schedule-task.ts'
import { updateSchedulePlugin } from './update-schedule.ts'

/** Plugins with which an agent has itself woken. */
export const schedulePlugins: readonly PluginDefinition[] = [
  alarmClockPlugin,
  scheduleTaskPlugin,
  listSchedulesPlugin,
  updateSchedulePlugin,
  removeSchedulePlugin,
]

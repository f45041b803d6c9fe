import { digestOf } from '../../platform/digest.ts'
import { definePlugin, type PluginDefinition } from '../plugin.ts'
import type { NewSchedule } from '../schedule.ts'
import { restOf, type ScheduleFields, scheduleProperties, timeOf } from './schedule-fields.ts'
import { describeSchedule, type ScheduleDesk, scheduleTool } from './schedule-tool.ts'

const description = `Has you woken with a message later: at a time, again and again, or by a cron expression.
Give one of everySeconds, at and cron. The schedule outlives this conversation's runs; remove it when it is no longer needed.`

/** So many are enough for an agent that knows what it does. */
const mostSchedules = 100

/** Lets an agent make schedules for itself. */
export const scheduleTaskPlugin: PluginDefinition = definePlugin({
  toolId: 'schedule-task',
  displayName: 'Schedule a task',
  description: 'Lets the agent have itself woken at times it chose.',
  tools: ({ services }) => [
    scheduleTool<ScheduleFields & { readonly message: string }>(services, {
      name: 'schedule-task',
      description,
      properties: scheduleProperties({ clearable: false }),
      required: ['message'],
      replay: 'keyed',
      run: addTask,
    }),
  ],
})

async function addTask(input: ScheduleFields & { readonly message: string }, desk: ScheduleDesk) {
  const { agentId, book, key } = desk
  const when = timeOf(input)
  if (!when) throw new Error('It is not said when; give one of "everySeconds", "at" and "cron"')
  const id = `task-${digestOf(key).slice(0, 12)}`
  const own = await book.list(agentId)
  if (own.length >= mostSchedules && !own.some((one) => one.id === id))
    throw new Error(`This agent has ${own.length} schedules already; remove some with remove-schedule first`)
  const added = await book.add({ ...(restOf(input) as NewSchedule), id, agentId, when }, { key })
  return {
    output: `Scheduled. ${describeSchedule(added)}`,
    details: { scheduleId: added.id, nextRunAt: added.nextRunAt },
  }
}

import { definePlugin, type PluginDefinition } from '../plugin.ts'
import { restOf, type ScheduleFields, scheduleProperties, timeOf } from './schedule-fields.ts'
import { describeSchedule, ownSchedule, type ScheduleDesk, scheduleTool } from './schedule-tool.ts'

type UpdateInput = ScheduleFields & { readonly id: string }

/** Lets an agent change its schedules. */
export const updateSchedulePlugin: PluginDefinition = definePlugin({
  toolId: 'update-schedule',
  displayName: 'Change a schedule',
  description: 'Lets the agent change its own schedules.',
  tools: ({ services }) => [
    scheduleTool<UpdateInput>(services, {
      name: 'update-schedule',
      description: `Changes one of your schedules: what you name becomes so, the rest stays. null takes a name, active hours or maxRuns away.
To change when it runs give one of everySeconds, at and cron.`,
      properties: {
        id: { type: 'string', description: 'As list-schedules names it.' },
        ...scheduleProperties({ clearable: true }),
      },
      required: ['id'],
      replay: 'keyed',
      run: changeTask,
    }),
  ],
})

async function changeTask(input: UpdateInput, desk: ScheduleDesk) {
  const { id, ...rest } = restOf(input)
  await ownSchedule(desk, id)
  const when = timeOf(input)
  const changed = await desk.book.update(id, { ...rest, ...(when && { when }) }, { key: desk.key })
  return { output: `Changed. ${describeSchedule(changed)}`, details: { scheduleId: id, nextRunAt: changed.nextRunAt } }
}

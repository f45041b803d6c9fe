import { definePlugin, type PluginDefinition } from '../plugin.ts'
import { ownSchedule, scheduleTool } from './schedule-tool.ts'

/** Lets an agent remove its schedules. */
export const removeSchedulePlugin: PluginDefinition = definePlugin({
  toolId: 'remove-schedule',
  displayName: 'Remove a schedule',
  description: 'Lets the agent remove its own schedules, and its alarm.',
  tools: ({ services }) => [
    scheduleTool<{ readonly id: string }>(services, {
      name: 'remove-schedule',
      description: 'Removes one of your schedules, or your alarm. It does not run again.',
      properties: { id: { type: 'string', description: 'As list-schedules names it.' } },
      required: ['id'],
      replay: 'keyed',
      async run({ id }, desk) {
        const { book, key, isAgain } = desk
        // A call that runs again after a crash finds gone what it removed before.
        const isGone = isAgain && !(await book.list()).some((one) => one.id === id)
        if (!isGone) {
          await ownSchedule(desk, id)
          await book.remove(id, { key })
        }
        return { output: `Removed ${id}.`, details: { scheduleId: id } }
      },
    }),
  ],
})

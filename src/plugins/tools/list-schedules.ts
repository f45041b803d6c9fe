import { definePlugin, type PluginDefinition } from '../plugin.ts'
import { describeSchedule, isoOf, scheduleTool } from './schedule-tool.ts'

/** Shows an agent its schedules. */
export const listSchedulesPlugin: PluginDefinition = definePlugin({
  toolId: 'list-schedules',
  displayName: 'List schedules',
  description: 'Shows the agent its own schedules.',
  tools: ({ services }) => [
    scheduleTool<object>(services, {
      name: 'list-schedules',
      description: 'Lists your schedules and your alarm: their ids, when they run next, and how often they ran.',
      properties: {},
      replay: 'pure',
      async run(_, { agentId, book }) {
        const own = await book.list(agentId)
        const now = `It is now ${isoOf(services.clock.now())}.`
        if (own.length === 0) return { output: `${now} You have no schedules.`, details: { schedules: own } }
        return { output: [now, ...own.map(describeSchedule)].join('\n'), details: { schedules: own } }
      },
    }),
  ],
})

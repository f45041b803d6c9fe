import type { ToolDef } from '../../core/tool.ts'
import { definePlugin, type PluginDefinition, type PluginServices } from '../plugin.ts'
import { alarmIdOf } from '../schedule.ts'
import { withMarks } from '../tool-marks.ts'
import { isoOf, scheduleTool } from './schedule-tool.ts'

const description = `Sets your alarm clock and ends your work for now. When it rings you are woken with the reminder and go on.
There is one alarm: setting it again replaces it. It outlives restarts. Call it alone, as the last thing you do.`

interface AlarmInput {
  readonly wakeAtISO: string
  readonly reminderMessage?: string
  readonly repeatIntervalMinutes?: number
}

const mostReminder = 10_000

/** Lets an agent stop working, and be woken later. */
export const alarmClockPlugin: PluginDefinition = definePlugin({
  toolId: 'alarm-clock',
  displayName: 'Alarm clock',
  description: 'Lets the agent stop working, and wakes it at a time it chose.',
  defaultApproval: { 'alarm-clock': { mode: 'auto' } },
  tools: ({ services }) => [withMarks(alarmTool(services), { leavesTo: 'end' })],
})

function alarmTool(services: PluginServices): ToolDef<AlarmInput> {
  return scheduleTool<AlarmInput>(services, {
    name: 'alarm-clock',
    description,
    properties: {
      wakeAtISO: { type: 'string', description: 'An ISO time with Z or an offset, such as 2026-03-01T09:00:00+01:00.' },
      reminderMessage: { type: 'string', description: 'What you will be told then.' },
      repeatIntervalMinutes: {
        type: 'number',
        description: 'Rings again and again after so many minutes. At least 1.',
      },
    },
    required: ['wakeAtISO'],
    replay: 'keyed',
    async run({ wakeAtISO, reminderMessage = '', repeatIntervalMinutes }, { agentId, book, key }) {
      if (reminderMessage.length > mostReminder)
        throw new Error(`reminderMessage has ${reminderMessage.length} characters; at most ${mostReminder} are allowed`)
      if (
        repeatIntervalMinutes !== undefined &&
        !(Number.isInteger(repeatIntervalMinutes) && repeatIntervalMinutes >= 1)
      )
        throw new Error(`repeatIntervalMinutes must be a whole number of at least 1, got ${repeatIntervalMinutes}`)
      const repeat = repeatIntervalMinutes !== undefined && { repeatEveryMinutes: repeatIntervalMinutes }
      const alarm = {
        id: alarmIdOf(agentId),
        agentId,
        kind: 'alarm' as const,
        message: `[Alarm Clock] ${reminderMessage.trim() || 'It is time.'}`,
        when: { type: 'at' as const, at: wakeAtISO, ...repeat },
        ...(!repeat && { deleteAfterRun: true }),
      }
      const { nextRunAt } = await book.add(alarm, { key })
      const at = nextRunAt === undefined ? wakeAtISO : isoOf(nextRunAt)
      const again = repeat ? `, and then every ${repeatIntervalMinutes} minutes` : ''
      return { output: `The alarm is set for ${at}${again}.`, details: { scheduleId: alarm.id, nextRunAt } }
    },
  })
}

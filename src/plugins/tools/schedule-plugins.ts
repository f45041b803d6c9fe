import type { ToolDef } from '../../core/tool.ts'
import { digestOf } from '../../platform/digest.ts'
import { definePlugin, type PluginDefinition, type PluginServices } from '../plugin.ts'
import { alarmIdOf, type NewSchedule } from '../schedule.ts'
import { withMarks } from '../tool-marks.ts'
import {
  describeSchedule,
  isoOf,
  ownSchedule,
  restOf,
  type ScheduleFields,
  type ScheduleToolContext,
  scheduleProperties,
  scheduleTool,
  timeOf,
} from './schedule-tool.ts'

const description = `Sets your alarm clock and ends your work for now. When it rings you are woken with the reminder and go on.
There is one alarm: setting it again replaces it. It outlives restarts. Call it alone, as the last thing you do.`

interface AlarmInput {
  readonly wakeAtISO: string
  readonly reminderMessage?: string
  readonly repeatIntervalMinutes?: number
}

const mostReminder = 10_000

/** Lets an agent end its work, and be woken later. */
const alarmClockPlugin: PluginDefinition = definePlugin({
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

/** Shows an agent its schedules. */
const listSchedulesPlugin: PluginDefinition = definePlugin({
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

/** Lets an agent remove its schedules. */
const removeSchedulePlugin: PluginDefinition = definePlugin({
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
      async run({ id }, context) {
        const { book, key, isAgain } = context
        // A call that runs again after a crash does not find what it removed before.
        const isGone = isAgain && !(await book.list()).some((one) => one.id === id)
        if (!isGone) {
          await ownSchedule(context, id)
          await book.remove(id, { key })
        }
        return { output: `Removed ${id}.`, details: { scheduleId: id } }
      },
    }),
  ],
})

type UpdateInput = ScheduleFields & { readonly id: string }

/** Lets an agent change its schedules. */
const updateSchedulePlugin: PluginDefinition = definePlugin({
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

async function changeTask(input: UpdateInput, context: ScheduleToolContext) {
  const { id, ...rest } = restOf(input)
  await ownSchedule(context, id)
  const when = timeOf(input)
  const changed = await context.book.update(id, { ...rest, ...(when && { when }) }, { key: context.key })
  return { output: `Changed. ${describeSchedule(changed)}`, details: { scheduleId: id, nextRunAt: changed.nextRunAt } }
}

const taskDescription = `Has you woken with a message later: at a time, again and again, or by a cron expression.
Give one of everySeconds, at and cron. The schedule outlives this conversation's runs; remove it when it is no longer needed.`

/** The most schedules of one agent. */
const mostSchedules = 100

/** Lets an agent make schedules for itself. */
const scheduleTaskPlugin: PluginDefinition = definePlugin({
  toolId: 'schedule-task',
  displayName: 'Schedule a task',
  description: 'Lets the agent have itself woken at times it chose.',
  tools: ({ services }) => [
    scheduleTool<ScheduleFields & { readonly message: string }>(services, {
      name: 'schedule-task',
      description: taskDescription,
      properties: scheduleProperties({ clearable: false }),
      required: ['message'],
      replay: 'keyed',
      run: addTask,
    }),
  ],
})

async function addTask(input: ScheduleFields & { readonly message: string }, context: ScheduleToolContext) {
  const { agentId, book, key } = context
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

/** Plugins with which an agent schedules its own work. */
export const schedulePlugins: readonly PluginDefinition[] = [
  alarmClockPlugin,
  scheduleTaskPlugin,
  listSchedulesPlugin,
  updateSchedulePlugin,
  removeSchedulePlugin,
]

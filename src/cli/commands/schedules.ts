import { defineCommand, type Values } from '../command.ts'
import { workFlags } from './run.ts'

/** The flags that say when a schedule wakes its agent. */
export const whenFlags = {
  every: { type: 'string', value: 'time', says: 'Repeat at this interval: 90s, 15m, 2h or 1d; at least a minute' },
  at: {
    type: 'string',
    value: 'time',
    says: 'At this time, as 2026-12-01T09:00+01:00; with --every, repeat from then on',
  },
  cron: { type: 'string', value: 'fields', says: 'By a cron expression, such as "0 9 * * 1-5" for weekdays at nine' },
  zone: {
    type: 'string',
    value: 'name',
    says: 'The time zone of --cron and --hours, such as Europe/Berlin (default: this machine’s)',
  },
  hours: {
    type: 'string',
    value: 'from-to',
    says: 'Only between these times of day: 09:00-17:00, or 22:00-06:00 across midnight',
  },
  max: { type: 'string', value: 'n', min: 1, says: 'Wake the agent at most this many times' },
  once: { type: 'boolean', says: 'Delete the schedule after its first run' },
  name: { type: 'string', value: 'text', says: 'The name of the schedule' },
} as const

/** The same for an existing schedule, with flags that remove a limit. */
export const changeFlags = {
  ...whenFlags,
  'any-time': { type: 'boolean', says: 'Remove --hours' },
  'no-max': { type: 'boolean', says: 'Remove --max' },
} as const

export type ChangeValues = Values<typeof changeFlags>
export type WhenValues = Values<typeof whenFlags>

const list = defineCommand({
  name: 'list',
  summary: 'List schedules, the next one first',
  flags: { json: { type: 'boolean', says: 'Print JSON' } },
  examples: [{ line: 'libero schedules', says: 'Includes the alarms and heartbeats of agents' }],
  run: async (given, io) => (await import('../schedules/list.ts')).list(given, io),
})

const add = defineCommand({
  name: 'add',
  summary: 'Schedule a message to an agent, and print the schedule’s id',
  words: '<agent> <message>',
  flags: whenFlags,
  examples: [
    { line: 'libero schedules add bafitu --every 15m --hours 09:00-17:00 "anything new?"', says: 'In working hours' },
    { line: 'libero schedules add bafitu --at 2026-12-01T09:00+01:00 "wish Ada a happy birthday"', says: 'Once' },
    {
      line: `libero schedules add bafitu --cron '0 9 * * 1-5' --zone Europe/Berlin "plan the day"`,
      says: 'On weekdays at nine, Berlin time',
    },
  ],
  run: async (given, io) => (await import('../schedules/change.ts')).add(given, io),
})

const update = defineCommand({
  name: 'update',
  summary: 'Change the time or the message of a schedule',
  words: '<id> [message]',
  flags: changeFlags,
  examples: [{ line: 'libero schedules update kemola --every 1h', says: 'Its message stays as it is' }],
  run: async (given, io) => (await import('../schedules/change.ts')).update(given, io),
})

const pause = defineCommand({
  name: 'pause',
  summary: 'Pause a schedule',
  words: '<id>',
  maxWords: 1,
  examples: [{ line: 'libero schedules pause kemola', says: 'Until libero schedules resume kemola' }],
  run: async (given, io) => (await import('../schedules/change.ts')).pause(given, io),
})

const resume = defineCommand({
  name: 'resume',
  summary: 'Resume a paused schedule',
  words: '<id>',
  maxWords: 1,
  examples: [{ line: 'libero schedules resume kemola', says: 'Runs missed meanwhile are skipped' }],
  run: async (given, io) => (await import('../schedules/change.ts')).resume(given, io),
})

const remove = defineCommand({
  name: 'remove',
  summary: 'Remove schedules',
  words: '<id>…',
  examples: [{ line: 'libero schedules remove kemola', says: 'Its agent is kept' }],
  run: async (given, io) => (await import('../schedules/change.ts')).remove(given, io),
})

const run = defineCommand({
  name: 'run',
  summary: 'Wake agents on schedule and print what they do, until Ctrl-C',
  details: [
    'Also resumes agents that were interrupted. Several of these processes may run: one wakes agents, and another takes over when it ends. This command asks no questions: an agent that needs an approval or an answer waits for libero agents answer.',
  ],
  flags: workFlags,
  examples: [{ line: 'libero schedules run --mode allowlist', says: 'Agents do only what the settings allow' }],
  run: async (given, io) => (await import('../schedules/run.ts')).run(given, io),
})

export const command = defineCommand({
  name: 'schedules',
  summary: 'Manage and run schedules',
  details: [
    'A schedule sends a message to an agent at a time, at an interval, or by cron. Name it by its id, by a unique beginning of the id, or by its name. Schedules work only while libero schedules run is running.',
  ],
  examples: [
    { line: 'libero schedules', says: 'All schedules' },
    { line: 'libero schedules add bafitu --every 1h "look at the news"', says: 'Creates one' },
    { line: 'libero schedules run', says: 'Wakes agents until Ctrl-C' },
  ],
  commands: [list, add, update, pause, resume, remove, run],
  defaultCommand: 'list',
})

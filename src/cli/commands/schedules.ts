import { defineCommand, type Values } from '../command.ts'
import { workFlags } from './run.ts'

/** When an agent is woken, on the command line. */
export const whenFlags = {
  every: { type: 'string', value: 'time', says: 'Again and again: 90s, 15m, 2h or 1d; at least a minute' },
  at: {
    type: 'string',
    value: 'time',
    says: 'At a time, as 2026-12-01T09:00+01:00; with --every again and again from then on',
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
    says: 'Only between these times of the day: 09:00-17:00, or 22:00-06:00 over midnight',
  },
  max: { type: 'string', value: 'n', min: 1, says: 'At most so many times' },
  once: { type: 'boolean', says: 'Gone after its first time' },
  name: { type: 'string', value: 'text', says: 'What it is called' },
} as const

/** The same for a schedule that is there already, of which something may be taken away. */
export const changeFlags = {
  ...whenFlags,
  'any-time': { type: 'boolean', says: 'At all times of the day again' },
  'no-max': { type: 'boolean', says: 'Any number of times again' },
} as const

export type ChangeValues = Values<typeof changeFlags>
export type WhenValues = Values<typeof whenFlags>

const list = defineCommand({
  name: 'list',
  summary: 'List when agents are woken, the next one on top',
  flags: { json: { type: 'boolean', says: 'Print JSON' } },
  examples: [{ line: 'libero schedules', says: 'Alarms and heartbeats of agents are among them' }],
  run: async (given, io) => (await import('../schedules/list.ts')).list(given, io),
})

const add = defineCommand({
  name: 'add',
  summary: 'Have an agent woken with a message, and print the schedule’s id',
  words: '<agent> <message>',
  flags: whenFlags,
  examples: [
    { line: 'libero schedules add bafitu --every 15m --hours 09:00-17:00 "anything new?"', says: 'In working hours' },
    { line: 'libero schedules add bafitu --at 2026-12-01T09:00+01:00 "wish Ada a happy birthday"', says: 'One time' },
    {
      line: `libero schedules add bafitu --cron '0 9 * * 1-5' --zone Europe/Berlin "plan the day"`,
      says: 'On weekdays at nine, wherever this machine is',
    },
  ],
  run: async (given, io) => (await import('../schedules/change.ts')).add(given, io),
})

const update = defineCommand({
  name: 'update',
  summary: 'Change when a schedule wakes its agent, or with which message',
  words: '<id> [message]',
  flags: changeFlags,
  examples: [{ line: 'libero schedules update kemola --every 1h', says: 'Its message stays as it is' }],
  run: async (given, io) => (await import('../schedules/change.ts')).update(given, io),
})

const pause = defineCommand({
  name: 'pause',
  summary: 'Let a schedule rest',
  words: '<id>',
  maxWords: 1,
  examples: [{ line: 'libero schedules pause kemola', says: 'Until libero schedules resume kemola' }],
  run: async (given, io) => (await import('../schedules/change.ts')).pause(given, io),
})

const resume = defineCommand({
  name: 'resume',
  summary: 'Let a schedule that rests go on',
  words: '<id>',
  maxWords: 1,
  examples: [{ line: 'libero schedules resume kemola', says: 'What was missed meanwhile is not made up for' }],
  run: async (given, io) => (await import('../schedules/change.ts')).resume(given, io),
})

const remove = defineCommand({
  name: 'remove',
  summary: 'Remove schedules',
  words: '<id>…',
  examples: [{ line: 'libero schedules remove kemola', says: 'Its agent stays' }],
  run: async (given, io) => (await import('../schedules/change.ts')).remove(given, io),
})

const run = defineCommand({
  name: 'run',
  summary: 'Wake agents when their time comes, and say what they do, until Ctrl-C',
  details: [
    'Also goes on with agents that were interrupted. Several may run: one wakes, and another takes over when it ends. Nobody is asked here: an agent that needs a permission or an answer waits for libero agents answer.',
  ],
  flags: workFlags,
  examples: [{ line: 'libero schedules run --mode allowlist', says: 'Does what the settings allow, and no more' }],
  run: async (given, io) => (await import('../schedules/run.ts')).run(given, io),
})

export const command = defineCommand({
  name: 'schedules',
  summary: 'Have agents woken at times, and wake them',
  details: [
    'A schedule tells an agent something at a time, again and again, or by cron. It is named by its id, a beginning of it that no other has, or its name. Something has to run that wakes agents: libero schedules run.',
  ],
  examples: [
    { line: 'libero schedules', says: 'What is to come' },
    { line: 'libero schedules add bafitu --every 1h "look at the news"', says: 'Makes one' },
    { line: 'libero schedules run', says: 'Wakes agents until Ctrl-C' },
  ],
  commands: [list, add, update, pause, resume, remove, run],
  defaultCommand: 'list',
})

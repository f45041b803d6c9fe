import type { Values } from '../command.ts'

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
  max: { type: 'string', value: 'n', least: 1, says: 'At most so many times' },
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

import { UsageError } from '../cli-error.ts'
import { defineCommand } from '../command.ts'
import { configFlag } from './worker.ts'

const status = defineCommand({
  name: 'status',
  summary: 'Show workers, sessions by state, jobs and limits',
  details: [
    'Workers are those that told of themselves in the last 15 seconds. “takeovers” are sessions that a worker continued after another process had died. A job is a hint that a session may have something to do; the age of the oldest one says whether there are enough workers.',
  ],
  flags: { config: configFlag, json: { type: 'boolean', says: 'Print JSON' } },
  examples: [{ line: 'libero fleet status --config fleet.ts', says: 'Once; put `watch` before it to repeat it' }],
  async run({ values: { config, json = false } }, io) {
    if (config === undefined) throw new UsageError('libero fleet status needs --config with the module of the fleet')
    return (await import('../fleet/status.ts')).status({ config, json }, io)
  },
})

export const command = defineCommand({
  name: 'fleet',
  summary: 'Show what the workers of a fleet do',
  commands: [status],
  defaultCommand: 'status',
})

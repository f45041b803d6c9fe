import type { ToolDef } from '../core/tool.ts'
import { jobsOf } from './shell/shell-jobs.ts'

const description = 'Stops a background job of shell and shows the rest of its output.'

/** Ends background jobs. */
export const shellStop: ToolDef<{ readonly job: number }> = {
  spec: {
    name: 'shell_stop',
    description,
    inputSchema: { type: 'object', properties: { job: { type: 'integer' } }, required: ['job'] },
  },
  isConcurrencySafe: false,
  replay: 'pure', // doing it twice is harmless
  effects: ['exec'],
  deriveApprovalKey: () => 'jobs',
  timeoutMs: 30_000,
  async execute({ job: id }, { handle }) {
    const job = jobsOf(handle).find(id)
    await job.stop()
    return job.report()
  },
}

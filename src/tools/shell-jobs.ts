import type { ToolDef } from '../core/tool.ts'
import { jobsOf } from './shell/background-jobs.ts'

const description = `Shows what a background job of shell has written since the last look, and whether it still runs. Without job: lists all jobs.`

export interface ShellOutputInput {
  readonly job?: number
  readonly wait?: number
  readonly until?: string
}

/** A tool that reads the output of background jobs. */
export const shellOutput: ToolDef<ShellOutputInput> = {
  spec: {
    name: 'shell_output',
    description,
    inputSchema: {
      type: 'object',
      properties: {
        job: { type: 'integer' },
        wait: { type: 'integer', description: 'Milliseconds to wait for it. Default 0.' },
        until: { type: 'string', enum: ['output', 'end'], description: 'What to wait for. Default output.' },
      },
    },
  },
  isConcurrencySafe: true,
  replay: 'pure',
  effects: [],
  deriveApprovalKey: () => 'jobs',
  timeoutMs: 0, // waits as long as requested
  async execute({ job: id, wait = 0, until }, { handle, signal }) {
    const jobs = jobsOf(handle)
    if (id === undefined) return { output: jobs.summary, details: { jobs: jobs.all.map((job) => job.facts) } }
    const job = jobs.find(id)
    const isWaiting = !job.ended && job.output.isEmpty
    await job.until(until === 'end' ? 'end' : 'output', Math.min(wait, maxWaitMs), signal)
    // Output comes in bursts, so a little more is awaited.
    if (isWaiting && wait > 0) await job.until('end', burstMs, signal)
    return job.report()
  },
}

const maxWaitMs = 600_000
const burstMs = 100

const stopDescription = 'Stops a background job of shell and shows the rest of its output.'

/** A tool that ends background jobs. */
export const shellStop: ToolDef<{ readonly job: number }> = {
  spec: {
    name: 'shell_stop',
    description: stopDescription,
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

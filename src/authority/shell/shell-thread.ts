import { answerJobs } from '../../platform/worker-threads.ts'
import type { ShellReading } from './reading.ts'

/** A job of the thread: parse a line, split a text into words, or test regular expressions. */
export type ThreadJob =
  | { readonly read: string }
  | { readonly words: string; readonly obstacle: string }
  | { readonly text: string; readonly patterns: readonly string[] }

/** The parser is loaded only here. */
async function work(job: ThreadJob): Promise<ShellReading | number> {
  if ('patterns' in job) {
    return job.patterns.findIndex((pattern) => new RegExp(pattern, 'i').test(job.text))
  }
  const { notWhole, readShell } = await import('./read-shell.ts')
  return 'read' in job ? readShell(job.read) : notWhole(job.words, job.obstacle)
}

answerJobs(work)

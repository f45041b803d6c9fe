import { answerJobs } from '../platform/worker-threads.ts'
import { notWhole, readShell } from './read-shell.ts'
import type { ShellReading } from './reading.ts'

/** A job of the thread: parse a line, split a text into words, or test regular expressions. */
export type ThreadJob =
  | { readonly read: string }
  | { readonly words: string; readonly obstacle: string }
  | { readonly text: string; readonly patterns: readonly string[] }

function work(job: ThreadJob): ShellReading | number {
  if ('read' in job) return readShell(job.read)
  if ('words' in job) return notWhole(job.words, job.obstacle)
  return job.patterns.findIndex((pattern) => new RegExp(pattern, 'i').test(job.text))
}

answerJobs(work)

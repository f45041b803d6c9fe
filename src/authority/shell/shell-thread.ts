import { answerStanding, type StandingWorker, standingWorker } from '../../platform/standing-worker.ts'
import type { ShellReading } from './reading.ts'

/** What the thread does: read a line, only take a text apart into words, or try regular expressions. */
type ThreadJob =
  | { readonly read: string }
  | { readonly words: string; readonly obstacle: string }
  | { readonly text: string; readonly patterns: readonly string[] }

/** Somebody's hold on the one thread of this process in which hostile text is worked on. */
export interface ThreadHold {
  ask<Answer>(job: ThreadJob, budgetMs: number): Promise<Answer>
  /** The thread ends with the last hold. */
  release(): Promise<void>
}

/** The thread is started by the first job anybody has, and shared by all who hold it: they differ in nothing. */
export function holdThread(): ThreadHold {
  let isHeld = true
  shared.holds++
  return {
    ask(job, budgetMs) {
      if (!isHeld) return Promise.reject(new Error('the reader of shell lines was closed'))
      shared.thread ??= standingWorker(import.meta.url, name)
      return shared.thread.ask(job, budgetMs)
    },
    async release() {
      if (!isHeld) return
      isHeld = false
      if (--shared.holds > 0) return
      const { thread } = shared
      shared.thread = undefined
      await thread?.close()
    },
  }
}

const name = 'shell lines'
const shared: { thread: StandingWorker | undefined; holds: number } = { thread: undefined, holds: 0 }

/** The parser is loaded here and nowhere else. */
async function work(job: ThreadJob): Promise<ShellReading | number> {
  if ('patterns' in job) {
    return job.patterns.findIndex((pattern) => new RegExp(pattern, 'i').test(job.text))
  }
  const { notWhole, readShell } = await import('./read-shell.ts')
  return 'read' in job ? readShell(job.read) : notWhole(job.words, job.obstacle)
}

answerStanding(name, work)

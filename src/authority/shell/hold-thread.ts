import type { PersistentWorker } from '../../platform/worker-threads.ts'
import type { ThreadJob } from './shell-thread.ts'

/** A reference to the one thread of this process that works on hostile text. */
export interface ThreadReference {
  ask<Answer>(job: ThreadJob, budgetMs: number): Promise<Answer>
  /** The thread ends with the last reference. */
  release(): Promise<void>
}

/** The first job loads and starts the thread. All references share it. */
export function acquireThread(): ThreadReference {
  let isHeld = true
  shared.holds++
  return {
    async ask(job, budgetMs) {
      if (!isHeld) throw new Error('the reader of shell lines was closed')
      shared.thread ??= start()
      return (await shared.thread).ask(job, budgetMs)
    },
    async release() {
      if (!isHeld) return
      isHeld = false
      if (--shared.holds > 0) return
      const { thread } = shared
      shared.thread = undefined
      await (await thread)?.close()
    },
  }
}

const shared: { thread: Promise<PersistentWorker> | undefined; holds: number } = { thread: undefined, holds: 0 }

async function start(): Promise<PersistentWorker> {
  const { persistentWorker } = await import('../../platform/worker-threads.ts')
  return persistentWorker(() => new URL('./shell-thread.ts', import.meta.url), 'shell lines')
}

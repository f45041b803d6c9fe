import type { PersistentWorker } from '../../platform/worker-threads.ts'
import type { ThreadJob } from './shell-thread.ts'

/** Somebody's hold on the one thread of this process in which hostile text is worked on. */
export interface ThreadHold {
  ask<Answer>(job: ThreadJob, budgetMs: number): Promise<Answer>
  /** The thread ends with the last hold. */
  release(): Promise<void>
}

/** The thread is loaded and started by the first job anybody has, and shared by all who hold it: they differ in nothing. */
export function holdThread(): ThreadHold {
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

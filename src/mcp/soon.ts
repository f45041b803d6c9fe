import type { Clock } from '../core/clock.ts'

/** Something that is done a while after it is wanted: once, however often that is said, and not again before it is done. */
export interface Soon {
  want(): void
  /** For good. */
  stop(): void
}

/** `work` must not fail. */
export function createSoon(clock: Clock, pauseMs: number, work: () => Promise<void>): Soon {
  let cancel: (() => void) | undefined
  let isWorking = false
  let isWanted = false
  let isStopped = false

  function want(): void {
    isWanted = true
    if (cancel || isWorking || isStopped) return
    cancel = clock.timer(pauseMs, () => {
      cancel = undefined
      void run()
    })
  }

  async function run(): Promise<void> {
    isWorking = true
    isWanted = false
    await work()
    isWorking = false
    if (isWanted) want()
  }

  return {
    want,
    stop() {
      isStopped = true
      cancel?.()
    },
  }
}

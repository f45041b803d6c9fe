import { setTimeout as sleep } from 'node:timers/promises'
import { quantile } from './check.ts'
import { seconds, sendTasks } from './kills.ts'
import { type PartOptions, type PartResult, resultOf } from './part.ts'
import { poisonText } from './task-model.ts'
import { Trial } from './trial.ts'

/** Some sessions end every process that works on them: exactly those must be parked, and the others must end. */
export async function poisonSessions(options: PartOptions): Promise<PartResult> {
  const { server, engine, cache, size, mutant, progress } = options
  // In one worker the same sessions meet again after each death, so that a planted bug shows in many of them.
  const workers = mutant === undefined ? 3 : 1
  const trial = await new Trial({
    ...{ url: server.url(), engine, cache, thinkMs: 400, concurrency: 60 / workers },
    ...(mutant !== undefined && { mutant }),
  }).prepare()
  try {
    const poisoned = Array.from({ length: Math.max(2, Math.round(10 * size)) }, (_, i) => `poison${i}`)
    for (let i = 0; i < workers; i++) trial.start()
    const keeping = keepRunning(trial, workers)
    const sending = sendTasks(trial, Math.max(20, Math.round(500 * size)))
    for (const id of poisoned) await trial.send(id, 1, { text: poisonText })
    await sending
    const isDone = async (): Promise<boolean> =>
      (await trial.store.list({ status: 'parked', limit: 100 })).sessions.length >= poisoned.length
    for (let tries = 0; tries < 600 && !(await isDone()); tries++) {
      await sleep(500)
      if (tries % 40 === 39) progress(`${trial.deaths.size} deaths`)
    }
    const isSettled = await trial.settled()
    keeping.stop()
    const result = await resultOf(trial, { isSettled, poisoned })
    const slowest = seconds(quantile(result.takeovers, 0.99))
    const counts = `${poisoned.length} sessions end their worker, ${trial.deaths.size} deaths, takeover p99 ${slowest}`
    // A session that may have killed its worker waits until it can run alone: its time is no part of the closing line.
    return { ...result, takeovers: [], shown: `${counts}, ${result.shown}` }
  } finally {
    await trial.close()
  }
}

/** Replaces workers that ended. */
export function keepRunning(trial: Trial, count: number): { stop(): void } {
  const timer = setInterval(() => {
    while (trial.workers.size < count) trial.start()
  }, 200)
  return { stop: () => clearInterval(timer) }
}

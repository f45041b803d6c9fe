import { setTimeout as sleep } from 'node:timers/promises'
import { quantile } from './check.ts'
import { seconds, sendTasks } from './kills.ts'
import { type PartOptions, type PartResult, resultOf } from './part.ts'
import { Trial } from './trial.ts'

/** Drains workers one after the other, as a deployment does: others continue their runs at once, and nothing crashes. */
export async function drainWorkers(options: PartOptions): Promise<PartResult> {
  const { server, engine, cache, size, mutant } = options
  const drains = Math.max(2, Math.round(15 * size))
  const trial = await new Trial({
    ...{ url: server.url(), engine, cache, thinkMs: 1500, graceMs: 200 },
    ...(mutant !== undefined && { mutant }),
  }).prepare()
  try {
    await Promise.all([1, 2, 3].map(() => trial.start().ready))
    const sending = sendTasks(trial, 30)
    for (let i = 0; i < drains; i++) {
      await sleep(1500)
      const next = trial.start()
      await next.ready
      const oldest = [...trial.workers][0]!
      oldest.kill('SIGTERM')
      await oldest.ended
    }
    await sending
    const isSettled = await trial.settled()
    const result = await resultOf(trial, { isSettled })
    const { handovers, crashes } = result.verdict
    const slowest = quantile(handovers, 0.99)
    const failures = [
      ...(crashes > 0 ? [`${crashes} runs of drained workers ended as crashed`] : []),
      ...(slowest > 1000 && mutant === undefined
        ? [`a run that was left continued after ${seconds(slowest)} (p99), goal 1 s`]
        : []),
    ]
    const left = `${handovers.length} runs left, continued after p50 ${seconds(quantile(handovers, 0.5))}, p99 ${seconds(slowest)}`
    return {
      ...result,
      failures: [...result.failures, ...failures],
      shown: `${drains} drains, ${left}, ${crashes} crashed; ${result.shown}`,
    }
  } finally {
    await trial.close()
  }
}

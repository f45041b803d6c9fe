import { setTimeout as sleep } from 'node:timers/promises'
import { noPgbouncer, startPgbouncer } from '../test/pgbouncer.ts'
import { killWorkers, sendTasks } from './kills.ts'
import { nothing, type PartOptions, type PartResult, resultOf } from './part.ts'
import { keepRunning } from './poison.ts'
import { Trial } from './trial.ts'

/** Deletes all jobs every five seconds for a minute, while workers are killed too. */
export function loseJobs(options: PartOptions): Promise<PartResult> {
  const { size } = options
  let lostAt = Date.now()
  return killWorkers(
    { ...options, kills: Math.max(2, Math.round(40 * size)), sessions: Math.max(20, Math.round(150 * size)) },
    {
      async disturb(trial) {
        if (Date.now() - lostAt < 5000) return
        lostAt = Date.now()
        await trial.loseJobs()
      },
    },
  )
}

/** Kills workers whose statements go through PgBouncer in transaction mode. */
export async function throughPgbouncer(options: PartOptions): Promise<PartResult> {
  const { server, size } = options
  if (noPgbouncer) return { ...nothing, shown: `NOT RUN: ${noPgbouncer}` }
  const bouncer = await startPgbouncer(server)
  try {
    const workerUrl = `${server.url({ port: bouncer.port })}?prepare=false`
    return await killWorkers(
      { ...options, kills: Math.max(2, Math.round(30 * size)), sessions: Math.max(20, Math.round(150 * size)) },
      { workerUrl, listen: server.url() },
    )
  } finally {
    await bouncer.stop()
  }
}

/** Kills the Postgres server while sessions work. */
export async function killPostgres(options: PartOptions): Promise<PartResult> {
  const { server, engine, cache, size, mutant, progress } = options
  const restarts = Math.max(1, Math.round(10 * size))
  const trial = await new Trial({
    ...{ url: server.url(), engine, cache, thinkMs: 500 },
    ...(mutant !== undefined && { mutant }),
  }).prepare()
  try {
    await trial.admin.unsafe('checkpoint') // else the server would replay what other parts wrote, for longer than workers retry
    for (let i = 0; i < 3; i++) trial.start()
    const keeping = keepRunning(trial, 3)
    let isOver = false
    const sending = sendTasks(trial, Math.max(20, Math.round(150 * size)), () => isOver)
    for (let i = 0; i < restarts; i++) {
      await sleep(4000)
      await server.restart({ isCrash: true })
      progress(`${i + 1} of ${restarts} restarts of Postgres`)
    }
    isOver = true
    await sending
    const isSettled = await trial.settled()
    keeping.stop()
    const died = trial.deaths.size > 0 ? [`${trial.deaths.size} workers ended with the server`] : []
    const result = await resultOf(trial, { isSettled, failures: died })
    return { ...result, shown: `${restarts} restarts of Postgres, ${result.shown}` }
  } finally {
    await trial.close()
  }
}

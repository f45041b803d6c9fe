import { setTimeout as sleep } from 'node:timers/promises'
import { quantile, slowOf } from './check.ts'
import { type PartOptions, type PartResult, resultOf } from './part.ts'
import { Trial, type TrialOptions } from './trial.ts'

const tasksOfSession = 5

/** Kills workers at random moments while sessions work, and replaces them. */
export async function killWorkers(
  options: PartOptions,
  more: Partial<TrialOptions> & { readonly workers?: number; readonly disturb?: (trial: Trial) => Promise<void> } = {},
): Promise<PartResult> {
  const { server, engine, cache, random, kills, sessions, mutant, progress } = options
  const { workers = 6, disturb, ...settings } = more
  const trial = await new Trial({
    ...{ url: server.url(), engine, cache, thinkMs: 600 },
    ...(mutant !== undefined && { mutant }),
    ...settings,
  }).prepare()
  try {
    for (let i = 0; i < workers; i++) trial.start()
    let killed = 0
    let idle = 0
    const isOver = (): boolean => killed >= kills || idle > 20 // few workers have begun a run for long: work has stopped
    const sending = sendTasks(trial, sessions, isOver)
    while (!isOver()) {
      await sleep((0.4 + 1.2 * random()) * (9 / workers) * 1000) // a worker lives for about nine seconds
      await disturb?.(trial)
      const ready = [...trial.workers].filter((worker) => worker.processId !== undefined)
      idle = ready.length < workers / 2 ? idle + 1 : 0
      if (idle > 0) continue // on a busy machine those that are killed would not be replaced in time
      const victim = ready[Math.floor(random() * ready.length)]!
      trial.start()
      await trial.kill(victim)
      killed++
      if (killed % 25 === 0) progress(`${killed} of ${kills} kills`)
    }
    await sending
    const isSettled = await trial.settled()
    const result = await resultOf(trial, { isSettled })
    const { takeovers, stolen, again } = result.verdict
    const slowest = quantile(takeovers, 0.99)
    const failures = [
      // A busy machine is late too: a planted bug has to show otherwise.
      ...(slowest > 15_000 && mutant === undefined ? [`takeover p99 ${seconds(slowest)}, goal 15 s`] : []),
      ...(stolen > 0 ? [`${stolen} sessions were taken from a worker that lived`] : []),
    ]
    const speed = `${takeovers.length} sessions taken over (${again} twice), p50 ${seconds(quantile(takeovers, 0.5))}, p99 ${seconds(slowest)}, ${slowOf(result.verdict)}`
    return {
      ...result,
      kills: killed,
      failures: [...result.failures, ...failures],
      shown: `${killed} kills, ${result.shown}; ${speed}`,
    }
  } finally {
    await trial.close()
  }
}

/** Sends tasks to all sessions, round by round, while workers come and go: five rounds, and more until `isOver`. */
export function sendTasks(trial: Trial, sessions: number, isOver: () => boolean = () => true): Promise<void> {
  const sending = sendRounds(trial, sessions, isOver)
  sending.catch(() => {}) // a part that breaks does not get to await it, and closes the trial
  return sending
}

async function sendRounds(trial: Trial, sessions: number, isOver: () => boolean): Promise<void> {
  for (let task = 1; task <= tasksOfSession || !isOver(); task++) {
    for (let first = 0; first < sessions; first += 10)
      await Promise.all(
        Array.from({ length: Math.min(10, sessions - first) }, (_, i) => trial.send(`s${first + i}`, task)),
      )
    while (task >= tasksOfSession && !isOver() && (await trial.openSessions()) > sessions / 4) await sleep(500)
  }
}

export const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`

import { inParallel } from './lanes.ts'
import { answerFromOutside, sendFromOutside } from './other-process.ts'
import type { Exit, Worker } from './processes.ts'
import { randomOf } from './random.ts'
import type { StoreKind } from './stores.ts'
import { type Found, shown, Trial } from './trial.ts'
import { exits, type WorkerOptions } from './worker-options.ts'

export interface KillOptions {
  readonly kinds: readonly StoreKind[]
  readonly kills: number
  readonly seed: number
  readonly cache: string
  readonly lanes: number
  readonly mutant?: string
  readonly stopsEarly?: boolean
  readonly progress?: (line: string) => void
}

export interface KillResult {
  readonly kills: number
  readonly sessions: number
  readonly found: readonly Found[]
}

const mostKills = 25

/** Kills processes at random moments, each session up to 25 times, until `kills` is reached. */
export async function randomKills(options: KillOptions): Promise<KillResult> {
  const { kinds, seed, lanes, progress, stopsEarly } = options
  const found: Found[] = []
  let kills = 0
  let sessions = 0
  const isOver = (): boolean => kills >= options.kills || (stopsEarly === true && found.length > 0)
  const lane = async (number: number): Promise<void> => {
    for (let round = 0; !isOver(); round++) {
      const its = seed + number * 1_000_003 + round * 101
      const kind = kinds[(number + round) % kinds.length]!
      const trial = new Trial({ ...options, kind, plan: 1 + (its % 997), name: `random kills, seed ${its}` })
      await killRepeatedly(trial, randomOf(its), () => {
        kills++
        if (kills % 100 === 0) progress?.(`kills: ${kills} of ${options.kills}`)
        return isOver()
      })
      sessions++
      found.push(...trial.found)
      trial.close()
    }
  }
  await inParallel(
    Array.from({ length: lanes }, (_, i) => i),
    lanes,
    lane,
  )
  return { kills, sessions, found }
}

/** One session: killed repeatedly, then run to its end. */
async function killRepeatedly(trial: Trial, random: () => number, killed: () => boolean): Promise<void> {
  const { folder, options } = trial
  const speed = 0.15 + 0.85 * random() // some sessions are killed very early
  let more: Partial<WorkerOptions> = {}
  for (let i = 0, kills = 0; kills < mostKills && i < 60 && trial.found.length === 0; i++) {
    const worker = trial.start({ ...more, answers: random() < 0.5, skewMs: Math.round((random() - 0.5) * 7_200_000) })
    const clientKey = random() < 0.2 ? `${random() < 0.5 ? 'steer' : 'after'}-${i}` : undefined
    await worker.linesUntil(1)
    const sending = clientKey && sendFromOutside(options.kind, folder, clientKey).catch(() => {}) // without an ack nothing is guaranteed
    await waitRandomly(worker, random, speed)
    const dice = random()
    const isPaused = dice < 0.2 && !worker.isOver()
    if (isPaused) await pauseForRival(trial, worker, random)
    else worker.kill(dice < 0.3 ? 'SIGTERM' : 'SIGKILL')
    const exit = await worker.ended
    await sending
    const isKilled = exit.signal !== null || exit.code === exits.leaseLost
    if (isKilled) kills++
    if (isKilled && killed()) i = 60
    await trial.check(`after kill ${kills}`)
    if (exit.isHung || (exit.signal === null && !isExpected(exit, isPaused)))
      trial.report({ id: 'I8', what: `a process failed: ${shown(exit)}` }, `after kill ${kills}`)
    if (exit.code === exits.done) break
    if (exit.code === exits.suspended && random() < 0.7) await answerFromOutside(options.kind, folder)
    more = { unparks: exit.code === exits.parked }
  }
  if (trial.found.length === 0) await trial.finish()
}

/** A process that was stopped before it began may find the session busy. */
function isExpected({ code }: Exit, isPaused: boolean): boolean {
  return code !== exits.failed && (code !== exits.busy || isPaused)
}

/** Waits a random time, or until a random number of output lines. `speed` scales it, from 0 to 1. */
async function waitRandomly(worker: Worker, random: () => number, speed: number): Promise<void> {
  if (random() < 0.5) return pause(random() * speed * 80)
  await worker.linesUntil(2 + Math.floor(random() * speed * 60))
  await pause(random() * 5)
}

/** Stops a process, lets a rival take the session over, and continues the stopped one: it must not commit anything. */
async function pauseForRival(trial: Trial, stale: Worker, random: () => number): Promise<void> {
  stale.kill('SIGSTOP')
  const rival = trial.start({ answers: random() < 0.5, takeOver: true })
  // A process stopped in the middle of a write holds the file lock; then the rival has to wait for it.
  await Promise.race([random() < 0.5 ? rival.ended : rival.linesUntil(5 + Math.floor(random() * 40)), pause(1500)])
  stale.kill('SIGCONT')
  await stale.ended
  const exit = await rival.ended
  if (exit.code === exits.failed || exit.signal !== null)
    trial.report({ id: 'I8', what: `a rival failed: ${shown(exit)}` }, 'after a pause')
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

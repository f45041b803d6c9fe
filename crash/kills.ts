import { inLanes } from './lanes.ts'
import { answerFromOutside, sendFromOutside } from './outsider.ts'
import type { Exit, World } from './processes.ts'
import { randomOf } from './random.ts'
import type { StoreKind } from './stores.ts'
import { type Found, shown, Voyage } from './voyage.ts'
import { exits, type WorldOptions } from './world-options.ts'

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

/** Kills processes at random moments, each session up to 25 times, until so many were killed. */
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
      const voyage = new Voyage({ ...options, kind, plan: 1 + (its % 997), name: `random kills, seed ${its}` })
      await sail(voyage, randomOf(its), () => {
        kills++
        if (kills % 100 === 0) progress?.(`kills: ${kills} of ${options.kills}`)
        return isOver()
      })
      sessions++
      found.push(...voyage.found)
      voyage.close()
    }
  }
  await inLanes(
    Array.from({ length: lanes }, (_, i) => i),
    lanes,
    lane,
  )
  return { kills, sessions, found }
}

/** One session: killed again and again, then let go on to its end. */
async function sail(voyage: Voyage, random: () => number, killed: () => boolean): Promise<void> {
  const { folder, options } = voyage
  const haste = 0.15 + 0.85 * random() // some sessions hardly get a word in
  let more: Partial<WorldOptions> = {}
  for (let i = 0, kills = 0; kills < mostKills && i < 60 && voyage.found.length === 0; i++) {
    const world = voyage.start({ ...more, answers: random() < 0.5, skewMs: Math.round((random() - 0.5) * 7_200_000) })
    const bottle = random() < 0.2 ? `${random() < 0.5 ? 'steer' : 'after'}-${i}` : undefined
    await world.heard(1)
    const sending = bottle && sendFromOutside(options.kind, folder, bottle).catch(() => {}) // told or not: no ack, no promise
    await moment(world, random, haste)
    const dice = random()
    const isPaused = dice < 0.2 && !world.isOver()
    if (isPaused) await pauseFor(voyage, world, random)
    else world.kill(dice < 0.3 ? 'SIGTERM' : 'SIGKILL')
    const exit = await world.ended
    await sending
    const isKilled = exit.signal !== null || exit.code === exits.leaseLost
    if (isKilled) kills++
    if (isKilled && killed()) i = 60
    await voyage.check(`after kill ${kills}`)
    if (exit.isHung || (exit.signal === null && !isExpected(exit, isPaused)))
      voyage.report({ id: 'I8', what: `a process failed: ${shown(exit)}` }, `after kill ${kills}`)
    if (exit.code === exits.done) break
    if (exit.code === exits.suspended && random() < 0.7) await answerFromOutside(options.kind, folder)
    more = { unparks: exit.code === exits.parked }
  }
  if (voyage.found.length === 0) await voyage.finish()
}

/** Who was stopped before it had begun finds that its rival has. */
function isExpected({ code }: Exit, isPaused: boolean): boolean {
  return code !== exits.failed && (code !== exits.busy || isPaused)
}

/** Any moment, or one right after something was said. `haste` says how soon, from 0 to 1. */
async function moment(world: World, random: () => number, haste: number): Promise<void> {
  if (random() < 0.5) return pause(random() * haste * 80)
  await world.heard(2 + Math.floor(random() * haste * 60))
  await pause(random() * 5)
}

/** Stops a process, lets a rival take the session over, and lets the stopped one go on: it must not commit anything. */
async function pauseFor(voyage: Voyage, stale: World, random: () => number): Promise<void> {
  stale.kill('SIGSTOP')
  const rival = voyage.start({ answers: random() < 0.5, takeOver: true })
  // Who was stopped in the middle of a write holds the file; then the rival has to wait for it.
  await Promise.race([random() < 0.5 ? rival.ended : rival.heard(5 + Math.floor(random() * 40)), pause(1500)])
  stale.kill('SIGCONT')
  await stale.ended
  const exit = await rival.ended
  if (exit.code === exits.failed || exit.signal !== null)
    voyage.report({ id: 'I8', what: `a rival failed: ${shown(exit)}` }, 'after a pause')
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

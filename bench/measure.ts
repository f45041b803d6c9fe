/** One thing measured: how much CPU it took, as a multiple of a hand-written floor, and what we promise. */
export interface Result {
  readonly name: string
  readonly value: number
  readonly goal: number
  readonly ok: boolean
}

export interface Contender {
  readonly label: string
  run(): Promise<void>
}

const rounds = 7
/** Long enough for the optimising compiler, also in the first comparison of a process. */
const shortWarmUpMs = 1500
/** For what crosses many layers: the compiler works on in the background, and its work is counted. */
export const longWarmUpMs = 5000

/** Microseconds that passed, of whatever kind. */
type Meter = () => number

const cpu: Meter = () => {
  const { user, system } = process.cpuUsage()
  return user + system
}

/** For work that waits for a disk, which no CPU is spent on. */
export const wall: Meter = () => performance.now() * 1000

/**
 * Microseconds of CPU per unit for each contender: interleaved, so that a noisy machine disturbs all of them alike, and
 * the median of several rounds, each long enough for the clock.
 */
export async function measure(
  contenders: readonly Contender[],
  units: number,
  roundMs = 150,
  warmUpMs = shortWarmUpMs,
  meter: Meter = cpu,
): Promise<number[]> {
  const repeats: number[] = []
  for (const { run } of contenders) repeats.push(await warmUp(run, roundMs, warmUpMs))
  const samples = contenders.map((): number[] => [])
  for (let round = 0; round < rounds; round++) {
    for (const [i, { run }] of contenders.entries()) {
      const before = meter()
      for (let n = 0; n < repeats[i]!; n++) await run()
      samples[i]!.push((meter() - before) / (repeats[i]! * units))
    }
  }
  return samples.map(median)
}

/** Runs until the compiler has settled; returns how many repetitions fill a round. */
async function warmUp(run: () => Promise<void>, roundMs: number, warmUpMs: number): Promise<number> {
  let times = 0
  const begun = performance.now()
  const until = begun + warmUpMs
  while (performance.now() < until || times < 3) {
    await run()
    times++
  }
  return Math.max(1, Math.ceil((times * roundMs) / (performance.now() - begun)))
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[sorted.length >> 1]!
}

/** Prints a comparison and gives it back as a result. */
export function compare(name: string, ours: number, floor: number, goal: number, unit: string): Result {
  const value = Number((ours / floor).toFixed(2))
  const result = { name, value, goal, ok: value <= goal }
  const mark = result.ok ? 'ok  ' : 'MISS'
  console.log(
    `${mark} ${name.padEnd(52)} ${value.toFixed(2).padStart(6)}x (goal ${goal}x)  ${ours.toFixed(2)} against ${floor.toFixed(2)} µs per ${unit}`,
  )
  return result
}

/** Prints a number that has a limit of its own, and gives it back as a result. */
export function atMost(name: string, value: number, goal: number): Result {
  const rounded = Number(value.toFixed(1))
  const ok = rounded <= goal
  console.log(`${ok ? 'ok  ' : 'MISS'} ${name.padEnd(52)} ${rounded.toFixed(1).padStart(6)} (goal ${goal})`)
  return { name, value: rounded, goal, ok }
}

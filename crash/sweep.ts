import { type Note, notesOf } from './evidence.ts'
import { inParallel } from './lanes.ts'
import { readLedger } from './ledger.ts'
import type { StoreKind } from './stores.ts'
import { type Found, shown, Trial } from './trial.ts'

export interface SweepOptions {
  readonly kind: StoreKind
  readonly cache: string
  readonly lanes: number
  /** Only every `step`-th failpoint, from the one with index `from` on. */
  readonly every?: { readonly step: number; readonly from: number }
  readonly progress?: (line: string) => void
}

export interface SweepResult {
  readonly points: number
  /** How many processes died at their failpoint. */
  readonly kills: number
  readonly found: readonly Found[]
}

export interface Point {
  readonly name: string
  readonly hit: number
  /** The failpoint of an earlier crash, so that there is something to recover. */
  readonly after?: string
}

/** Kills a process at every failpoint, the first time and a later time it is passed, then resumes the session. */
export async function sweep(options: SweepOptions): Promise<SweepResult> {
  const { lanes, progress, every = { step: 1, from: 0 } } = options
  const points = (await discover(options)).filter((_, i) => i % every.step === every.from)
  const found: Found[] = []
  let kills = 0
  await inParallel(points, lanes, async (point, i) => {
    const trial = await crashAt(point, options)
    if (trial.hasCrashed) kills++
    found.push(...trial.found)
    if ((i + 1) % 50 === 0) progress?.(`sweep on ${options.kind}: ${i + 1} of ${points.length}`)
  })
  return { points: new Set(points.map(({ name }) => name)).size, kills, found }
}

/** The failpoints that a whole trial passes, and those that a process passes after a crash. */
async function discover(options: SweepOptions): Promise<readonly Point[]> {
  const clean = await passedBy(options)
  const points: Point[] = []
  for (const [name, hits] of clean) {
    points.push({ name, hit: 1 })
    // Failpoints of a store are inside those of the log, which are repeated.
    if (hits > 1 && !inStore.test(name)) points.push({ name, hit: Math.ceil((hits + 1) / 2) })
  }
  const after = 'effect.after:send'
  for (const [name] of await passedBy(options, after))
    if (!clean.has(name) || duringRecovery.test(name)) points.push({ name, hit: 1, after })
  return points
}

const inStore = /^(sqlite|jsonl)\./
/** Failpoints that are passed during crash recovery. */
const duringRecovery = /^lease\.|^(commit|sqlite|jsonl)\.[^:]*(:(call_result|run_ended|run_started))?$/

async function passedBy(options: SweepOptions, after?: string): Promise<ReadonlyMap<string, number>> {
  const trial = new Trial({ ...options, name: `discovery${after ? ` after ${after}` : ''}` })
  try {
    if (after) await trial.run({ at: { name: after, hit: 1, signal: 'SIGKILL' } })
    const exit = await trial.run({ lists: true })
    const [counts] = notesOf(readLedger(trial.folder) as Note[], 'failpoints')
    if (!counts || exit.code !== 0) throw new Error(`The dry run on ${options.kind} failed: ${shown(exit)}`)
    return new Map(Object.entries(counts.counts))
  } finally {
    trial.close()
  }
}

/** Crashes at one failpoint, checks, resumes, checks again. */
export async function crashAt(
  { name, hit, after }: Point,
  options: { kind: StoreKind; cache: string; mutant?: string },
): Promise<{ hasCrashed: boolean; found: readonly Found[] }> {
  const trial = new Trial({ ...options, name: `${name} (${hit})${after ? ` after ${after}` : ''}` })
  const killed = async (at: { name: string; hit: number }): Promise<boolean> => {
    const exit = await trial.run({ at: { ...at, signal: 'SIGKILL' } })
    await trial.check(`after the crash at ${at.name}`)
    if (exit.signal === null && exit.code !== 0)
      trial.report({ id: 'I8', what: `a process failed: ${shown(exit)}` }, `on the way to ${at.name}`)
    return exit.signal === 'SIGKILL'
  }
  if (after) await killed({ name: after, hit: 1 })
  const hasCrashed = await killed({ name, hit })
  await trial.finish()
  trial.close()
  return { hasCrashed, found: trial.found }
}

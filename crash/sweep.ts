import { type Note, notesOf } from './evidence.ts'
import { inLanes } from './lanes.ts'
import { readLedger } from './ledger.ts'
import type { StoreKind } from './stores.ts'
import { type Found, shown, Voyage } from './voyage.ts'

export interface SweepOptions {
  readonly kind: StoreKind
  readonly cache: string
  readonly lanes: number
  /** Only every so many failpoints, from the one with this index on. */
  readonly every?: { readonly step: number; readonly from: number }
  readonly progress?: (line: string) => void
}

export interface SweepResult {
  readonly points: number
  /** How many processes died where they were told to. */
  readonly kills: number
  readonly found: readonly Found[]
}

export interface Point {
  readonly name: string
  readonly hit: number
  /** Where a process died before, so that there is something to settle. */
  readonly after?: string
}

/** Kills a process at every failpoint in turn, the first time it is passed and a later time, and goes on from there. */
export async function sweep(options: SweepOptions): Promise<SweepResult> {
  const { lanes, progress, every = { step: 1, from: 0 } } = options
  const points = (await discover(options)).filter((_, i) => i % every.step === every.from)
  const found: Found[] = []
  let kills = 0
  await inLanes(points, lanes, async (point, i) => {
    const voyage = await crashAt(point, options)
    if (voyage.hasCrashed) kills++
    found.push(...voyage.found)
    if ((i + 1) % 50 === 0) progress?.(`sweep on ${options.kind}: ${i + 1} of ${points.length}`)
  })
  return { points: new Set(points.map(({ name }) => name)).size, kills, found }
}

/** Where to die: whatever a whole voyage passes, and what a process passes that goes on after a crash. */
async function discover(options: SweepOptions): Promise<readonly Point[]> {
  const clean = await passedBy(options)
  const points: Point[] = []
  for (const [name, hits] of clean) {
    points.push({ name, hit: 1 })
    // A store's own points lie within those of the log, which are tried again later on.
    if (hits > 1 && !inStore.test(name)) points.push({ name, hit: Math.ceil((hits + 1) / 2) })
  }
  const after = 'effect.after:send'
  for (const [name] of await passedBy(options, after))
    if (!clean.has(name) || settling.test(name)) points.push({ name, hit: 1, after })
  return points
}

const inStore = /^(sqlite|jsonl)\./
/** What is passed while that is settled which a crash left behind. */
const settling = /^lease\.|^(commit|sqlite|jsonl)\.[^:]*(:(call_result|run_ended|run_started))?$/

async function passedBy(options: SweepOptions, after?: string): Promise<ReadonlyMap<string, number>> {
  const voyage = new Voyage({ ...options, name: `discovery${after ? ` after ${after}` : ''}` })
  try {
    if (after) await voyage.run({ at: { name: after, hit: 1, signal: 'SIGKILL' } })
    const exit = await voyage.run({ lists: true })
    const [counts] = notesOf(readLedger(voyage.folder) as Note[], 'failpoints')
    if (!counts || exit.code !== 0) throw new Error(`The dry run on ${options.kind} failed: ${shown(exit)}`)
    return new Map(Object.entries(counts.counts))
  } finally {
    voyage.close()
  }
}

/** Dies at one point, checks, goes on, checks again. */
export async function crashAt(
  { name, hit, after }: Point,
  options: { kind: StoreKind; cache: string; mutant?: string },
): Promise<{ hasCrashed: boolean; found: readonly Found[] }> {
  const voyage = new Voyage({ ...options, name: `${name} (${hit})${after ? ` after ${after}` : ''}` })
  const killed = async (at: { name: string; hit: number }): Promise<boolean> => {
    const exit = await voyage.run({ at: { ...at, signal: 'SIGKILL' } })
    await voyage.check(`after the crash at ${at.name}`)
    if (exit.signal === null && exit.code !== 0)
      voyage.report({ id: 'I8', what: `a process failed: ${shown(exit)}` }, `on the way to ${at.name}`)
    return exit.signal === 'SIGKILL'
  }
  if (after) await killed({ name: after, hit: 1 })
  const hasCrashed = await killed({ name, hit })
  await voyage.finish()
  voyage.close()
  return { hasCrashed, found: voyage.found }
}

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { catchMutants } from './catch-mutants.ts'
import { randomKills } from './kills.ts'
import { mutants } from './mutants.ts'
import { rivals } from './rivals.ts'
import { playScenes } from './scenes.ts'
import { type StoreKind, storeKinds } from './stores.ts'
import { sweep } from './sweep.ts'
import type { Found } from './trial.ts'

const parts = ['sweep', 'kills', 'rivals', 'mutants'] as const
const { values } = parseArgs({
  options: {
    kills: { type: 'string', default: '1000' },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 1_000_000)) },
    races: { type: 'string', default: '28' },
    lanes: { type: 'string', default: '4' },
    store: { type: 'string' },
    only: { type: 'string' },
  },
})
const only = oneOf('only', values.only, parts)
const store = oneOf('store', values.store, storeKinds)
const [seed, kills, races, lanes] = (['seed', 'kills', 'races', 'lanes'] as const).map(numberOf) as [
  number,
  number,
  number,
  number,
]
const kinds: readonly StoreKind[] = store ? [store] : storeKinds
const cache = mkdtempSync(join(tmpdir(), 'libero-crash-cache-'))
const started = performance.now()
const found: Found[] = []
const total = { kills: 0, points: 0, caught: 0, mutants: 0 }

process.on('SIGINT', () => process.exit(130))
process.on('SIGTERM', () => process.exit(143))
process.on('exit', () => rmSync(cache, { recursive: true, force: true }))

say(`seed ${seed}`)
if (wants('sweep'))
  for (const kind of kinds) {
    const result = await sweep({ kind, cache, lanes, progress: say })
    total.points += result.points
    keep(result.found)
    say(`sweep on ${kind}: ${result.points} failpoints, ${result.kills} crashes, ${result.found.length} violations`)
  }
if (wants('kills')) {
  const result = await randomKills({ kinds, kills, seed, cache, lanes, progress: say })
  total.kills = result.kills
  keep(result.found)
  say(`kills: ${result.kills} in ${result.sessions} sessions, ${result.found.length} violations`)
}
if (wants('rivals')) {
  keep(await playScenes(kinds, cache))
  const result = await rivals({ kinds, races, cache, lanes, progress: say })
  keep(result.found)
  say(`rivals: ${result.races} races of ${result.processes} processes, ${result.found.length} violations`)
}
if (wants('mutants')) {
  const results = await catchMutants({ lanes, seed, progress: say })
  total.mutants = mutants.length
  total.caught = results.filter(({ by }) => by).length
}
const shown = `${total.kills} kills, ${total.points} failpoints, ${found.length} violations`
console.log(`crash: ${shown}, ${total.caught} of ${total.mutants} mutants caught`)
process.exitCode = found.length > 0 || total.caught < total.mutants ? 1 : 0

function wants(part: (typeof parts)[number]): boolean {
  return only === undefined || only === part
}

function keep(more: readonly Found[]): void {
  for (const { id, what, trial, when, folder } of more) {
    console.log(`VIOLATION of ${id}, seed ${seed}, ${trial}, ${when}: ${what}\n  kept: ${folder}`)
    found.push({ id, what, trial: trial, when, folder })
  }
}

function say(line: string): void {
  console.log(`${((performance.now() - started) / 1000).toFixed(0).padStart(4)} s  ${line}`)
}

function oneOf<Name extends string>(
  option: string,
  value: string | undefined,
  names: readonly Name[],
): Name | undefined {
  const name = names.find((one) => one === value)
  if (value === undefined || name !== undefined) return name
  throw new TypeError(`--${option} is one of ${names.join(', ')}, got "${value}"`)
}

function numberOf(option: 'seed' | 'kills' | 'races' | 'lanes'): number {
  const number = Number(values[option])
  if (Number.isInteger(number) && number >= 0) return number
  throw new TypeError(`--${option} takes a whole number, got "${values[option]}"`)
}

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { randomOf } from '../crash/random.ts'
import { noPostgres, startPostgres } from '../test/postgres-server.ts'
import { catchMutants } from './catch-mutants.ts'
import { quantile } from './check.ts'
import { seconds } from './kills.ts'
import { mutants } from './mutants.ts'
import { nothing, type PartOptions, type PartResult } from './part.ts'
import { partNames, parts } from './parts.ts'
import { engineNames } from './worker-options.ts'

const { values } = parseArgs({
  options: {
    kills: { type: 'string', default: '300' },
    sessions: { type: 'string', default: '1000' },
    size: { type: 'string', default: '1' },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 1_000_000)) },
    engine: { type: 'string', default: 'pg-boss' },
    only: { type: 'string' },
  },
})
const names = [...partNames, 'mutants']
const engine = engineNames.find((name) => name === values.engine)
if (!engine) throw new TypeError(`--engine is one of ${engineNames.join(', ')}, got "${values.engine}"`)
const wanted = values.only?.split(',') ?? names
const unknown = wanted.find((name) => !names.includes(name))
if (unknown !== undefined) throw new TypeError(`--only names parts of ${names.join(', ')}, got "${unknown}"`)
if (noPostgres) throw new Error(`npm run fleet needs Postgres: ${noPostgres}`)
const [seed, kills, sessions, size] = (['seed', 'kills', 'sessions', 'size'] as const).map(numberOf) as [
  number,
  number,
  number,
  number,
]
const cache = mkdtempSync(join(tmpdir(), 'libero-fleet-cache-'))
const started = performance.now()
process.on('SIGINT', () => process.exit(130))
process.on('SIGTERM', () => process.exit(143))
process.on('exit', () => rmSync(cache, { recursive: true, force: true }))

say(`seed ${seed}, engine ${engine}`)
const server = await startPostgres({ fsync: true, connections: 300 })
const total = { kills: 0, pauses: 0, lost: 0, doubled: 0, parkedWrongly: 0, failures: 0, caught: 0, mutants: 0 }
const takeovers: number[] = []
try {
  const options: PartOptions = { server, engine, cache, random: randomOf(seed), size, kills, sessions, progress: say }
  for (const name of partNames.filter((one) => wanted.includes(one)))
    add(name, await parts[name](options).catch(broken))
  if (wanted.includes('mutants')) {
    const results = await catchMutants(options)
    total.mutants = mutants.length
    total.caught = results.filter(({ by }) => by !== undefined).length
  }
} finally {
  await server.stop()
}
const counts = `${total.kills} kills, ${total.pauses} pauses, ${total.lost} lost, ${total.doubled} doubled, ${total.parkedWrongly} parked wrongly`
const slowest = seconds(quantile(takeovers, 0.99))
console.log(`fleet: ${counts}, ${total.caught} of ${total.mutants} mutants caught, takeover p99 ${slowest}`)
process.exitCode = total.failures > 0 || total.caught < total.mutants ? 1 : 0

/** A part that throws has failed; the others are still worth running. */
function broken(error: Error): PartResult {
  return { ...nothing, failures: [`it broke: ${error.stack}`], shown: 'BROKEN' }
}

function add(name: string, result: PartResult): void {
  say(`${name}: ${result.shown}`)
  for (const failure of result.failures) say(`${name}: FAILED: ${failure}`)
  total.kills += result.kills ?? 0
  total.pauses += result.pauses ?? 0
  total.lost += result.lost
  total.doubled += result.doubled
  total.parkedWrongly += result.parkedWrongly
  total.failures += result.failures.length
  takeovers.push(...result.takeovers)
}

function say(line: string): void {
  console.log(`${((performance.now() - started) / 1000).toFixed(0).padStart(4)} s  ${line}`)
}

function numberOf(option: 'seed' | 'kills' | 'sessions' | 'size'): number {
  const number = Number(values[option])
  if (number >= 0) return number
  throw new TypeError(`--${option} takes a number, got "${values[option]}"`)
}

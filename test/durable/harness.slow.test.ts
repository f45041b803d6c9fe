import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { randomOf } from '../../crash/random.ts'
import { killWorkers } from '../../fleet/kills.ts'
import { checkMutants, mutants } from '../../fleet/mutants.ts'
import { withPostgres } from '../postgres-kit.ts'

const cache = process.env.NODE_COMPILE_CACHE! // of vitest.config.ts

// `npm run fleet` kills 300 workers, and has ten parts more.
withPostgres('workers in processes of their own', (kit) => {
  test('FL70 workers that are killed lose, double and park nothing', { timeout: 300_000 }, async () => {
    const seed = Math.floor(Math.random() * 1_000_000)
    const options = { server: kit.server, engine: 'pg-boss', cache, random: randomOf(seed), size: 0.1 } as const
    const sizes = { kills: 2, sessions: 8, progress: () => {} }
    const { kills, lost, doubled, parkedWrongly, takeovers, failures } = await killWorkers(
      { ...options, ...sizes },
      { workers: 2 },
    )
    const others = failures.filter((failure) => !failure.startsWith('takeover')) // times are for a machine of its own
    expect({ seed, kills, lost, doubled, parkedWrongly, others }).toEqual({
      others: [],
      seed,
      kills: 2,
      lost: 0,
      doubled: 0,
      parkedWrongly: 0,
    })
    expect(takeovers.length).toBeGreaterThan(0)
  })
})

test('FL71 every planted bug still finds its place in the sources', () => {
  expect(() => checkMutants()).not.toThrow()
  expect(mutants.length).toBeGreaterThanOrEqual(8)
})

test('FL71 a bug is planted before a source is loaded; a source that was loaded earlier would stay as it is', () => {
  const listing = `import { registerHooks } from 'node:module'
registerHooks({ load(url, context, next) { if (url.includes('/src/')) console.log(url); return next(url, context) } })`
  const mutate = new URL('../../fleet/mutate.ts', import.meta.url).href
  const args = ['--import', `data:text/javascript,${encodeURIComponent(listing)}`, '--import', mutate, '--eval', '0']
  const env = { ...process.env, LIBERO_FLEET_MUTANT: mutants[0]!.name }
  expect(execFileSync(process.execPath, ['--conditions=libero-source', ...args], { env, encoding: 'utf8' })).toBe('')
})

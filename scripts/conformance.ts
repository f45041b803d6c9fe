/** `npm run conformance`: the MCP project's own suite against our client, the scenarios that each revision requires. */
import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { rolldown } from 'rolldown'
import { parse } from 'yaml'

const root = fileURLToPath(new URL('..', import.meta.url))
const suite = join(root, 'node_modules/@modelcontextprotocol/conformance')
const revisions = ['2025-11-25', '2026-07-28'] as const

export interface Tally {
  readonly revision: string
  readonly required: number
  readonly passed: number
  /** Scenario and what the suite said of it. */
  readonly failures: readonly (readonly [scenario: string, report: string])[]
}

/** Every scenario that a revision requires, or those chosen of them, a few at a time: all at once they time out on a small machine. */
export async function runConformance(revision: string, choose = (all: readonly string[]) => all): Promise<Tally> {
  const { client } = parse(await readFile(join(suite, `requirements/${revision}.yaml`), 'utf8')) as { client: string[] }
  const scenarios = choose(client)
  const failures: [string, string][] = []
  const waiting = [...scenarios]
  const programs = await mkdtemp(join(tmpdir(), 'libero-conformance-programs-'))
  const work = async (): Promise<void> => {
    for (let scenario = waiting.shift(); scenario !== undefined; scenario = waiting.shift()) {
      const problem = await runScenario(revision, scenario, programs)
      if (problem !== undefined) failures.push([scenario, problem])
    }
  }
  try {
    await bundleInto(programs)
    await Promise.all(Array.from({ length: 3 }, work))
  } finally {
    await rm(programs, { recursive: true, force: true, maxRetries: 10 })
  }
  return { revision, required: scenarios.length, passed: scenarios.length - failures.length, failures }
}

/** The line that closes a run. */
export function closingLine(tallies: readonly Tally[]): string {
  const parts = tallies.map(({ revision, passed, required }) => `${revision} ${passed} of ${required}`)
  return `conformance: ${parts.join(', ')}`
}

/** The suite and the client it drives: both start for every scenario, and each file that they load takes time again. */
async function bundleInto(dir: string): Promise<void> {
  const bundle = await rolldown({
    input: { suite: join(suite, 'dist/index.js'), client: join(root, 'test/mcp/conformance-client.ts') },
    platform: 'node',
    resolve: { conditionNames: ['libero-source', 'node'] },
    logLevel: 'silent', // what others wrote
  })
  await bundle.write({ dir, format: 'esm', entryFileNames: '[name].mjs', chunkFileNames: '[name]-[hash].mjs' })
  await bundle.close()
}

async function runScenario(revision: string, scenario: string, programs: string): Promise<string | undefined> {
  const folder = await mkdtemp(join(tmpdir(), 'libero-conformance-'))
  const driver = `${process.execPath} ${join(programs, 'client.mjs')}`
  const args = ['client', '--command', driver, '--scenario', scenario, '--spec-version', revision, '--timeout', '60000']
  try {
    return await new Promise((resolve) => {
      execFile(
        process.execPath,
        [join(programs, 'suite.mjs'), ...args, '-o', folder],
        {
          cwd: folder,
          timeout: 90_000,
          maxBuffer: 16 * 1024 * 1024,
          env: { ...process.env, NODE_COMPILE_CACHE: join(programs, 'compiled') },
        },
        (error, stdout, stderr) => resolve(error ? `${stdout}\n${stderr}`.slice(-6000) : undefined),
      )
    })
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

if (import.meta.main) {
  const only = new RegExp(process.argv[2] ?? '')
  const tallies: Tally[] = []
  for (const revision of revisions)
    tallies.push(await runConformance(revision, (all) => all.filter((scenario) => only.test(scenario))))
  for (const { revision, failures } of tallies)
    for (const [scenario, report] of failures) console.log(`\n${revision} ${scenario}\n${report}`)
  console.log(closingLine(tallies))
  process.exitCode = tallies.some(({ failures }) => failures.length > 0) ? 1 : 0
}

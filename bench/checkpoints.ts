import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createProcessContext } from '../src/execution/process.ts'
import { createFileSnapshots } from '../src/snapshots/file-snapshots.ts'
import { compare, median, type Result } from './measure.ts'

const files = 50_000
const rounds = 31

/**
 * What a snapshot of 50,000 files costs over a `git status` of them, where nothing changed and where three files did. Time
 * by the clock, because it passes in other processes; the median of interleaved rounds. The files are committed, as a
 * status without a commit lists them all. The floor is git alone, started as a shell would; a snapshot counts with the
 * execution context that runs it. Where half of the rounds lie is printed: beyond a tenth of the median the machine was busy.
 * The first snapshot, which stores every file, is printed beside `git add` of the same files.
 */
export async function checkpoints(): Promise<Result[]> {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'libero-bench-')))
  const [work, store] = [join(root, 'work'), join(root, 'store')]
  try {
    plant(work)
    const execution = createProcessContext({ cwd: work })
    const handle = await execution.spawn()
    const snapshots = createFileSnapshots({ execution, handle, store })
    const take = async ({ tidy = false } = {}): Promise<void> => {
      const taken = await snapshots.take({ owner: 'bench', tidy })
      if ('unavailable' in taken) throw new Error(taken.unavailable)
    }
    const git = (...args: string[]): void => void execFileSync('git', args, { cwd: work, stdio: 'ignore' })
    const status = async (): Promise<void> =>
      void (await once(spawn('git', ['status'], { cwd: work, stdio: 'ignore' }), 'exit'))
    git('init', '--quiet')
    const added = await timed(async () => git('add', '-A'))
    git('-c', 'user.name=bench', '-c', 'user.email=bench@example.org', 'commit', '--quiet', '-m', 'all')
    const first = await timed(take)
    console.log(`  first snapshot: ${(first / added).toFixed(2)}x git add (no goal)`)
    await take({ tidy: true }) // as at the end of each run
    await new Promise((resolve) => setTimeout(resolve, 1100)) // past the second in which git cannot tell changes by time
    const times = { status: [] as number[], same: [] as number[], changed: [] as number[] }
    for (let round = 0; round < rounds; round++) {
      times.status.push(await timed(status))
      times.same.push(await timed(take))
      for (const i of [1, 2, 3]) writeFileSync(join(work, nameOf(i * 1000)), `round ${round} ${i}\n`)
      times.changed.push(await timed(take))
    }
    await execution.destroy(handle)
    const [floor, same, changed] = [median(times.status), median(times.same), median(times.changed)]
    const spreads = Object.entries(times).map(([name, all]) => `${name} ${spread(all)}`)
    console.log(`  half of the rounds within, in ms: ${spreads.join(', ')}`)
    return [
      compare('snapshot: nothing changed, over git status', same * 1000, floor * 1000, 1.3, 'snapshot'),
      compare('snapshot: 3 files changed, over git status', changed * 1000, floor * 1000, 1.3, 'snapshot'),
    ]
  } finally {
    rmSync(root, { recursive: true, force: true })
  }
}

async function timed(work: () => Promise<void>): Promise<number> {
  const begun = performance.now()
  await work()
  return performance.now() - begun
}

function spread(values: readonly number[]): string {
  const sorted = values.toSorted((a, b) => a - b)
  const at = (part: number): string => sorted[Math.floor((sorted.length - 1) * part)]!.toFixed(0)
  return `${at(0.25)} to ${at(0.75)}`
}

const nameOf = (i: number): string => `src/part-${i % 500}/of-${i % 7}/file-${i}.ts`

function plant(work: string): void {
  for (let i = 0; i < files; i++) {
    const path = join(work, nameOf(i))
    mkdirSync(join(path, '..'), { recursive: true })
    writeFileSync(path, `export const value${i} = ${i}\n`.repeat(20))
  }
}

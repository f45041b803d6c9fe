import { mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Confinement, ExecutionHandle } from '../src/core/execution.ts'
import { createProcessContext } from '../src/execution/process.ts'
import { compare, median, type Result } from './measure.ts'

const rounds = 41
/** The model takes longer than this between two commands, and a spare sandbox is built meanwhile. */
const pauseMs = 120

const closed = { reads: [], writes: [], hidden: [], hosts: [], home: 'empty' } as const
const readOnly: Confinement = { ...closed, profile: 'read-only' }
const writing: Confinement = { ...closed, profile: 'workspace-write' }

/**
 * What a sandbox costs over the process context, for the shortest command there is. Time by the clock, because most of it
 * passes in other processes; interleaved rounds. The goals are those of a quiet machine on which a command takes 9 ms: 3 ms
 * more with a spare sandbox, 20 without, 50 in all where the workspace is written.
 */
export async function sandbox(): Promise<Result[]> {
  const cwd = realpathSync(mkdtempSync(join(tmpdir(), 'libero-bench-')))
  const execution = createProcessContext({ cwd, sandbox: 'required' })
  const [warm, plain] = [await execution.spawn(), await execution.spawn()]
  const timed = async (handle: ExecutionHandle, confinement?: Confinement): Promise<number> => {
    const begun = performance.now()
    const { exitCode } = await execution.exec(handle, 'true', confinement ? { confinement } : {})
    if (exitCode !== 0) throw new Error(`true ended with ${exitCode}`)
    return (performance.now() - begun) * 1000
  }
  /** A new handle has no spare. */
  const cold = async (): Promise<number> => {
    const handle = await execution.spawn()
    const time = await timed(handle, readOnly)
    await execution.destroy(handle)
    return time
  }
  const contenders = [() => timed(plain), () => timed(warm, readOnly), cold, () => timed(warm, writing)]
  const times = contenders.map((): number[] => [])
  try {
    for (let round = -2; round < rounds; round++)
      for (const [i, run] of contenders.entries()) {
        await sleep(pauseMs)
        const time = await run()
        if (round >= 0) times[i]!.push(time)
      }
    const [floor, spare, without, write] = times.map(median) as [number, number, number, number]
    const [floorTail, spareTail] = times.map(tail) as [number, number, number, number]
    await sleep(pauseMs)
    return [
      compare('read-only with a spare, median', spare, floor, 1.33, 'command'),
      compare('read-only with a spare, 95th percentile', spareTail, floorTail, 2, 'command'),
      compare('read-only without a spare', without, floor, 3.2, 'command'),
      compare('workspace-write', write, floor, 5.5, 'command'),
      idle(),
    ]
  } finally {
    for (const handle of [warm, plain]) await execution.destroy(handle)
    rmSync(cwd, { recursive: true, force: true })
  }
}

function tail(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length * 0.95)]!
}

/** The memory of the sandbox that waits, without what its processes share with others. */
function idle(): Result {
  const bytes = descendants(process.pid).filter(isOfSandbox).map(memoryOf)
  const value = Number((bytes.reduce((sum, one) => sum + one, 0) / 2 ** 20).toFixed(2))
  const result = { name: 'a spare that waits, MB', value, goal: 2, ok: bytes.length > 0 && value <= 2 }
  console.log(
    `${result.ok ? 'ok  ' : 'MISS'} ${result.name.padEnd(52)} ${value.toFixed(2).padStart(6)}  (goal 2)   ${bytes.length} processes`,
  )
  return result
}

function descendants(pid: number): number[] {
  const parents = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((name) => [Number(name), Number(/^PPid:\s+(\d+)/m.exec(textOf(name, 'status'))?.[1])] as const)
  const found = [pid]
  for (const one of found) found.push(...parents.filter(([, parent]) => parent === one).map(([child]) => child))
  return found.slice(1)
}

/** The keeper is there without a sandbox too. */
const isOfSandbox = (pid: number): boolean => !textOf(pid, 'cmdline').includes('libero-keeper')

const memoryOf = (pid: number): number => 1024 * Number(/^Pss:\s+(\d+)/m.exec(textOf(pid, 'smaps_rollup'))?.[1] ?? 0)

function textOf(pid: number | string, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8')
  } catch {
    return '' // ended meanwhile
  }
}

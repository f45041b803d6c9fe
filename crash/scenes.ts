import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { entriesOf } from './evidence.ts'
import { gather } from './gather.ts'
import { sendFromOutside } from './other-process.ts'
import type { Worker } from './processes.ts'
import type { StoreKind } from './stores.ts'
import { type Found, shown, Trial } from './trial.ts'
import { exits } from './worker-options.ts'

export type SceneName = 'stopped' | 'late' | 'skewed' | 'jumped' | 'abandoned' | 'expired' | 'left'

/** Situations that rarely occur by chance, step by step. */
export const scenes: Readonly<Record<SceneName, (trial: Trial) => Promise<void>>> = {
  stopped,
  late,
  skewed,
  jumped,
  abandoned,
  expired,
  left,
}

/**
 * A writer is stopped before a commit. Another process takes the session and dies before it writes, so that only the epoch
 * keeps the first writer from the log.
 */
async function stopped(trial: Trial): Promise<void> {
  const stale = trial.start({ at: { name: 'commit.before:call_result', hit: 2, signal: 'SIGSTOP' } })
  await isStopped(trial, stale.pid)
  await trial.run({ takeOver: true, at: { name: 'lease.take.after', hit: 1, signal: 'SIGKILL' } })
  stale.kill('SIGCONT')
  await mustHaveLost(trial, stale)
  await trial.finish()
}

/** A process reads a session, and others write to it before it has the lease: it must read the new entries first. */
async function late(trial: Trial): Promise<void> {
  await trial.run({ at: { name: 'effect.after:send', hit: 1, signal: 'SIGKILL' } })
  await trial.check('after the crash')
  const reader = trial.start({ at: { name: 'lease.take.before', hit: 1, signal: 'SIGSTOP' } })
  await isStopped(trial, reader.pid)
  await trial.run({ at: { name: 'effect.after:nest', hit: 1, signal: 'SIGKILL' } })
  await trial.check('after others wrote')
  reader.kill('SIGCONT')
  const exit = await reader.ended
  await trial.check('after the reader wrote')
  if (exit.code !== exits.done)
    trial.report({ id: 'I8', what: `the reader ended by ${shown(exit)}` }, 'after it continued')
  await trial.finish()
}

/** The clock is set back by an hour between processes, repeatedly. */
async function skewed(trial: Trial): Promise<void> {
  for (const [i, name] of ['effect.after:send', 'effect.after:nest', 'effect.after:spawn'].entries()) {
    await trial.run({ skewMs: -3_600_000 * i, at: { name, hit: 1, signal: 'SIGKILL' } })
    await trial.check(`after crash ${i + 1}`)
  }
  await trial.finish({ skewMs: -10_800_000 })
}

/** The clock jumps by an hour while a process writes: on one machine that does not free its session. */
async function jumped(trial: Trial): Promise<void> {
  const hold = join(trial.folder, 'go')
  const holder = trial.start({ hold, leaseMs: 1000 })
  await holder.linesUntil(4) // it has the lease, and waits in its run
  const rival = await trial.run({ skewMs: 3_600_000 })
  if (rival.code !== exits.busy)
    trial.report({ id: 'I6', what: `a rival whose clock is ahead ended by ${shown(rival)}` }, 'while one writes')
  writeFileSync(hold, '')
  const exit = await holder.ended
  if (exit.code !== exits.done)
    trial.report({ id: 'I6', what: `the writer ended by ${shown(exit)}` }, 'after the clock jumped')
  await trial.finish()
}

/** Processes leave the run, one after the other, each at another point. None of that is a crash. */
async function left(trial: Trial): Promise<void> {
  for (const name of ['commit.after:turn', 'effect.after:send', 'commit.before:call_started', 'effect.after:spawn']) {
    const exit = await trial.run({ at: { name, hit: 1, signal: 'leave' } })
    await trial.check(`after a process left at ${name}`)
    if (exit.code !== exits.left && exit.code !== exits.done)
      trial.report({ id: 'I8', what: `a process that left ended by ${shown(exit)}` }, `at ${name}`)
  }
  await trial.finish()
  const { sessions } = await gather(trial.options.kind, trial.folder, {
    isDone: true,
    isQuiet: true,
    earlier: undefined,
  })
  for (const [session, entries] of Object.entries(sessions))
    for (const { stop } of entriesOf(entries, 'run_ended'))
      if (stop === 'crashed' || stop === 'aborted')
        trial.report({ id: 'I8', what: `a run of ${session} that was left is logged as ${stop}` }, 'at the end')
}

/** A child was running when its process died, and then the user steers in another direction. */
async function abandoned(trial: Trial): Promise<void> {
  // The third `send` is that of the child.
  await trial.run({ at: { name: 'effect.after:send', hit: 3, signal: 'SIGKILL' } })
  await trial.check('after the crash')
  await sendFromOutside(trial.options.kind, trial.folder, 'steer-away')
  await trial.check('after the message')
  await trial.finish()
}

/** A writer is stopped until its lease has expired. Its process lives, so that only a take-over frees the session. */
async function expired(trial: Trial): Promise<void> {
  const at = { name: 'commit.before:turn', hit: 3, signal: 'SIGSTOP' } as const
  const stale = trial.start({ leaseMs: 200, at })
  await isStopped(trial, stale.pid)
  await new Promise((resolve) => setTimeout(resolve, 400))
  const rival = await trial.run()
  if (rival.code !== exits.busy) trial.report({ id: 'I6', what: `a rival ended by ${shown(rival)}` }, 'meanwhile')
  const exit = await trial.run({ takeOver: true })
  if (exit.code !== exits.done) trial.report({ id: 'I6', what: `the next writer ended by ${shown(exit)}` }, 'meanwhile')
  stale.kill('SIGCONT')
  await mustHaveLost(trial, stale)
  await trial.finish()
}

async function mustHaveLost(trial: Trial, stale: Worker): Promise<void> {
  const exit = await stale.ended
  await trial.check('after the stopped process continued')
  if (exit.code !== exits.leaseLost)
    trial.report({ id: 'I6', what: `a writer that lost its lease ended by ${shown(exit)}` }, 'after it continued')
}

async function isStopped(trial: Trial, pid: number): Promise<void> {
  for (let i = 0; i < 1000; i++) {
    await new Promise((resolve) => setTimeout(resolve, 5))
    const state = stateOf(pid)
    if (state === 'T') return
    if (state === undefined || state === 'Z') break
  }
  trial.report({ id: 'I8', what: `process ${pid} did not reach the failpoint at which it should stop` }, 'meanwhile')
}

/** `T` if a process is stopped; undefined if there is none. */
function stateOf(pid: number): string | undefined {
  if (process.platform !== 'linux') return spawnSync('ps', ['-o', 'state=', '-p', String(pid)]).stdout.toString()[0]
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/^.*\) /s, '')[0]
  } catch {
    return undefined
  }
}

export const sceneNames = Object.keys(scenes) as readonly SceneName[]

/** Runs these scenes on these stores. */
export async function playScenes(
  kinds: readonly StoreKind[],
  cache: string,
  names: readonly SceneName[] = sceneNames,
): Promise<readonly Found[]> {
  const found: Found[] = []
  for (const kind of kinds)
    for (const name of names) {
      const trial = new Trial({ kind, cache, name: `scene "${name}"` })
      await scenes[name](trial)
      found.push(...trial.found)
      trial.close()
    }
  return found
}

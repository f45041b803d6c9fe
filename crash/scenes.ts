import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { sendFromOutside } from './outsider.ts'
import type { World } from './processes.ts'
import type { StoreKind } from './stores.ts'
import { type Found, shown, Voyage } from './voyage.ts'
import { exits } from './world-options.ts'

export type SceneName = 'stopped' | 'late' | 'skewed' | 'abandoned' | 'expired'

/** Situations that chance seldom brings about, step by step. */
export const scenes: Readonly<Record<SceneName, (voyage: Voyage) => Promise<void>>> = {
  stopped,
  late,
  skewed,
  abandoned,
  expired,
}

/**
 * A writer stops in front of a commit. Somebody takes the session and dies before he has written a word, so that all that
 * stands between the first one and the log is the epoch.
 */
async function stopped(voyage: Voyage): Promise<void> {
  const stale = voyage.start({ at: { name: 'commit.before:call_result', hit: 2, signal: 'SIGSTOP' } })
  await isStopped(voyage, stale.pid)
  await voyage.run({ takeOver: true, at: { name: 'lease.take.after', hit: 1, signal: 'SIGKILL' } })
  stale.kill('SIGCONT')
  await mustHaveLost(voyage, stale)
  await voyage.finish()
}

/** Somebody reads a session, and others write to it before he has the right to: he has to catch up first. */
async function late(voyage: Voyage): Promise<void> {
  await voyage.run({ at: { name: 'effect.after:send', hit: 1, signal: 'SIGKILL' } })
  await voyage.check('after the crash')
  const reader = voyage.start({ at: { name: 'lease.take.before', hit: 1, signal: 'SIGSTOP' } })
  await isStopped(voyage, reader.pid)
  await voyage.run({ at: { name: 'effect.after:nest', hit: 1, signal: 'SIGKILL' } })
  await voyage.check('after others wrote')
  reader.kill('SIGCONT')
  const exit = await reader.ended
  await voyage.check('after the reader wrote')
  if (exit.code !== exits.done)
    voyage.report({ id: 'I8', what: `the reader ended by ${shown(exit)}` }, 'after it went on')
  await voyage.finish()
}

/** The clock goes back an hour between two processes, and another hour. */
async function skewed(voyage: Voyage): Promise<void> {
  for (const [i, name] of ['effect.after:send', 'effect.after:nest', 'effect.after:spawn'].entries()) {
    await voyage.run({ skewMs: -3_600_000 * i, at: { name, hit: 1, signal: 'SIGKILL' } })
    await voyage.check(`after crash ${i + 1}`)
  }
  await voyage.finish({ skewMs: -10_800_000 })
}

/** A child was at work when its process died, and the user has something else in mind by then. */
async function abandoned(voyage: Voyage): Promise<void> {
  // The third to be sent is the child's.
  await voyage.run({ at: { name: 'effect.after:send', hit: 3, signal: 'SIGKILL' } })
  await voyage.check('after the crash')
  await sendFromOutside(voyage.options.kind, voyage.folder, 'steer-away')
  await voyage.finish()
}

/** A writer stops for longer than its lease lasts, so that nobody has to take the session from it: it is free. */
async function expired(voyage: Voyage): Promise<void> {
  const at = { name: 'commit.before:turn', hit: 3, signal: 'SIGSTOP' } as const
  const stale = voyage.start({ leaseMs: 200, at })
  await isStopped(voyage, stale.pid)
  let exit = await voyage.run()
  for (let tries = 0; exit.code === exits.busy && tries < 20; tries++) exit = await voyage.run()
  if (exit.code !== exits.done)
    voyage.report({ id: 'I6', what: `the next writer ended by ${shown(exit)}` }, 'on the way')
  stale.kill('SIGCONT')
  await mustHaveLost(voyage, stale)
  await voyage.finish()
}

async function mustHaveLost(voyage: Voyage, stale: World): Promise<void> {
  const exit = await stale.ended
  await voyage.check('after the stopped one went on')
  if (exit.code !== exits.leaseLost)
    voyage.report({ id: 'I6', what: `a writer that was shut out ended by ${shown(exit)}` }, 'after it went on')
}

async function isStopped(voyage: Voyage, pid: number): Promise<void> {
  for (let i = 0; i < 1000; i++) {
    await new Promise((resolve) => setTimeout(resolve, 5))
    const state = stateOf(pid)
    if (state === 'T') return
    if (state === undefined || state === 'Z') break
  }
  voyage.report({ id: 'I8', what: `process ${pid} did not come to the place where it was to stop` }, 'on the way')
}

/** `T` where a process is stopped; undefined where there is none. */
function stateOf(pid: number): string | undefined {
  if (process.platform !== 'linux') return spawnSync('ps', ['-o', 'state=', '-p', String(pid)]).stdout.toString()[0]
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/^.*\) /s, '')[0]
  } catch {
    return undefined
  }
}

/** Every scene on every store, as they are. */
export async function playScenes(kinds: readonly StoreKind[], cache: string): Promise<readonly Found[]> {
  const found: Found[] = []
  for (const kind of kinds)
    for (const [name, scene] of Object.entries(scenes)) {
      const voyage = new Voyage({ kind, cache, name: `scene "${name}"` })
      await scene(voyage)
      found.push(...voyage.found)
      voyage.close()
    }
  return found
}

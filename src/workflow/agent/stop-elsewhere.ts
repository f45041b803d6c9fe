import type { Clock } from '../../core/clock.ts'
import type { Session, SessionStore } from '../../core/store.ts'

export interface StopElsewhereOptions {
  readonly agentId: string
  readonly session: Session
  readonly store: SessionStore
  readonly clock: Clock
  /** Stands for a run that has not said yet that it began. */
  readonly beginning: string
  /** The run that is under way in another process, by all that is written by now. */
  readonly findRun: () => Promise<string | undefined>
  /** How far the log is known. */
  readonly head: () => number
  /** Takes the right to write for a moment, and settles what a dead process left. False where somebody else has it. */
  readonly settle: () => Promise<boolean>
}

/** How long another process may take to stop. */
const patienceMs = 10_000
/** How often we look whether it died over it: of that its log says nothing. */
const lookMs = 1000

/** Stops the run of an agent that another process works on, and resolves when it has ended, by itself or with its process. */
export async function stopElsewhere(options: StopElsewhereOptions): Promise<void> {
  const { agentId, session, clock, beginning, findRun, settle } = options
  const until = clock.now() + patienceMs
  let told: string | undefined
  for (let run = await findRun(); run !== undefined; run = await findRun()) {
    if (told !== undefined && told !== beginning && told !== run) return // that one is over; who works now was told something new
    if (run !== told) await session.send({ mode: 'stop', clientKey: `stop/${run}`, content: [] })
    told = run
    if (await settle()) return
    if (clock.now() >= until)
      throw new Error(
        `agent ${agentId} is at work in another process, which was told to stop and has not after ${patienceMs / 1000} s; it stops when that process looks, or as soon as it is gone: try again later`,
      )
    await endOrPause(options, run)
  }
}

/** Until the run has ended, or for a while. */
async function endOrPause({ store, clock, agentId, head }: StopElsewhereOptions, runId: string): Promise<void> {
  const done = new AbortController()
  const callOff = clock.timer(lookMs, () => done.abort())
  try {
    for await (const { entries } of store.watch(agentId, { after: head(), signal: done.signal }))
      if (
        entries.some((entry) => entry.type === 'run_ended' || (entry.type === 'run_started' && entry.runId !== runId))
      )
        return
  } finally {
    callOff()
    done.abort()
  }
}

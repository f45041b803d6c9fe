import { Deadline } from './clock.ts'
import type { Run } from './run.ts'
import { Stop } from './stop.ts'
import { abortedText, answer, gateCall, type PreparedCall, prepareCall, settleCall, type Verdict } from './tool-call.ts'
import type { SessionTurn } from './turn.ts'

/**
 * Answers every open call of a turn. Neighbours that may share run together as one wave; any other call is a wave of
 * its own. Comes back with a reason when the run has to be suspended; the calls without an answer then stay open.
 */
export async function runToolBatch(run: Run, turn: SessionTurn): Promise<string | undefined> {
  run.counts.refresh()
  const calls = run.log.transcript.openCalls.map((call) => prepareCall(run, turn.id, call))
  const deadline = new Deadline(run.clock)
  try {
    for (const wave of wavesOf(calls)) {
      const suspended = wave.length === 1 ? await runAlone(run, wave[0]!, deadline) : await runWave(run, wave)
      if (suspended !== undefined) return suspended
    }
  } finally {
    deadline.close()
  }
  return undefined
}

async function runAlone(run: Run, one: PreparedCall, deadline: Deadline): Promise<string | undefined> {
  const gate = interruption(run) ? undefined : await gateCall(run, one)
  if (gate?.halt && !gate.block) return gate.halt.reason
  const reason = interruption(run)
  if (reason || !gate)
    return void (await answer(run, one.call, reason?.text ?? abortedText, reason?.outcome ?? 'aborted'))
  const { suspended } = await settleCall(run, one, gate, { stop: run.stop, deadline, cancelledBy: nobody })
  return suspended
}

const nobody = (): undefined => undefined

/** Permission is asked in call order before anything starts, because a person answers one question at a time. */
async function runWave(run: Run, calls: readonly PreparedCall[]): Promise<string | undefined> {
  const gated: [PreparedCall, Verdict][] = []
  for (const call of calls) {
    const gate = interruption(run) ? undefined : await gateCall(run, call)
    if (gate?.halt && !gate.block) return gate.halt.reason
    gated.push([call, gate])
  }

  const stop = new Stop(run.stop)
  let culprit: string | undefined
  let suspended: string | undefined
  const waiting = gated.values()
  const lane = async (): Promise<void> => {
    const deadline = new Deadline(run.clock)
    const around = { stop, deadline, cancelledBy: () => (run.stop.stopped ? undefined : culprit) }
    try {
      for (const [one, gate] of waiting) {
        const reason = interruption(run) ?? cancellation(culprit)
        if (reason || !gate) {
          await answer(run, one.call, reason?.text ?? abortedText, reason?.outcome ?? 'aborted')
          continue
        }
        const settled = await settleCall(run, one, gate, around)
        suspended ??= settled.suspended
        if (settled.isError && one.tool?.cancelsSiblings && culprit === undefined) {
          culprit = one.call.name
          stop.stop(new Error(`${culprit} failed`))
        }
      }
    } finally {
      deadline.close()
    }
  }
  try {
    await allOrStop(Array.from({ length: Math.min(gated.length, run.behavior.maxConcurrentTools) }, lane), stop)
  } finally {
    stop.release()
  }
  return suspended
}

/** If one lane breaks (the log cannot be written) the others are stopped and awaited: no tool outlives its run unseen. */
async function allOrStop(lanes: readonly Promise<void>[], stop: Stop): Promise<void> {
  for (const lane of lanes) lane.catch((error) => stop.stop(error))
  const broken = (await Promise.allSettled(lanes)).find((lane) => lane.status === 'rejected')
  if (broken) throw broken.reason
}

/** Looked at before every start: the user may have changed his mind. */
function interruption(run: Run): { outcome: 'aborted' | 'skipped'; text: string } | undefined {
  if (run.stop.stopped) return { outcome: 'aborted', text: abortedText }
  if (run.inbox.hasSteering) return { outcome: 'skipped', text: skippedText }
  return undefined
}

export const skippedText = 'Skipped: the user sent a new message'

const cancellation = (culprit: string | undefined): { outcome: 'cancelled'; text: string } | undefined =>
  culprit === undefined ? undefined : { outcome: 'cancelled', text: `Cancelled: ${culprit} failed` }

function wavesOf(calls: readonly PreparedCall[]): PreparedCall[][] {
  const waves: PreparedCall[][] = []
  let mayJoin = false
  for (const call of calls) {
    const shares = mayShare(call)
    if (mayJoin && shares) waves.at(-1)!.push(call)
    else waves.push([call])
    mayJoin = shares
  }
  return waves
}

function mayShare({ tool, about }: PreparedCall): boolean {
  const safe = tool?.isConcurrencySafe ?? false
  try {
    return typeof safe === 'function' ? Boolean(safe(about.input)) : safe
  } catch {
    return false
  }
}

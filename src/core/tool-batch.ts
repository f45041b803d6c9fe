import { CallTimer } from './call-timer.ts'
import { Cancellation, isLeaving, isThenable, orCancelled } from './cancellation.ts'
import { AgentProviderError } from './errors.ts'
import { type PreparedCall, prepareCall } from './prepared-call.ts'
import type { Run } from './run.ts'
import { closeCallsOfChildAgentsIfAny, executeCall, SiblingFailed } from './tool-call.ts'
import { type GateVerdict, gateCall } from './tool-gate.ts'
import {
  abortedResult,
  abortedText,
  type CallResult,
  leftOpen,
  logErrorWithoutHooks,
  skippedText,
  suspendedResult,
} from './tool-result.ts'
import type { Transcript } from './transcript.ts'
import type { SessionTurn } from './turn.ts'
import type { MaybePromise } from './waiting.ts'

/**
 * Answers every open call of a turn. Neighbouring calls that are safe to run concurrently form one wave; any other call
 * is a wave of its own. Returns why the run must be suspended, if it must; calls without an answer then stay open.
 */
export async function runToolBatch(run: Run, turn: SessionTurn): Promise<string | undefined> {
  const calls = run.log.transcript.openCalls.map((call) => prepareCall(run, turn.id, call))
  for (const wave of await wavesOf(run, calls)) {
    refreshCounts(run)
    const { suspendReason: reason } = wave.length === 1 ? await runAlone(run, wave[0]!) : await runWave(run, wave)
    if (reason !== undefined && !run.cancellation.isCancelled) return reason
    // This process leaves the run, whose open calls stay open for the process that continues the run. The returned 'left' is never
    // shown: the run is also cancelled, and the loop checks that first.
    if (isLeaving(run)) return 'left'
  }
  // Calls are still open here only if the run was cancelled. They get results even if a gate or a tool asked to suspend the run: a
  // cancelled run is not suspended.
  const open = run.log.transcript.openCalls.map(({ id }) => id)
  await closeCallsOfChildAgentsIfAny(run, ...open)
  for (const id of open) await run.log.append(abortedResult(run.log.transcript, id))
  if (!run.cancellation.isCancelled) failAfterRepeatedBadArguments(run, turn)
  return undefined
}

async function wavesOf(run: Run, calls: readonly PreparedCall[]): Promise<PreparedCall[][]> {
  if (calls.length < 2) return calls.map((call) => [call])
  const answers = calls.map((call) => isConcurrencySafe(run, call))
  const waves: PreparedCall[][] = []
  let isPreviousSafe = false
  for (const [i, call] of calls.entries()) {
    const isSafe = await answers[i]!
    if (isPreviousSafe && isSafe) waves.at(-1)!.push(call)
    else waves.push([call])
    isPreviousSafe = isSafe
  }
  return waves
}

/** Asks the tool. If the tool throws, or the run is cancelled before the tool answers, the call counts as not safe. */
function isConcurrencySafe({ cancellation }: Run, { tool, callInfo }: PreparedCall): MaybePromise<boolean> {
  const safe = tool?.isConcurrencySafe ?? false
  try {
    const answer: unknown = typeof safe === 'function' ? safe(callInfo.input) : safe
    if (!isThenable(answer)) return Boolean(answer)
    return orCancelled(Promise.resolve(answer), cancellation).then(Boolean, () => false)
  } catch {
    return false
  }
}

/** Refreshes the snapshot of the counts of calls that hooks see (`runToolCounts`) once per wave, and only if a hook can see it. */
function refreshCounts({ hooks, tools }: Run): void {
  if (hooks.has('tool:gate') || hooks.has('tool:before') || hooks.has('tool:after')) tools.counts.refresh()
}

function runAlone(run: Run, prepared: PreparedCall): MaybePromise<CallResult> {
  const gated = noStartReason(run) ?? gateCall(run, prepared)
  if (!(gated instanceof Promise)) return runAfterGate(run, prepared, gated ?? aborted, run.callTimer)
  return gated.then((verdict) => runAfterGate(run, prepared, verdict ?? aborted, run.callTimer))
}

/** All gates are asked in call order before any call starts, because a person answers one question at a time. */
async function runWave(
  run: Run,
  calls: readonly PreparedCall[],
): Promise<{ readonly suspendReason?: string | undefined }> {
  const gatedCalls: [PreparedCall, GateVerdict | NoStart][] = []
  for (const call of calls) {
    const gated = noStartReason(run) ?? (await gateCall(run, call)) ?? aborted
    const halt = haltOf(gated)
    if (halt) return suspendedResult(halt)
    gatedCalls.push([call, gated])
  }

  const cancellation = new Cancellation(run.cancellation)
  const outcome: { suspendReason?: string | undefined } = {}
  const remainingCalls = gatedCalls.values() // one iterator for all workers: each call goes to the next free one
  const work = async (): Promise<void> => {
    const timer = new CallTimer(run.clock, cancellation)
    try {
      for (const [prepared, gated] of remainingCalls) {
        const { hasFailed, suspendReason } = await runAfterGate(run, prepared, gated, timer)
        outcome.suspendReason ??= suspendReason
        if (hasFailed && prepared.tool?.cancelsSiblings)
          cancellation.cancel(new SiblingFailed(prepared.callInfo.displayName))
      }
    } finally {
      timer.close()
    }
  }
  const workers = Math.min(gatedCalls.length, run.settings.behavior.maxConcurrentTools)
  try {
    await allOrCancel(Array.from({ length: workers }, work), cancellation)
  } finally {
    cancellation.release()
  }
  return outcome
}

/**
 * If one worker fails (the log cannot be written), cancels the others and waits until none works on a call. A tool that
 * ignores its signal may go on after that; what it returns is dropped.
 */
async function allOrCancel(workers: readonly Promise<void>[], cancellation: Cancellation): Promise<void> {
  for (const worker of workers) worker.catch((error) => cancellation.cancel(error))
  const failed = (await Promise.allSettled(workers)).find((worker) => worker.status === 'rejected')
  if (failed) throw failed.reason
}

/**
 * Runs a call after its gate, unless the gate halted it, or there is a reason not to start it. `gated` is the gate's verdict or, if it
 * gave none, the reason for that. A call with such a reason never runs, even if the reason no longer holds (the steering was
 * withdrawn), because no gate has allowed it.
 */
function runAfterGate(
  run: Run,
  prepared: PreparedCall,
  gated: GateVerdict | NoStart,
  timer: CallTimer,
): MaybePromise<CallResult> {
  const halt = haltOf(gated)
  if (halt) return suspendedResult(halt)
  if (isLeaving(run)) return leftOpen()
  const noStart = noStartReason(run) ?? siblingFailure(timer)
  if (noStart) return answerWithoutRunning(run, prepared, noStart)
  return gated instanceof NoStart
    ? answerWithoutRunning(run, prepared, gated)
    : executeCall(run, prepared, gated, timer)
}

/** The halt of the gate, unless another handler blocked the call. */
const haltOf = (gated: GateVerdict | NoStart): GateVerdict['halt'] =>
  gated instanceof NoStart || gated.block ? undefined : gated.halt

/** Why a call does not start. */
class NoStart {
  readonly outcome: 'aborted' | 'skipped' | 'cancelled'
  readonly textOf: (transcript: Transcript, callId: string) => string

  constructor(outcome: NoStart['outcome'], textOf: NoStart['textOf']) {
    this.outcome = outcome
    this.textOf = textOf
  }
}

const aborted = new NoStart('aborted', abortedText)
const skipped = new NoStart('skipped', skippedText)

/** The reason not to start any call, if there is one: the run was cancelled, or the user sent a message. */
function noStartReason(run: Run): NoStart | undefined {
  if (run.cancellation.isCancelled) return aborted
  return run.inbox.hasSteering ? skipped : undefined
}

/** A failed call cancels the calls beside it: the timers of a wave share one cancellation. */
function siblingFailure({ cancellation: { reason } }: CallTimer): NoStart | undefined {
  if (!(reason instanceof SiblingFailed)) return undefined
  return new NoStart('cancelled', (transcript, callId) => abortedText(transcript, callId, reason.message))
}

/** Answers a call without running it. The call may have begun in an earlier run. */
function answerWithoutRunning(run: Run, { call }: PreparedCall, noStart: NoStart): MaybePromise<CallResult> {
  const text = noStart.textOf(run.log.transcript, call.id)
  const { outcome } = noStart
  const childCallsClosed = closeCallsOfChildAgentsIfAny(run, call.id)
  if (!childCallsClosed) return logErrorWithoutHooks(run, call, text, outcome)
  return childCallsClosed.then(() => logErrorWithoutHooks(run, call, text, outcome))
}

/** Ends the run if the model repeatedly writes unreadable arguments, although each result tells the model what is wrong. */
function failAfterRepeatedBadArguments({ progress, provider }: Run, { content }: SessionTurn): void {
  const hasReadableCall = content.some((block) => block.type === 'tool_call' && block.unreadable === undefined)
  progress.unreadableTurns = hasReadableCall ? 0 : progress.unreadableTurns + 1
  if (progress.unreadableTurns < maxUnreadableTurns) return
  const { name } = provider.meta
  throw new AgentProviderError(
    `Provider "${name}": the model wrote tool arguments that are not valid JSON in ${maxUnreadableTurns} turns in a row; try another model`,
    { provider: name, providerCode: 'unreadable_arguments', retryable: false },
  )
}

const maxUnreadableTurns = 3

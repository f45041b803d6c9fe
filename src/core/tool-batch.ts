import { CallTimer } from './call-timer.ts'
import { Cancellation } from './cancellation.ts'
import { AgentProviderError } from './errors.ts'
import type { Run } from './run.ts'
import { abandonIfBegun, answer, type CallResult, executeCall, SiblingFailed, suspendedBy } from './tool-call.ts'
import { gateCall, type PreparedCall, prepareCall, type Verdict } from './tool-gate.ts'
import { abortedResult, interruptedText, stopped, syntheticText } from './tool-output.ts'
import type { SessionTurn } from './turn.ts'

/**
 * Answers every open call of a turn. Neighbours that may share run together as one wave; any other call is a wave of
 * its own. Comes back with a reason when the run has to be suspended; the calls without an answer then stay open.
 */
export async function runToolBatch(run: Run, turn: SessionTurn): Promise<string | undefined> {
  const calls = run.log.transcript.openCalls.map((call) => prepareCall(run, turn.id, call))
  for (const wave of wavesOf(calls)) {
    refreshCounts(run)
    const { suspended } = wave.length === 1 ? await runAlone(run, wave[0]!) : await runWave(run, wave)
    if (suspended !== undefined && !run.cancellation.isCancelled) return suspended
  }
  // An abort beats a suspension: what it left open is answered too.
  const open = run.log.transcript.openCalls.map(({ id }) => id)
  await abandonIfBegun(run, ...open)
  for (const id of open) await run.log.append(abortedResult(run.log.transcript, id))
  if (!run.cancellation.isCancelled) countUnreadable(run, turn)
  return undefined
}

/** A model that cannot write arguments is told why; if that does not help, it is not told for ever. */
function countUnreadable({ progress, provider }: Run, { content }: SessionTurn): void {
  const isReadable = content.some((block) => block.type === 'tool_call' && block.unreadable === undefined)
  progress.unreadableTurns = isReadable ? 0 : progress.unreadableTurns + 1
  if (progress.unreadableTurns < mostUnreadableTurns) return
  const { name } = provider.meta
  throw new AgentProviderError(
    `Provider "${name}": the model wrote tool arguments that are no JSON in ${mostUnreadableTurns} turns in a row; try another model`,
    { provider: name, providerCode: 'unreadable_arguments', retryable: false },
  )
}

const mostUnreadableTurns = 3

/** What hooks see are the counts from before a wave; nobody counts for those who do not look. */
function refreshCounts({ hooks, tools }: Run): void {
  if (hooks.has('tool:gate') || hooks.has('tool:before') || hooks.has('tool:after')) tools.counts.refresh()
}

function runAlone(run: Run, one: PreparedCall): CallResult | Promise<CallResult> {
  const asked = interruption(run) ? undefined : gateCall(run, one)
  if (!(asked instanceof Promise)) return settle(run, one, asked, run.callTimer)
  return asked.then((gate) => settle(run, one, gate, run.callTimer))
}

/** Permission is asked in call order before anything starts, because a person answers one question at a time. */
async function runWave(run: Run, calls: readonly PreparedCall[]): Promise<Suspension> {
  const gated: [PreparedCall, Verdict][] = []
  for (const call of calls) {
    const gate = interruption(run) ? undefined : await gateCall(run, call)
    if (gate?.halt && !gate.block) return suspendedBy(gate.halt)
    gated.push([call, gate])
  }

  const stop = new Cancellation(run.cancellation)
  const ended: Suspension = {}
  const waiting = gated.values()
  const work = async (): Promise<void> => {
    const lane = new CallTimer(run.clock, stop)
    try {
      for (const [one, gate] of waiting) {
        const { hasFailed, suspended } = await settle(run, one, gate, lane)
        if (suspended !== undefined) ended.suspended ??= suspended
        if (hasFailed && one.tool?.cancelsSiblings) stop.cancel(new SiblingFailed(one.callInfo.displayName))
      }
    } finally {
      lane.close()
    }
  }
  try {
    await allOrStop(
      Array.from({ length: Math.min(gated.length, run.settings.behavior.maxConcurrentTools) }, work),
      stop,
    )
  } finally {
    stop.release()
  }
  return ended
}

interface Suspension {
  suspended?: string
}

/** A call whose gate has spoken. Interruptions are looked for before every start: the user may have changed his mind. */
function settle(run: Run, one: PreparedCall, gate: Verdict, lane: CallTimer): CallResult | Promise<CallResult> {
  if (gate?.halt && !gate.block) return suspendedBy(gate.halt)
  const reason = interruption(run) ?? cancellation(lane)
  if (reason || !gate) return leave(run, one, reason ?? { outcome: 'aborted', text: syntheticText.aborted })
  return executeCall(run, one, gate, lane)
}

function leave(run: Run, { call }: PreparedCall, { text, outcome }: Reason): CallResult | Promise<CallResult> {
  const start = run.log.transcript.startOf(call.id)
  const told = start && outcome === 'aborted' ? interruptedText(stopped, start) : text
  const abandoning = abandonIfBegun(run, call.id)
  if (!abandoning) return answer(run, call, told, outcome)
  return abandoning.then(() => answer(run, call, told, outcome))
}

/** If one lane breaks (the log cannot be written) the others are stopped and awaited: no tool outlives its run unseen. */
async function allOrStop(lanes: readonly Promise<void>[], stop: Cancellation): Promise<void> {
  for (const lane of lanes) lane.catch((error) => stop.cancel(error))
  const broken = (await Promise.allSettled(lanes)).find((lane) => lane.status === 'rejected')
  if (broken) throw broken.reason
}

interface Reason {
  readonly outcome: 'aborted' | 'skipped' | 'cancelled'
  readonly text: string
}

function interruption(run: Run): Reason | undefined {
  if (run.cancellation.isCancelled) return { outcome: 'aborted', text: syntheticText.aborted }
  if (run.inbox.hasSteering) return { outcome: 'skipped', text: syntheticText.skipped }
  return undefined
}

function cancellation({ cancellation: stop }: CallTimer): Reason | undefined {
  return stop.reason instanceof SiblingFailed ? { outcome: 'cancelled', text: stop.reason.message } : undefined
}

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

function mayShare({ tool, callInfo: about }: PreparedCall): boolean {
  const safe = tool?.isConcurrencySafe ?? false
  try {
    return typeof safe === 'function' ? Boolean(safe(about.input)) : safe
  } catch {
    return false
  }
}

import { CallTimer, TimeLimitError } from './call-timer.ts'
import { isLeaving, isThenable, waitCancelled } from './cancellation.ts'
import { injectOutcomesIntoInput } from './edit-outcomes.ts'
import { LeaseLostError, messageOf, printable } from './errors.ts'
import type { HookContexts } from './hook-map.ts'
import { didYouMean } from './nearest.ts'
import { type PreparedCall, prepareCall } from './prepared-call.ts'
import { shownName } from './provider.ts'
import type { Run } from './run.ts'
import { defaultTimeoutMs, originOf, type ToolDef } from './tool.ts'
import { CallContext, type CallNested, Suspended } from './tool-context.ts'
import { type GateResult, gateCall } from './tool-gate.ts'
import type { ToolHookContext } from './tool-hooks.ts'
import {
  type CallResult,
  interruptedText,
  logResult,
  type NormalizedResult,
  normalizeHandlerResult,
  normalizeResult,
  processLeftText,
  runResultHooksAndLog,
  runStoppedText,
  suspendedResult,
  syntheticText,
} from './tool-result.ts'
import { copyJson, type ToolCallBlock } from './turn.ts'
import type { MaybePromise } from './waiting.ts'

/** Executes a call whose gate was asked, inside the `around` handlers for tool calls, if there are any. */
export function executeCall(run: Run, prepared: PreparedCall, gate: GateResult, timer: CallTimer): Promise<CallResult> {
  if (!run.hooks.isWrapped('tool') || !willRun(prepared, gate)) return executeUnwrapped(run, prepared, gate, timer)
  const { callInfo, call, tool } = prepared
  const { attempt } = nextStart(run, call)
  const mcp = tool.mcp && { mcp: { server: tool.mcp.server, tool: tool.mcp.tool } }
  return run.hooks.wrap({
    kind: 'tool',
    ctx: { ...callInfo, run: run.facts, turn: run.progress.turnNumber, attempt, origin: originOf(tool), ...mcp },
    work: () => executeUnwrapped(run, prepared, gate, timer),
    onNotRun: async (error) => {
      await closeChildCallsIfStarted(run, call.id)
      return answerFailure(run, prepared, error, timer)
    },
  })
}

const willRun = (prepared: PreparedCall, gate: GateResult): prepared is PreparedCall & { tool: ToolDef } =>
  !gate.block && gate.result === undefined && prepared.tool !== undefined && prepared.validation.valid

/** Applies the decision of the gate, runs the tool and logs the result. */
async function executeUnwrapped(
  run: Run,
  prepared: PreparedCall,
  gate: GateResult,
  timer: CallTimer,
): Promise<CallResult> {
  const { call, tool, validation, callInfo } = prepared
  const { hooks } = run
  if (!willRun(prepared, gate)) await closeChildCallsIfStarted(run, call.id)
  if (gate.block)
    return logResult(run, call, `Blocked: ${printable(gate.reason) || 'this call is not allowed'}`, 'blocked')
  if (gate.result !== undefined)
    return runResultHooksAndLog(run, callInfo, normalizeHandlerResult(gate.result), 'substituted')
  if (!tool) return answerUnknown(run, prepared)
  if (!validation.valid) {
    await hooks.tell('validation:reject', { ...callInfo, error: validation.error })
    return logResult(run, call, `Validation error: ${validation.error}`, 'invalid')
  }
  const coercions = validation.coercions && { coercions: validation.coercions }
  if (coercions) await hooks.tell('validation:coerce', { ...callInfo, ...coercions })

  const start = nextStart(run, call)
  const { replay = 'opaque', timeoutMs = defaultTimeoutMs } = tool
  // The start is logged before the tool can have effects. A pure call has none, so it needs no entry, unless `beforeTool` is
  // set: it records that a person's approval was used, and that must come after a logged start.
  const logging = (replay !== 'pure' || gate.beforeTool) && logCallStart(run, call, tool, start)
  if (logging) await logging
  try {
    await gate.beforeTool?.()
  } catch (error) {
    return answerFailure(run, prepared, error, timer)
  }
  const context = new CallContext(run, callInfo, timer, start, {
    callNested: executeNested,
    confinement: gate.confinement,
    beforeCommands: gate.beforeCommands,
  })
  if (tool.before || hooks.has('tool:before')) {
    const extra = await extraFieldsFor(tool, callInfo, context, timeoutMs)
    const runToolCounts = run.tools.counts.snapshot
    await hooks.tell('tool:before', { ...callInfo, ...coercions, ...extra, runToolCounts })
  }
  if (timer.cancellation.isCancelled) {
    await closeChildCallsAfter(run, context, timer, waitCancelled)
    return answerFailure(run, prepared, waitCancelled, timer)
  }
  let result: NormalizedResult
  try {
    // Nothing but the tool runs in this block: a log that cannot be written must not be taken for a tool error.
    const given = prepared.parsed ?? copyJson(callInfo.input)
    // `_outcomes` are decisions (allow or deny), not `EditOutcome`s.
    const work = tool.execute(
      gate.editDecisions ? injectOutcomesIntoInput(given as object, gate.editDecisions) : given,
      context,
    )
    result = normalizeResult(isThenable(work) ? await timer.wait(work, timeoutMs, context) : work)
  } catch (error) {
    await closeChildCallsAfter(run, context, timer, error)
    return answerFailure(run, prepared, error, timer, context)
  } finally {
    context.close()
  }
  if (context.hasSuspendedChild || context.attempt > 1) await closeChildCallsAfter(run, context, timer)
  return runResultHooksAndLog(run, callInfo, result, 'done')
}

/** A call that starts again keeps its key. */
function nextStart(run: Run, call: ToolCallBlock): CallStart {
  const earlier = run.log.transcript.lastStartOf(call.id)
  if (!earlier) return { key: `${run.log.id}/${call.id}`, attempt: 1 }
  return { key: earlier.key, attempt: earlier.attempt + 1 }
}

interface CallStart {
  readonly key: string
  readonly attempt: number
}

function logCallStart(run: Run, call: ToolCallBlock, tool: ToolDef, start: CallStart): MaybePromise<void> {
  const { replay = 'opaque' } = tool
  return run.log.append({ type: 'call_started', callId: call.id, ...start, replay, origin: originOf(tool) })
}

/** Extra fields for `tool:before`. A tool that fails to give them still runs. */
async function extraFieldsFor(
  tool: ToolDef,
  { input }: ToolHookContext,
  context: CallContext,
  limitMs: number,
): Promise<object | undefined> {
  try {
    const extra = tool.before?.(copyJson(input), context)
    return extra && ((await context.within(limitMs, extra)) as object)
  } catch {
    return undefined
  }
}

async function answerUnknown(run: Run, { call, callInfo }: PreparedCall): Promise<CallResult> {
  const names = [...run.tools.names()].map((name) => shownName(run.provider, name))
  const text = `Unknown tool: ${call.name}${didYouMean(call.name, names)}`
  const unknown: HookContexts['tool:unknown'] = { ...callInfo, suppressError: false }
  await run.hooks.ask('tool:unknown', unknown)
  if (unknown.suppressError)
    return logResult(run, call, normalizeHandlerResult(unknown.result ?? text).output, 'unknown_tool', false)
  const failed: HookContexts['tool:error'] = { ...callInfo, error: new Error(text) }
  await run.hooks.ask('tool:error', failed)
  const answer = unknown.result ?? failed.result ?? text
  return logResult(run, call, normalizeHandlerResult(answer).output, 'unknown_tool')
}

/** The model reads the error of a failed tool. A cancelled call is answered; a suspended one stays open. */
async function answerFailure(
  run: Run,
  prepared: PreparedCall,
  error: unknown,
  timer: CallTimer,
  context?: CallContext,
): Promise<CallResult> {
  const { call, callInfo, tool } = prepared
  if (error instanceof Suspended) {
    // Only a call in the log can wait for an answer, so a pure one is logged now.
    if (tool?.replay === 'pure') await logCallStart(run, call, tool, nextStart(run, call))
    return suspendedResult(error)
  }
  const isTimeout = error instanceof TimeLimitError
  if (isLeaving(run) && !isTimeout) return leaveCall(run, prepared, context)
  if (timer.cancellation.isCancelled && !isTimeout) {
    const { reason } = timer.cancellation
    const hasSiblingFailed = !run.cancellation.isCancelled && reason instanceof SiblingFailed
    const [why, textIfNotBegun] = hasSiblingFailed
      ? [reason.message, reason.message]
      : [runStoppedText, syntheticText.aborted]
    const text = context ? interruptedText(why, tool ?? {}, context.outputSoFar) : textIfNotBegun
    return logResult(run, call, text, hasSiblingFailed ? 'cancelled' : 'aborted')
  }
  const failed: HookContexts['tool:error'] = { ...callInfo, error }
  await run.hooks.ask('tool:error', failed)
  const output =
    failed.result === undefined ? `Tool error: ${messageOf(error)}` : normalizeHandlerResult(failed.result).output
  return runResultHooksAndLog(run, callInfo, { output, isError: true }, isTimeout ? 'timeout' : 'error')
}

/** A call that the next process cannot repeat gets a result; any other stays open and runs again there. */
function leaveCall(run: Run, { call, tool }: PreparedCall, context: CallContext | undefined): MaybePromise<CallResult> {
  const { replay = 'opaque' } = tool ?? {}
  if (!context || replay !== 'opaque') return suspendedResult({})
  return logResult(run, call, interruptedText(processLeftText, { replay }, context.outputSoFar), 'unknown')
}

/** The reason for which the calls beside a failed one are cancelled. */
export class SiblingFailed extends Error {
  constructor(name: string) {
    super(`Cancelled: ${name} failed`)
  }
}

/**
 * Executes a call that a tool makes: the same gates and hooks, and entries of its own, but no turn of the model waits for
 * it. If the tool runs again after a suspension or a crash, a call that has a result is not executed again.
 */
const executeNested: CallNested = async (run, { turnId, callId }, call, context) => {
  const { transcript } = run.log
  const earlierResult = transcript.nestedResultOf(call.id)
  if (earlierResult) return { output: earlierResult.output, isError: earlierResult.isError ?? false }
  const prepared = prepareCall(run, turnId, call, callId)
  if (transcript.isUnderWay(call.id) && transcript.lastStartOf(call.id)?.replay === 'opaque')
    return logResult(run, call, syntheticText.unknown, 'unknown')
  const gate = await context.timer.pausedFor(gateCall(run, prepared, context.nestedCancellation))
  if (!gate) return { output: syntheticText.aborted, isError: true }
  if (gate.halt && !gate.block) return suspendedResult(gate.halt)
  const timer = new CallTimer(run.clock, context.nestedCancellation)
  try {
    return await executeCall(run, prepared, gate, timer)
  } finally {
    timer.close()
  }
}

/**
 * Answers the calls that child agents of an ended call left open, in this attempt or an earlier one. Does nothing if the
 * call is suspended, if its children were cancelled (they answer their own calls), or if it never had children.
 */
async function closeChildCallsAfter(run: Run, context: CallContext, timer: CallTimer, error?: unknown): Promise<void> {
  const { hasChildren, attempt, callId } = context
  if (error instanceof Suspended) return // its children continue later
  const isCancelled = error instanceof TimeLimitError || timer.cancellation.isCancelled
  const childrenAnswerTheirCalls = hasChildren && isCancelled
  const neverHadChildren = !hasChildren && attempt === 1
  if (childrenAnswerTheirCalls || neverHadChildren) return
  context.close()
  await closeChildCallsOf(run, [callId])
}

/**
 * Before a started call gets a result without running again, the open calls of its child agents must get results too.
 * Does nothing for calls that never started.
 */
export function closeChildCallsIfStarted(run: Run, ...callIds: readonly string[]): Promise<void> | undefined {
  const started = callIds.filter((id) => run.log.transcript.lastStartOf(id))
  return started.length > 0 ? closeChildCallsOf(run, started) : undefined
}

async function closeChildCallsOf({ session, children, cancellation }: Run, callIds: readonly string[]): Promise<void> {
  if (!session || cancellation.reason instanceof LeaseLostError) return // another process owns them now
  const { closeChildCalls, isChildOf } = await import('./children.ts')
  // A cancelled child may still be writing to its session.
  const running = [...children.running].filter(([name]) => callIds.some((id) => isChildOf(name, id)))
  await Promise.allSettled(running.map(([, work]) => work))
  await closeChildCalls(session, callIds)
}

import { CallTimer, TimeLimitError } from './call-timer.ts'
import { isLeaving, isThenable, waitCancelledMarker } from './cancellation.ts'
import { InvalidInput, Parsed } from './define-tool.ts'
import { type EditDecision, withEditDecisions } from './edit-outcomes.ts'
import { LeaseLostError, messageOf, printable, type Rejection } from './errors.ts'
import type { HookContexts } from './hook-map.ts'
import { didYouMean } from './nearest.ts'
import { type PreparedCall, prepareCall } from './prepared-call.ts'
import { nameForModel } from './provider.ts'
import type { Run } from './run.ts'
import { defaultTimeoutMs, originOf, type ToolDef } from './tool.ts'
import { CallContext, type CallNested, Suspended } from './tool-context.ts'
import { type GateVerdict, gateCall } from './tool-gate.ts'
import type { ToolHookContext } from './tool-hooks.ts'
import {
  appendResult,
  type CallResult,
  interruptedText,
  leftOpen,
  logErrorWithoutHooks,
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
export function executeCall(
  run: Run,
  prepared: PreparedCall,
  verdict: GateVerdict,
  timer: CallTimer,
): Promise<CallResult> {
  if (!run.hooks.isWrapped('tool') || !willRun(prepared, verdict))
    return executeUnwrapped(run, prepared, verdict, timer)
  const { callInfo, call, tool } = prepared
  const { attempt } = nextStart(run, call)
  const mcp = tool.mcp && { mcp: { server: tool.mcp.server, tool: tool.mcp.tool } }
  return run.hooks.wrap({
    kind: 'tool',
    ctx: { ...callInfo, run: run.facts, turn: run.progress.turnNumber, attempt, origin: originOf(tool), ...mcp },
    work: () => executeUnwrapped(run, prepared, verdict, timer),
    ifWorkNeverStarted: async (error) => {
      await answerOpenCallsOfChildren(run, call.id)
      return answerFailure(run, prepared, error, timer)
    },
  })
}

const willRun = (prepared: PreparedCall, verdict: GateVerdict): prepared is PreparedCall & { tool: ToolDef } =>
  !verdict.block && verdict.result === undefined && prepared.tool !== undefined && prepared.validation.valid

/** Applies the decision of the gate, runs the tool and logs the result. */
async function executeUnwrapped(
  run: Run,
  prepared: PreparedCall,
  verdict: GateVerdict,
  timer: CallTimer,
): Promise<CallResult> {
  const { call, tool, validation, callInfo } = prepared
  const { hooks } = run
  if (!willRun(prepared, verdict)) await answerOpenCallsOfChildren(run, call.id)
  if (verdict.block)
    return logErrorWithoutHooks(
      run,
      call,
      `Blocked: ${printable(verdict.reason) || 'this call is not allowed'}`,
      'blocked',
    )
  if (verdict.result !== undefined)
    return runResultHooksAndLog(run, callInfo, normalizeHandlerResult(verdict.result), 'substituted')
  if (!tool) return answerUnknownTool(run, prepared)
  if (!validation.valid) return answerInvalid(run, prepared, validation.error)
  const coercions = validation.coercions && { coercions: validation.coercions }
  if (coercions) await hooks.tell('validation:coerce', { ...callInfo, ...coercions })

  const start = nextStart(run, call)
  const { replay = 'opaque', timeoutMs = defaultTimeoutMs } = tool
  // The start is logged before the tool can have effects. A pure call has no effects: its start is logged only if the gate gave a
  // `beforeTool`. In that function an authority marks a person's approval as used, which must not happen before the start is logged.
  const logging = (replay !== 'pure' || verdict.beforeTool) && logCallStart(run, call, tool, start)
  if (logging) await logging
  try {
    await verdict.beforeTool?.()
  } catch (error) {
    return answerFailure(run, prepared, error, timer)
  }
  const context = new CallContext(run, callInfo, timer, start, {
    callNested: executeNested,
    confinement: verdict.confinement,
    beforeCommands: verdict.beforeCommands,
  })
  if (tool.before || hooks.has('tool:before')) {
    const extra = await extraFieldsFor(tool, callInfo, context, timeoutMs)
    const runToolCounts = run.tools.counts.snapshot
    await hooks.tell('tool:before', { ...callInfo, ...coercions, ...extra, runToolCounts })
  }
  if (timer.cancellation.isCancelled) {
    // The tool has not run in this attempt, but child agents of an earlier attempt may have left calls open.
    if (mayHaveChildCallsToAnswer(context, timer, { error: waitCancelledMarker }))
      await cancelChildrenAndAnswerTheirCalls(run, context)
    return answerFailure(run, prepared, waitCancelledMarker, timer)
  }
  let result: NormalizedResult
  try {
    // This `try` contains only the tool itself and the conversion of its input and result: an error here becomes a result for the
    // model. The entries of the call are written outside of it, because a log that cannot be written must end the run.
    const input = prepared.parsed ?? copyJson(callInfo.input)
    const work = tool.execute(inputWithDecisions(input, verdict.editDecisions) as typeof callInfo.input, context)
    result = normalizeResult(isThenable(work) ? await timer.wait(work, timeoutMs, context) : work)
  } catch (error) {
    if (mayHaveChildCallsToAnswer(context, timer, { error })) await cancelChildrenAndAnswerTheirCalls(run, context)
    return answerFailure(run, prepared, error, timer, context)
  } finally {
    context.close()
  }
  if (mayHaveChildCallsToAnswer(context, timer)) await cancelChildrenAndAnswerTheirCalls(run, context)
  return runResultHooksAndLog(run, callInfo, result, 'done')
}

/** The input of a tool, parsed or not, with the decisions of a person about its edits, if there are any. */
function inputWithDecisions(input: unknown, decisions: readonly EditDecision[] | undefined): unknown {
  if (!decisions) return input
  if (input instanceof Parsed) return new Parsed(inputWithDecisions(input.value, decisions))
  return withEditDecisions(input as object, decisions)
}

/**
 * A call that starts again keeps the key of its first start, by which its tool finds what the earlier attempt did. The key is
 * not computed anew: in a fork, whose log has another id, that would give another key.
 */
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
    // If `before` takes longer than the limit, the fields are left out and the call goes on: nothing is cancelled.
    return extra && ((await context.within(limitMs, extra, { cancel() {} })) as object)
  } catch {
    return undefined
  }
}

/** The schema refused the input: before the tool ran or, if the schema is async, when the tool began. */
async function answerInvalid(run: Run, { call, callInfo }: PreparedCall, error: string): Promise<CallResult> {
  await run.hooks.tell('validation:reject', { ...callInfo, error })
  return logErrorWithoutHooks(run, call, `Validation error: ${error}`, 'invalid')
}

async function answerUnknownTool(run: Run, { call, callInfo }: PreparedCall): Promise<CallResult> {
  const names = [...run.tools.names()].map((name) => nameForModel(run.provider, name))
  const text = `Unknown tool: ${call.name}${didYouMean(call.name, names)}`
  const unknownContext: HookContexts['tool:unknown'] = { ...callInfo, suppressError: false }
  await run.hooks.ask('tool:unknown', unknownContext)
  if (unknownContext.suppressError) {
    const { output } = normalizeHandlerResult(unknownContext.result ?? text)
    return appendResult(run, call.id, { output, isError: false }, 'unknown_tool')
  }
  const errorContext: HookContexts['tool:error'] = { ...callInfo, error: new Error(text) }
  await run.hooks.ask('tool:error', errorContext)
  const answer = unknownContext.result ?? errorContext.result ?? text
  return logErrorWithoutHooks(run, call, normalizeHandlerResult(answer).output, 'unknown_tool')
}

/**
 * Turns an error into the result of the call. A suspended call stays open. If the run is being left, `leaveCall` decides. A
 * cancelled call is answered as aborted or cancelled. Any other error becomes an error result for the model. `contextIfBegun`
 * is the context that the tool got, if the tool has begun.
 */
async function answerFailure(
  run: Run,
  prepared: PreparedCall,
  error: unknown,
  timer: CallTimer,
  contextIfBegun?: CallContext,
): Promise<CallResult> {
  const { call, tool } = prepared
  if (error instanceof Suspended) {
    // A session shows a suspended call only if its start is logged, and the start of a pure call usually is not. If it is logged already,
    // logging it twice is harmless: the key stays the same, and a higher number of attempts does not matter for a call without effects.
    if (tool?.replay === 'pure') await logCallStart(run, call, tool, nextStart(run, call))
    return suspendedResult(error)
  }
  if (error instanceof InvalidInput) return answerInvalid(run, prepared, error.message)
  if (error instanceof TimeLimitError) return answerError(run, prepared, error, 'timeout')
  if (isLeaving(run)) return leaveCall(run, prepared, contextIfBegun)
  if (timer.cancellation.isCancelled) return answerCancelled(run, prepared, timer, contextIfBegun)
  return answerError(run, prepared, error, 'error')
}

/** A call that the next process cannot repeat gets a result; any other stays open and runs again there. */
function leaveCall(
  run: Run,
  { call, tool }: PreparedCall,
  contextIfBegun: CallContext | undefined,
): MaybePromise<CallResult> {
  const { replay = 'opaque' } = tool ?? {}
  if (!contextIfBegun || replay !== 'opaque') return leftOpen()
  return logErrorWithoutHooks(
    run,
    call,
    interruptedText(processLeftText, { replay }, contextIfBegun.outputSoFar),
    'unknown',
  )
}

/** The result of a call that was stopped by the end of its run or by the failure of a call beside it. */
function answerCancelled(
  run: Run,
  { call, tool }: PreparedCall,
  { cancellation: { reason } }: CallTimer,
  contextIfBegun: CallContext | undefined,
): MaybePromise<CallResult> {
  const hasSiblingFailed = !run.cancellation.isCancelled && reason instanceof SiblingFailed
  const [why, textIfNotBegun] = hasSiblingFailed
    ? [reason.message, reason.message]
    : [runStoppedText, syntheticText.aborted]
  const text = contextIfBegun ? interruptedText(why, tool ?? {}, contextIfBegun.outputSoFar) : textIfNotBegun
  return logErrorWithoutHooks(run, call, text, hasSiblingFailed ? 'cancelled' : 'aborted')
}

/** The model reads the error of a failed tool, or the result that a handler of `tool:error` gave in place of the error. */
async function answerError(
  run: Run,
  { callInfo }: PreparedCall,
  error: unknown,
  outcome: 'error' | 'timeout',
): Promise<CallResult> {
  const errorContext: HookContexts['tool:error'] = { ...callInfo, error }
  await run.hooks.ask('tool:error', errorContext)
  const { result } = errorContext
  const output = result === undefined ? `Tool error: ${messageOf(error)}` : normalizeHandlerResult(result).output
  return runResultHooksAndLog(run, callInfo, { output, isError: true }, outcome)
}

/** The reason for which the calls beside a failed one are cancelled. */
export class SiblingFailed extends Error {
  constructor(name: string) {
    super(`Cancelled: ${name} failed`)
  }
}

/**
 * Executes a call that a tool makes. This call passes the same gates and hooks as a call of the model and has its own entries, but
 * is in no turn. If the tool runs again after a suspension or a crash, a nested call that has a result is not executed again.
 */
const executeNested: CallNested = async (run, { turnId, callId }, call, context) => {
  const { transcript } = run.log
  const earlierResult = transcript.nestedResultOf(call.id)
  if (earlierResult) return { output: earlierResult.output, isError: earlierResult.isError ?? false }
  const prepared = prepareCall(run, turnId, call, callId)
  if (transcript.isUnderWay(call.id) && transcript.lastStartOf(call.id)?.replay === 'opaque')
    return logErrorWithoutHooks(run, call, syntheticText.interrupted, 'unknown')
  const verdict = await context.timer.pausedFor(gateCall(run, prepared, context.nestedCancellation))
  if (!verdict) return { output: syntheticText.aborted, isError: true }
  if (verdict.halt && !verdict.block) return suspendedResult(verdict.halt)
  const timer = new CallTimer(run.clock, context.nestedCancellation)
  try {
    return await executeCall(run, prepared, verdict, timer)
  } finally {
    timer.close()
  }
}

/**
 * Whether `cancelChildrenAndAnswerTheirCalls` must be called for a call that is over: its child agents may have left calls open, and
 * nothing else answers these. A child that ends, or is cancelled while it runs, answers its own calls. A suspended child does not, nor
 * one that only an earlier attempt ran; and those of a tool that threw must have stopped before its call gets a result. `failure` is
 * what it threw.
 */
function mayHaveChildCallsToAnswer(context: CallContext, timer: CallTimer, failure?: Rejection): boolean {
  const { hasStartedChildren, hasSuspendedChild, attempt } = context
  if (failure?.error instanceof Suspended) return false // the children continue later
  const isCancelled = failure?.error instanceof TimeLimitError || timer.cancellation.isCancelled
  if (attempt > 1) return true // an earlier attempt may have started children that this attempt did not continue
  if (hasStartedChildren && isCancelled && !hasSuspendedChild) return false // they are cancelled too, and answer their own calls
  return failure ? hasStartedChildren : hasSuspendedChild
}

/** Cancels the child agents of a call that is over, and gives results to the open calls of these and of earlier attempts' child agents. */
function cancelChildrenAndAnswerTheirCalls(run: Run, context: CallContext): Promise<void> {
  context.close() // cancels the children
  return waitForChildrenAndAnswerTheirCalls(run, [context.callId])
}

/**
 * Gives results to the open calls of the child agents of these calls. Needed before a call that has started gets its result without
 * running again. Skips calls that never started.
 */
export function answerOpenCallsOfChildren(run: Run, ...callIds: readonly string[]): Promise<void> | undefined {
  const started = callIds.filter((id) => run.log.transcript.lastStartOf(id))
  return started.length > 0 ? waitForChildrenAndAnswerTheirCalls(run, started) : undefined
}

/** Waits until the child agents of these calls have ended, then gives results to the calls that they left open. */
async function waitForChildrenAndAnswerTheirCalls(
  { session, children, cancellation }: Run,
  callIds: readonly string[],
): Promise<void> {
  if (!session || cancellation.reason instanceof LeaseLostError) return // another process owns them now
  const { answerOpenCallsInChildSessions, isChildOf } = await import('./children.ts')
  // A child that was cancelled may still be writing to its session.
  const running = [...children.running].filter(([name]) => callIds.some((id) => isChildOf(name, id)))
  await Promise.allSettled(running.map(([, work]) => work))
  await answerOpenCallsInChildSessions(session, callIds)
}

import { CallTimer, TimeLimitError } from './call-timer.ts'
import { isLeaving, isThenable, waitCancelledMarker } from './cancellation.ts'
import { InvalidInput, Parsed } from './define-tool.ts'
import { type EditDecision, withEditDecisions } from './edit-outcomes.ts'
import { LeaseLostError, messageOf, printable } from './errors.ts'
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
  didNotRunText,
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
    ifWorkNeverStarted: (error) => answerFailure(run, prepared, error, timer),
  })
}

type RunnableCall = PreparedCall & { readonly tool: ToolDef }

const willRun = (prepared: PreparedCall, verdict: GateVerdict): prepared is RunnableCall =>
  !verdict.block && verdict.result === undefined && prepared.tool !== undefined && prepared.validation.valid

function executeUnwrapped(
  run: Run,
  prepared: PreparedCall,
  verdict: GateVerdict,
  timer: CallTimer,
): Promise<CallResult> {
  return willRun(prepared, verdict) ? runTool(run, prepared, verdict, timer) : answerWithoutTool(run, prepared, verdict)
}

/** Logs the result of a call whose tool does not run: the gate blocked it or gave a result, or the model wrote an invalid call. */
async function answerWithoutTool(run: Run, prepared: PreparedCall, verdict: GateVerdict): Promise<CallResult> {
  const { call, tool, validation, callInfo } = prepared
  await closeCallsOfChildAgentsIfAny(run, call.id)
  if (verdict.block) {
    const reason = printable(verdict.reason) || 'this call is not allowed'
    return logErrorWithoutHooks(run, call, `Blocked: ${reason}`, 'blocked')
  }
  if (verdict.result !== undefined)
    return runResultHooksAndLog(run, callInfo, normalizeHandlerResult(verdict.result), 'substituted')
  return tool && !validation.valid ? answerInvalid(run, prepared, validation.error) : answerUnknownTool(run, prepared)
}

/** Logs the start of a call, runs its tool and logs the result. */
async function runTool(run: Run, prepared: RunnableCall, verdict: GateVerdict, timer: CallTimer): Promise<CallResult> {
  const { call, tool, validation, callInfo } = prepared
  const { hooks } = run
  const coercions = validation.valid && validation.coercions && { coercions: validation.coercions }
  if (coercions) await hooks.tell('validation:coerce', { ...callInfo, ...coercions })

  const start = nextStart(run, call)
  const { replay = 'opaque', timeoutMs = defaultTimeoutMs } = tool
  // The start is logged before the tool can have effects. A pure call has no effects: its start is logged only if the gate gave a
  // `beforeTool`. In that function an authority marks a person's approval as used, which must not happen before the start is logged.
  const isStartLogged = replay !== 'pure' || verdict.beforeTool !== undefined
  const logging = isStartLogged ? logCallStart(run, call, tool, start) : undefined
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
    context.close()
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
    context.close()
    return answerFailure(run, prepared, error, timer, context)
  }
  context.close()
  if (context.hasSuspendedChild || context.attempt > 1) await closeCallsOfChildAgents(run, [call.id])
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

/** Tells the model that its input is invalid. With an async schema, the call finds that out only when the tool has begun. */
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

/** How a call ended whose tool did not return a result. */
type Ending = 'suspended' | 'invalid' | 'timeout' | 'left' | 'stopped' | 'error'

function endingOf(run: Run, error: unknown, timer: CallTimer): Ending {
  if (error instanceof Suspended) return 'suspended'
  if (error instanceof InvalidInput) return 'invalid'
  if (error instanceof TimeLimitError) return 'timeout'
  if (isLeaving(run)) return 'left'
  return timer.cancellation.isCancelled ? 'stopped' : 'error'
}

/**
 * Turns an error into the result of the call. A suspended call stays open, and so does one that the next process may repeat, if this
 * process leaves the run. `contextIfBegun` is the context that the tool got, if the tool has begun.
 */
async function answerFailure(
  run: Run,
  prepared: PreparedCall,
  error: unknown,
  timer: CallTimer,
  contextIfBegun?: CallContext,
): Promise<CallResult> {
  const { call, tool } = prepared
  const { replay = 'opaque' } = tool ?? {}
  const ending = endingOf(run, error, timer)
  if (ending === 'suspended') {
    // A session shows a suspended call only if its start is logged, and the start of a pure call usually is not. If it is logged already,
    // logging it twice is harmless: the key stays the same, and a higher number of attempts does not matter for a call without effects.
    if (tool && replay === 'pure') await logCallStart(run, call, tool, nextStart(run, call))
    return suspendedResult(error as Suspended)
  }
  const isRepeatable = !contextIfBegun || replay !== 'opaque'
  if (ending === 'left' && isRepeatable) return leftOpen()
  if (!contextIfBegun) await closeCallsOfChildAgentsIfAny(run, call.id)
  else {
    const { attempt, hasStartedChildren, hasSuspendedChild } = contextIfBegun
    // Child agents may still be running. If the call was stopped or took too long, they were cancelled with it and close their own calls.
    // If this process leaves the run, they leave calls open, which must be closed. After an error they are only waited for.
    const doChildrenClose = ending === 'stopped' || ending === 'timeout'
    if (attempt > 1 || hasSuspendedChild || (hasStartedChildren && !doChildrenClose))
      await closeCallsOfChildAgents(run, [call.id])
  }
  switch (ending) {
    case 'invalid':
      return answerInvalid(run, prepared, messageOf(error))
    case 'left': {
      const text = interruptedText(processLeftText, { replay }, contextIfBegun?.outputSoFar)
      return logErrorWithoutHooks(run, call, text, 'unknown')
    }
    case 'stopped':
      return answerStopped(run, prepared, timer, contextIfBegun)
    default:
      return answerError(run, prepared, error, ending)
  }
}

/**
 * The result of a call that was stopped: by the end of its run or, with the outcome `cancelled`, by the failure of a call beside it or the
 * end of the call that made it.
 */
function answerStopped(
  run: Run,
  { call, tool }: PreparedCall,
  { cancellation: { reason } }: CallTimer,
  contextIfBegun: CallContext | undefined,
): MaybePromise<CallResult> {
  const { isCancelled } = run.cancellation
  const why = isCancelled ? runStoppedText : reason instanceof SiblingFailed ? reason.message : callerEndedText
  const { attempt = 1 } = run.log.transcript.lastStartOf(call.id) ?? {}
  const hasBegun = contextIfBegun || attempt > 1 // in this attempt, or in an earlier one
  const text = hasBegun ? interruptedText(why, tool ?? {}, contextIfBegun?.outputSoFar) : didNotRunText(why)
  return logErrorWithoutHooks(run, call, text, isCancelled ? 'aborted' : 'cancelled')
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

const callerEndedText = 'Cancelled: the call that made this one has ended'

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
  const start = transcript.lastStartOf(call.id)
  // If its process left the run, an opaque call without a result was suspended before: one that still ran has got a result.
  const runOfStart = transcript.runs.find(({ endSeq = Number.POSITIVE_INFINITY }) => endSeq > (start?.seq ?? 0))
  if (start?.replay === 'opaque' && transcript.isUnderWay(call.id) && runOfStart?.status !== 'left')
    return logErrorWithoutHooks(run, call, interruptedText(processLeftText, {}), 'unknown')
  const verdict = await context.timer.pausedFor(gateCall(run, prepared, context.nestedCancellation))
  if (!verdict)
    return { output: didNotRunText(run.cancellation.isCancelled ? runStoppedText : callerEndedText), isError: true }
  if (verdict.halt && !verdict.block) return suspendedResult(verdict.halt)
  const timer = new CallTimer(run.clock, context.nestedCancellation, context.timer)
  try {
    return await executeCall(run, prepared, verdict, timer)
  } finally {
    timer.close()
  }
}

/** `closeCallsOfChildAgents` for those of the calls that have started: a call that never started has no child agents. */
export function closeCallsOfChildAgentsIfAny(run: Run, ...callIds: readonly string[]): Promise<void> | undefined {
  const started = callIds.filter((id) => run.log.transcript.lastStartOf(id))
  return started.length > 0 ? closeCallsOfChildAgents(run, started) : undefined
}

/**
 * Waits until the child agents of these calls have ended, then gives a result to each call that they left open. Needed before a call gets
 * its own result, if a child agent of it was suspended, or left its run, or was started by an earlier attempt and not continued by this one. Other
 * child agents close their own calls.
 */
async function closeCallsOfChildAgents(
  { session, children, cancellation }: Run,
  callIds: readonly string[],
): Promise<void> {
  if (!session || cancellation.reason instanceof LeaseLostError) return // another process owns the child agents now
  const { closeCallsInChildSessions, isChildOf } = await import('./children.ts')
  // A child agent that was cancelled may still be writing to its session.
  const running = [...children.running].filter(([name]) => callIds.some((id) => isChildOf(name, id)))
  await Promise.allSettled(running.map(([, work]) => work))
  await closeCallsInChildSessions(session, callIds)
}

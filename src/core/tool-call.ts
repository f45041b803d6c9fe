import { CallTimer, TimeLimitError } from './call-timer.ts'
import { isThenable, waitCancelled } from './cancellation.ts'
import { LeaseLostError, messageOf, printable } from './errors.ts'
import type { HookContexts } from './hook-map.ts'
import { didYouMean } from './nearest.ts'
import { type PreparedCall, prepareCall } from './prepared-call.ts'
import { shownName } from './provider.ts'
import type { Run } from './run.ts'
import { defaultTimeoutMs, originOf, type ToolDef } from './tool.ts'
import { CallContext, type CallNested, Suspended } from './tool-context.ts'
import { type Gate, gateCall } from './tool-gate.ts'
import type { ToolHookContext } from './tool-hooks.ts'
import {
  answerCall,
  type CallResult,
  finishCall,
  interruptedText,
  type ReadResult,
  readHandlerResult,
  readToolResult,
  stopped,
  suspendedResult,
  syntheticText,
} from './tool-result.ts'
import { copyJson, type ToolCallBlock } from './turn.ts'
import type { MaybePromise } from './waiting.ts'

/** Executes a call whose gate was asked, inside the wrappers around tools. */
export function executeCall(run: Run, prepared: PreparedCall, gate: Gate, timer: CallTimer): Promise<CallResult> {
  if (!run.hooks.isWrapped('tool') || !willRun(prepared, gate)) return executeUnwrapped(run, prepared, gate, timer)
  const { callInfo, call, tool } = prepared
  const { attempt } = startOf(run, call)
  const mcp = tool.mcp && { mcp: { server: tool.mcp.server, tool: tool.mcp.tool } }
  return run.hooks.wrap({
    kind: 'tool',
    ctx: { ...callInfo, run: run.facts, turn: run.progress.turn, attempt, origin: originOf(tool), ...mcp },
    work: () => executeUnwrapped(run, prepared, gate, timer),
    refused: async (error) => {
      await abandonIfBegun(run, call.id)
      return answerFailure(run, prepared, error, timer)
    },
  })
}

const willRun = (prepared: PreparedCall, gate: Gate): prepared is PreparedCall & { tool: ToolDef } =>
  !gate.block && gate.result === undefined && prepared.tool !== undefined && prepared.checked.valid

/** Applies the gate's answer, runs the tool and logs the result. Hooks are told only after the result is in the log. */
async function executeUnwrapped(run: Run, prepared: PreparedCall, gate: Gate, timer: CallTimer): Promise<CallResult> {
  const { call, tool, checked, callInfo } = prepared
  const { hooks } = run
  if (!willRun(prepared, gate)) await abandonIfBegun(run, call.id)
  if (gate.block)
    return answerCall(run, call, `Blocked: ${printable(gate.reason) || 'this call is not allowed'}`, 'blocked')
  if (gate.result !== undefined) return finishCall(run, callInfo, readHandlerResult(gate.result), 'substituted')
  if (!tool) return answerUnknown(run, prepared)
  if (!checked.valid) {
    await hooks.tell('validation:reject', { ...callInfo, error: checked.error })
    return answerCall(run, call, `Validation error: ${checked.error}`, 'invalid')
  }
  const coercions = checked.coercions && { coercions: checked.coercions }
  if (coercions) await hooks.tell('validation:coerce', { ...callInfo, ...coercions })

  const start = startOf(run, call)
  const { replay = 'opaque', timeoutMs = defaultTimeoutMs } = tool
  // The start is logged before the tool can have effects. A pure call has none and needs no entry.
  const logging = replay !== 'pure' && logStart(run, call, tool, start)
  if (logging) await logging
  const context = new CallContext(run, callInfo, timer, start, executeNested)
  if (tool.before || hooks.has('tool:before')) {
    const extra = await factsBefore(tool, callInfo, context, timeoutMs)
    const runToolCounts = run.tools.counts.snapshot
    await hooks.tell('tool:before', { ...callInfo, ...coercions, ...extra, runToolCounts })
  }
  if (timer.cancellation.isCancelled) {
    await abandonChildrenOf(run, context, timer, waitCancelled)
    return answerFailure(run, prepared, waitCancelled, timer)
  }
  let result: ReadResult
  try {
    // Nothing but the tool runs in this block: a log that cannot be written must not be taken for a tool error.
    const work = tool.execute(prepared.parsed ?? copyJson(callInfo.input), context)
    result = readToolResult(isThenable(work) ? await timer.wait(work, timeoutMs, context) : work)
  } catch (error) {
    await abandonChildrenOf(run, context, timer, error)
    return answerFailure(run, prepared, error, timer, context)
  } finally {
    context.close()
  }
  if (context.hasSuspendedChild || context.attempt > 1) await abandonChildrenOf(run, context, timer)
  return finishCall(run, callInfo, result, 'done')
}

/** A call that starts again keeps its key. */
function startOf(run: Run, call: ToolCallBlock): CallStart {
  const earlier = run.log.transcript.startOf(call.id)
  if (!earlier) return { key: `${run.log.id}/${call.id}`, attempt: 1 }
  return { key: earlier.key, attempt: earlier.attempt + 1 }
}

interface CallStart {
  readonly key: string
  readonly attempt: number
}

function logStart(run: Run, call: ToolCallBlock, tool: ToolDef, start: CallStart): MaybePromise<void> {
  const { replay = 'opaque' } = tool
  return run.log.append({ type: 'call_started', callId: call.id, ...start, replay, origin: originOf(tool) })
}

/** Extra fields for `tool:before`. A tool that fails to give them still runs. */
async function factsBefore(
  tool: ToolDef,
  { input }: ToolHookContext,
  context: CallContext,
  limitMs: number,
): Promise<object | undefined> {
  try {
    const facts = tool.before?.(copyJson(input), context)
    return facts && ((await context.within(limitMs, facts)) as object)
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
    return answerCall(run, call, readHandlerResult(unknown.result ?? text).output, 'unknown_tool', false)
  const failed: HookContexts['tool:error'] = { ...callInfo, error: new Error(text) }
  await run.hooks.ask('tool:error', failed)
  const answer = unknown.result ?? failed.result ?? text
  return answerCall(run, call, readHandlerResult(answer).output, 'unknown_tool')
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
    if (tool?.replay === 'pure') await logStart(run, call, tool, startOf(run, call))
    return suspendedResult(error)
  }
  const isTimeout = error instanceof TimeLimitError
  if (timer.cancellation.isCancelled && !isTimeout) {
    const { reason } = timer.cancellation
    const isCancelled = !run.cancellation.isCancelled && reason instanceof SiblingFailed
    const [why, textIfNotBegun] = isCancelled ? [reason.message, reason.message] : [stopped, syntheticText.aborted]
    const text = context ? interruptedText(why, tool ?? {}, context.outputSoFar) : textIfNotBegun
    return answerCall(run, call, text, isCancelled ? 'cancelled' : 'aborted')
  }
  const failed: HookContexts['tool:error'] = { ...callInfo, error }
  await run.hooks.ask('tool:error', failed)
  const output =
    failed.result === undefined ? `Tool error: ${messageOf(error)}` : readHandlerResult(failed.result).output
  return finishCall(run, callInfo, { output, isError: true }, isTimeout ? 'timeout' : 'error')
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
  const known = transcript.nestedResultOf(call.id)
  if (known) return { output: known.output, isError: known.isError ?? false }
  const prepared = prepareCall(run, turnId, call, callId)
  if (transcript.wasInterrupted(call.id) && transcript.startOf(call.id)?.replay === 'opaque')
    return answerCall(run, call, syntheticText.unknown, 'unknown')
  const gate = await context.timer.pausedFor(gateCall(run, prepared, context.startedWork))
  if (!gate) return { output: syntheticText.aborted, isError: true }
  if (gate.halt && !gate.block) return suspendedResult(gate.halt)
  const timer = new CallTimer(run.clock, context.startedWork)
  try {
    return await executeCall(run, prepared, gate, timer)
  } finally {
    timer.close()
  }
}

/**
 * Unless it is suspended, a call leaves no open calls of its children behind, nor those of an earlier attempt. Children
 * that were cancelled answer their own.
 */
async function abandonChildrenOf(run: Run, context: CallContext, timer: CallTimer, error?: unknown): Promise<void> {
  const { hasChildren, attempt, callId } = context
  const isStopped = error instanceof TimeLimitError || timer.cancellation.isCancelled
  if (error instanceof Suspended || (hasChildren ? isStopped : attempt === 1)) return
  context.close()
  await abandon(run, [callId])
}

/** For calls that are answered without being run, although they had begun: first answers what their children left open. */
export function abandonIfBegun(run: Run, ...callIds: readonly string[]): Promise<void> | undefined {
  const begun = callIds.filter((id) => run.log.transcript.startOf(id))
  return begun.length > 0 ? abandon(run, begun) : undefined
}

async function abandon({ session, children, cancellation }: Run, callIds: readonly string[]): Promise<void> {
  if (!session || cancellation.reason instanceof LeaseLostError) return // another process owns them now
  const { abandonChildren, isChildOf } = await import('./fork.ts')
  // A cancelled child may still be writing to its session.
  const running = [...children.running].filter(([name]) => callIds.some((id) => isChildOf(name, id)))
  await Promise.allSettled(running.map(([, work]) => work))
  await abandonChildren(session, callIds)
}

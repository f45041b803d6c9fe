import { CallTimer, TimeLimitError } from './call-timer.ts'
import { isThenable, waitCancelled } from './cancellation.ts'
import { LeaseLostError, messageOf, printable } from './errors.ts'
import type { HookContexts, ToolHookContext } from './hook-map.ts'
import type { CallOutcome, EntryBody } from './log.ts'
import { didYouMean } from './nearest.ts'
import { shownName } from './provider.ts'
import type { Run } from './run.ts'
import { defaultTimeoutMs, originOf, type ToolDef } from './tool.ts'
import { CallContext, type CallNested, Suspended } from './tool-context.ts'
import { gateCall, type PreparedCall, prepareCall } from './tool-gate.ts'
import {
  interruptedText,
  type Outcome,
  readToolResult,
  stopped,
  syntheticText,
  toolOutputByteLength,
} from './tool-output.ts'
import { copyJson, type ToolCallBlock, type ToolOutput } from './turn.ts'

/** How a call ended; `suspended` leaves it open. */
export interface CallResult {
  readonly output: ToolOutput
  readonly isError: boolean
  /** It ran and failed; a call that was refused or never began has not. */
  readonly hasFailed?: boolean
  readonly suspended?: string
}

type Gate = HookContexts['tool:gate']

/** The life of one call after its gate, inside the wrappers that there are for it. */
export function executeCall(run: Run, prepared: PreparedCall, gate: Gate, lane: CallTimer): Promise<CallResult> {
  if (!run.hooks.isWrapped('tool') || !mayRun(prepared, gate)) return settleInside(run, prepared, gate, lane)
  const { callInfo: about, call, tool } = prepared
  const { attempt } = startOf(run, call)
  const more = tool.mcp && { mcp: { server: tool.mcp.server, tool: tool.mcp.tool } }
  return run.hooks.wrap({
    kind: 'tool',
    ctx: { ...about, run: run.facts, turn: run.progress.turn, attempt, origin: originOf(tool), ...more },
    work: () => settleInside(run, prepared, gate, lane),
    refused: async (error) => {
      await abandonIfBegun(run, call.id)
      return settleFailure(run, prepared, error, lane)
    },
  })
}

const mayRun = (prepared: PreparedCall, gate: Gate): prepared is PreparedCall & { tool: ToolDef } =>
  !gate.block && gate.result === undefined && prepared.tool !== undefined && prepared.checked.valid

/** LOOKUP to AFTER. The result is in the log before anybody is told. */
async function settleInside(run: Run, prepared: PreparedCall, gate: Gate, lane: CallTimer): Promise<CallResult> {
  const { call, tool, checked, callInfo: about } = prepared
  const { hooks } = run
  if (!mayRun(prepared, gate)) await abandonIfBegun(run, call.id)
  if (gate.block)
    return answer(run, call, `Blocked: ${printable(gate.reason) || 'this call is not allowed'}`, 'blocked')
  if (gate.result !== undefined) return finish(run, about, readAnswer(gate.result), 'substituted')
  if (!tool) return answerUnknown(run, prepared)
  if (!checked.valid) {
    await hooks.tell('validation:reject', { ...about, error: checked.error })
    return answer(run, call, `Validation error: ${checked.error}`, 'invalid')
  }
  const coercions = checked.coercions && { coercions: checked.coercions }
  if (coercions) await hooks.tell('validation:coerce', { ...about, ...coercions })

  const start = startOf(run, call)
  const { replay = 'opaque', timeoutMs = defaultTimeoutMs } = tool
  // The intent is logged before the world is touched. A pure call leaves no trace, so it needs none.
  const intent = replay !== 'pure' && logStart(run, prepared, tool, start)
  if (intent) await intent
  const context = new CallContext(run, about, lane, start, settleNested)
  if (tool.before || hooks.has('tool:before')) {
    const extra = await factsBefore(tool, about, context, timeoutMs)
    await hooks.tell('tool:before', { ...about, ...coercions, ...extra, runToolCounts: run.tools.counts.snapshot })
  }
  if (lane.cancellation.isCancelled) {
    await giveUpChildren(run, context, lane, waitCancelled)
    return settleFailure(run, prepared, waitCancelled, lane)
  }
  let done: Outcome
  try {
    // Only the tool itself stands in here: a log that cannot be written is not a tool error.
    const work = tool.execute(prepared.parsed ?? copyJson(about.input), context)
    done = readToolResult(isThenable(work) ? await lane.wait(work, timeoutMs, context) : work)
  } catch (error) {
    await giveUpChildren(run, context, lane, error)
    return settleFailure(run, prepared, error, lane, context)
  } finally {
    context.close()
  }
  if (context.hasWaitingChild || context.attempt > 1) await giveUpChildren(run, context, lane)
  return finish(run, about, done, 'done')
}

/** Extra facts for whoever watches; a tool that cannot give them still runs. */
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

/**
 * A call made by a tool: the same gates, the same hooks, entries of its own; only no turn of the model waits for it. When
 * the tool runs again after a suspension or a crash, what its calls did before is not done twice.
 */
const settleNested: CallNested = async (run, { turnId, callId }, call, context) => {
  const { transcript } = run.log
  const known = transcript.nestedResultOf(call.id)
  if (known) return { output: known.output, isError: known.isError ?? false }
  const prepared = prepareCall(run, turnId, call, callId)
  if (transcript.wasInterrupted(call.id) && transcript.startOf(call.id)?.replay === 'opaque')
    return answer(run, call, syntheticText.unknown, 'unknown')
  const gate = await context.timer.pausedFor(gateCall(run, prepared, context.startedWork))
  if (!gate) return { output: syntheticText.aborted, isError: true }
  if (gate.halt && !gate.block) return suspendedBy(gate.halt)
  const lane = new CallTimer(run.clock, context.startedWork)
  try {
    return await executeCall(run, prepared, gate, lane)
  } finally {
    lane.close()
  }
}

/** A failing tool is a result that the model reads; an interrupted one is answered for, a suspended one stays open. */
async function settleFailure(
  run: Run,
  prepared: PreparedCall,
  error: unknown,
  lane: CallTimer,
  begun?: CallContext,
): Promise<CallResult> {
  const { call, callInfo: about, tool } = prepared
  if (error instanceof Suspended) return suspend(run, prepared, error)
  const isLate = error instanceof TimeLimitError
  if (lane.cancellation.isCancelled && !isLate) {
    const { reason } = lane.cancellation
    const isCancelled = !run.cancellation.isCancelled && reason instanceof SiblingFailed
    const [why, unbegun] = isCancelled ? [reason.message, reason.message] : [stopped, syntheticText.aborted]
    const text = begun ? interruptedText(why, tool ?? {}, begun.soFar) : unbegun
    return answer(run, call, text, isCancelled ? 'cancelled' : 'aborted')
  }
  const failed: HookContexts['tool:error'] = { ...about, error }
  await run.hooks.ask('tool:error', failed)
  const output = failed.result === undefined ? `Tool error: ${messageOf(error)}` : readAnswer(failed.result).output
  return finish(run, about, { output, isError: true }, isLate ? 'timeout' : 'error')
}

/**
 * Unless it is suspended, a call leaves none of its children's calls open, nor those of an earlier attempt. Children that
 * were stopped see to that themselves.
 */
async function giveUpChildren(run: Run, context: CallContext, lane: CallTimer, error?: unknown): Promise<void> {
  const { hasChildren, attempt, callId } = context
  const isStopped = error instanceof TimeLimitError || lane.cancellation.isCancelled
  if (error instanceof Suspended || (hasChildren ? isStopped : attempt === 1)) return
  context.close()
  await abandon(run, [callId])
}

/** A call that waits for somebody has begun, also one that would leave no trace. */
async function suspend(run: Run, { call, tool }: PreparedCall, error: Suspended): Promise<CallResult> {
  if (tool?.replay === 'pure') await logStart(run, { call }, tool, startOf(run, call))
  return suspendedBy(error)
}

function logStart(
  run: Run,
  { call }: Pick<PreparedCall, 'call'>,
  tool: ToolDef,
  start: ReturnType<typeof startOf>,
): Promise<void> | void {
  const { replay = 'opaque' } = tool
  return run.log.append({ type: 'call_started', callId: call.id, ...start, replay, origin: originOf(tool) })
}

/** Leaves a call open. Whatever was given as the reason, there is one. */
export function suspendedBy(halt: { readonly reason?: unknown }): CallResult {
  const { reason } = halt
  return { output: '', isError: false, suspended: typeof reason === 'string' && reason !== '' ? reason : 'suspended' }
}

/** Why the calls beside a failing one were stopped. */
export class SiblingFailed extends Error {
  constructor(name: string) {
    super(`Cancelled: ${name} failed`)
  }
}

async function answerUnknown(run: Run, { call, callInfo: about }: PreparedCall): Promise<CallResult> {
  const shown = [...run.tools.names()].map((name) => shownName(run.provider, name))
  const text = `Unknown tool: ${call.name}${didYouMean(call.name, shown)}`
  const unknown: HookContexts['tool:unknown'] = { ...about, suppressError: false }
  await run.hooks.ask('tool:unknown', unknown)
  if (unknown.suppressError) return answer(run, call, readAnswer(unknown.result ?? text).output, 'unknown_tool', false)
  const failed: HookContexts['tool:error'] = { ...about, error: new Error(text) }
  await run.hooks.ask('tool:error', failed)
  return answer(run, call, readAnswer(unknown.result ?? failed.result ?? text).output, 'unknown_tool')
}

/** A call that starts again keeps its key. */
function startOf(run: Run, call: ToolCallBlock): { key: string; attempt: number } {
  const earlier = run.log.transcript.startOf(call.id)
  if (!earlier) return { key: `${run.log.id}/${call.id}`, attempt: 1 }
  return { key: earlier.key, attempt: earlier.attempt + 1 }
}

/** TRANSFORM, commit, AFTER. */
function finish(
  run: Run,
  about: ToolHookContext,
  done: Outcome,
  outcome: CallOutcome,
): CallResult | Promise<CallResult> {
  const { hooks } = run
  if (hooks.has('tool:transform') || hooks.has('tool:after')) return finishHeard(run, about, done, outcome)
  return commit(run, about.callId, done, outcome)
}

async function finishHeard(run: Run, about: ToolHookContext, done: Outcome, outcome: CallOutcome): Promise<CallResult> {
  const { hooks } = run
  const { output: original } = done
  const result: ToolOutput = typeof original === 'string' ? original : [...original]
  const outputBytes = toolOutputByteLength(original)
  const given = done.details !== undefined && { details: done.details }
  const shown = { ...about, result, isError: done.isError, original, outputBytes, ...given }
  await hooks.ask('tool:transform', shown)
  const changed = shown.result === original ? done : readAnswer(shown.result)
  const { output } = changed
  const isError = Boolean(shown.isError) || (changed !== done && changed.isError)
  const isWithheld = 'isWithheld' in shown
  const details = !isWithheld && given
  const settled = await commit(run, about.callId, { output, isError, ...details }, outcome)
  const facts = { outputBytes: toolOutputByteLength(output), runToolCounts: run.tools.counts.snapshot }
  await hooks.tell('tool:after', { ...about, result: output, isError, ...facts, ...details })
  return settled
}

/** What a handler gave in place of a result. Handlers may come from anywhere, and nonsense must not reach the log. */
function readAnswer(value: unknown): Outcome {
  try {
    return readToolResult(value)
  } catch (error) {
    return { output: `Tool error: a handler's answer could not be used: ${messageOf(error)}`, isError: true }
  }
}

/** An answer without TRANSFORM and AFTER, for calls that never ran. */
export function answer(
  run: Run,
  call: ToolCallBlock,
  output: ToolOutput,
  outcome: CallOutcome,
  isError = true,
): CallResult | Promise<CallResult> {
  return commit(run, call.id, { output, isError }, outcome)
}

/** The result becomes fact. */
function commit(run: Run, callId: string, done: Outcome, outcome: CallOutcome): CallResult | Promise<CallResult> {
  const { output, isError, details } = done
  const entry: EntryBody = { type: 'call_result', callId, output, outcome }
  if (isError) Object.assign(entry, { isError })
  if (details !== undefined) Object.assign(entry, { details })
  const written = run.log.append(entry)
  const settled = isError && hasRun.has(outcome) ? { output, isError, hasFailed: true } : { output, isError }
  return written ? written.then(() => settled) : settled
}

const hasRun: ReadonlySet<CallOutcome> = new Set(['done', 'error', 'timeout'])

/** Before calls that had begun are answered without being run: what their children left open is answered first. */
export function abandonIfBegun(run: Run, ...callIds: readonly string[]): Promise<void> | undefined {
  const begun = callIds.filter((id) => run.log.transcript.startOf(id))
  return begun.length > 0 ? abandon(run, begun) : undefined
}

async function abandon({ session, children, cancellation }: Run, callIds: readonly string[]): Promise<void> {
  if (!session || cancellation.reason instanceof LeaseLostError) return // they are somebody else's now
  const { abandonChildren, isChildOf } = await import('./fork.ts')
  // Those that were stopped may not have come to their end yet, and write until they do.
  const atWork = [...children.running].filter(([name]) => callIds.some((id) => isChildOf(name, id)))
  await Promise.allSettled(atWork.map(([, work]) => work))
  await abandonChildren(session, callIds)
}

import type { Effect } from './authority.ts'
import { Deadline } from './clock.ts'
import { messageOf } from './errors.ts'
import type { AgentHookMap, ToolHookContext } from './hook-map.ts'
import type { CallOutcome } from './log.ts'
import { didYouMean } from './nearest.ts'
import type { Run } from './run.ts'
import { orStopped, type Stop } from './stop.ts'
import { defaultTimeoutMs, type ToolDef } from './tool.ts'
import { CallContext, type CallNested, Suspended } from './tool-context.ts'
import { type Coercion, type ValidationResult, validateToolArgs } from './tool-input.ts'
import { type Outcome, readToolResult, toolOutputByteLength } from './tool-output.ts'
import { copyJson, deepFreeze, type ToolCallBlock, type ToolOutput } from './turn.ts'

/** A call, looked up, checked and mended before anybody is asked about it: what was judged is what runs. */
export interface PreparedCall {
  readonly call: ToolCallBlock
  readonly tool: ToolDef | undefined
  readonly checked: ValidationResult
  readonly about: ToolHookContext
}

/** What the gate said. `undefined` means that the run was stopped while somebody was still deciding. */
export type Verdict = AgentHookMap['tool:gate'] | undefined

/** How a call ended; `suspended` leaves it open. */
export interface Settled {
  readonly output: ToolOutput
  readonly isError: boolean
  readonly suspended?: string
}

/** What a running call depends on beside its run. */
export interface Surroundings {
  readonly stop: Stop
  readonly deadline: Deadline
  /** The sibling whose failure stopped this call, if that is why. */
  readonly cancelledBy: () => string | undefined
}

/** Pure and silent. */
export function prepareCall(run: Run, turnId: string, call: ToolCallBlock): PreparedCall {
  const tool = run.tools.get(call.name)
  const checked = check(call, tool)
  const input = checked.valid ? deepFreeze(checked.input) : call.input
  const displayName = run.provider.displayName?.(call.name) ?? call.name
  return { call, tool, checked, about: { turnId, callId: call.id, name: call.name, displayName, input } }
}

function check(call: ToolCallBlock, tool: ToolDef | undefined): ValidationResult {
  if (call.unreadable !== undefined)
    return { valid: false, error: `the arguments could not be read: ${call.unreadable}. Send one JSON object` }
  if (!tool) return { valid: true, input: call.input }
  const checked = validateToolArgs(call.input, tool.spec.inputSchema)
  if (!checked.valid || call.raw === undefined) return checked
  return { ...checked, coercions: [repaired, ...(checked.coercions ?? [])] }
}

const repaired: Coercion = { property: '', from: 'malformed JSON', to: 'object' }

/** GATE. The call is counted here, so that caps hold inside a wave. */
export async function gateCall(run: Run, { call, tool, about }: PreparedCall): Promise<Verdict> {
  if (!run.hooks.has('tool:gate')) {
    run.counts.add(call.name)
    return open
  }
  const gate: AgentHookMap['tool:gate'] = {
    ...about,
    runToolCounts: run.counts.snapshot,
    effects: effectsOf(tool, about.input),
    block: false,
    reason: '',
  }
  try {
    const asked = run.hooks.ask('tool:gate', gate)
    if (asked) await orStopped(asked, run.stop)
  } catch {
    return undefined
  }
  if (!gate.block && !gate.halt) run.counts.add(call.name)
  return gate
}

const open = Object.freeze({ block: false }) as AgentHookMap['tool:gate']

function effectsOf(tool: ToolDef | undefined, input: ToolHookContext['input']): readonly Effect[] {
  const effects = tool?.effects ?? []
  if (typeof effects !== 'function') return effects
  try {
    return effects(input)
  } catch {
    return ['unknown']
  }
}

/** The life of one call after its gate (LOOKUP to AFTER). Its result is in the log before anybody is told. */
export async function settleCall(
  run: Run,
  prepared: PreparedCall,
  gate: AgentHookMap['tool:gate'],
  around: Surroundings,
): Promise<Settled> {
  const { call, tool, checked, about } = prepared
  const { hooks } = run
  if (gate.block) return answer(run, call, `Blocked: ${gate.reason || 'this call is not allowed'}`, 'blocked')
  if (gate.result !== undefined) return finish(run, about, readToolResult(gate.result), 'substituted')
  if (!tool) return answerUnknown(run, prepared)
  if (!checked.valid) {
    await hooks.tell('validation:reject', { ...about, error: checked.error })
    return answer(run, call, `Validation error: ${checked.error}`, 'invalid')
  }
  const coercions = checked.coercions && { coercions: checked.coercions }
  if (coercions) await hooks.tell('validation:coerce', { ...about, ...coercions })

  const nested: CallNested = (inner, stop) => settleNested(run, about.turnId, inner, { ...around, stop })
  const context = new CallContext(run, about, around, await intend(run, call, tool), nested)
  if (tool.before || hooks.has('tool:before')) {
    const extra = await tool.before?.(copyJson(about.input), context).catch(() => undefined)
    await hooks.tell('tool:before', { ...about, ...coercions, ...extra, runToolCounts: run.counts.snapshot })
  }
  const ended = await execute(run, prepared, tool, context, around)
  context.close()
  if (ended.outcome) return finish(run, about, ended, ended.outcome)
  if (ended.suspended !== undefined) return { output: '', isError: false, suspended: ended.suspended }
  const culprit = around.cancelledBy()
  if (culprit !== undefined) return answer(run, call, `Cancelled: ${culprit} failed`, 'cancelled')
  return answer(run, call, abortedText, 'aborted')
}

/** A call made by a tool: the same gates, the same hooks, entries of its own; only no turn of the model waits for it. */
async function settleNested(run: Run, turnId: string, call: ToolCallBlock, around: Surroundings): Promise<Settled> {
  const prepared = prepareCall(run, turnId, call)
  const gate = await gateCall(run, prepared)
  if (!gate) return { output: abortedText, isError: true }
  if (gate.halt && !gate.block) return { output: '', isError: false, suspended: gate.halt.reason }
  return settleCall(run, prepared, gate, { ...around, deadline: new Deadline(run.clock) })
}

export const abortedText = 'Aborted: the run was stopped'

async function answerUnknown(run: Run, { call, about }: PreparedCall): Promise<Settled> {
  const text = `Unknown tool: ${call.name}${didYouMean(call.name, run.tools.names())}`
  const unknown: AgentHookMap['tool:unknown'] = { ...about, suppressError: false }
  await run.hooks.ask('tool:unknown', unknown)
  if (unknown.suppressError) return answer(run, call, unknown.result ?? text, 'unknown_tool', false)
  const failed: AgentHookMap['tool:error'] = { ...about, error: new Error(text) }
  await run.hooks.ask('tool:error', failed)
  return answer(run, call, unknown.result ?? failed.result ?? text, 'unknown_tool')
}

interface Ended extends Outcome {
  /** Absent when the call was interrupted or suspended. */
  readonly outcome?: CallOutcome
  readonly suspended?: string
}

const interrupted: Ended = { output: '', isError: true }

/**
 * EXECUTE. Only the tool itself stands inside the `try`: a log that cannot be written is not a tool error.
 * A tool that ignores its signal is left behind; what it returns later is dropped.
 */
async function execute(
  run: Run,
  { call, about }: PreparedCall,
  tool: ToolDef,
  context: CallContext,
  around: Surroundings,
): Promise<Ended> {
  const { timeoutMs = defaultTimeoutMs } = tool
  let isLate = false
  around.deadline.start(timeoutMs, () => {
    isLate = true
    context.stop.stop(new Error(`${call.name} took longer than ${timeoutMs} ms`))
  })
  let error: unknown
  try {
    const work = tool.execute(copyJson(about.input), context)
    const value = isThenable(work) ? await orStopped(Promise.resolve(work), context.stop) : work
    return { ...readToolResult(value), outcome: 'done' }
  } catch (thrown) {
    error = thrown
  } finally {
    around.deadline.stop()
  }
  if (error instanceof Suspended) return { ...interrupted, suspended: error.reason }
  if (isLate) error = context.stop.reason
  else if (context.stop.stopped) return interrupted
  const failed: AgentHookMap['tool:error'] = { ...about, error }
  await run.hooks.ask('tool:error', failed)
  const output = failed.result ?? `Tool error: ${messageOf(error)}`
  return { output, isError: true, outcome: isLate ? 'timeout' : 'error' }
}

const isThenable = (value: unknown): value is PromiseLike<unknown> =>
  typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function'

/** The intent is logged before the world is touched; a call that starts again keeps its key. A pure call leaves no trace, so it needs none. */
async function intend(
  run: Run,
  call: ToolCallBlock,
  { replay = 'opaque' }: ToolDef,
): Promise<{ key: string; attempt: number }> {
  const earlier = run.log.transcript.startOf(call.id)
  const attempt = (earlier?.attempt ?? 0) + 1
  const key = earlier?.key ?? `${run.id}/${call.id}`
  if (replay !== 'pure') await run.log.append({ type: 'call_started', callId: call.id, key, attempt, replay })
  return { key, attempt }
}

/** TRANSFORM, commit, AFTER. */
async function finish(run: Run, about: ToolHookContext, done: Outcome, outcome: CallOutcome): Promise<Settled> {
  const { hooks } = run
  const shown = { ...about, result: done.output, isError: done.isError, outputBytes: 0 }
  if (hooks.has('tool:transform')) {
    shown.outputBytes = toolOutputByteLength(done.output)
    await hooks.ask('tool:transform', shown)
  }
  const { result: output, isError } = shown
  const details = done.details !== undefined && { details: done.details }
  await run.log.append({
    type: 'call_result',
    callId: about.callId,
    output,
    ...(isError && { isError }),
    outcome,
    ...details,
  })
  if (hooks.has('tool:after')) {
    const outputBytes = toolOutputByteLength(output)
    await hooks.tell('tool:after', {
      ...about,
      result: output,
      isError,
      outputBytes,
      runToolCounts: run.counts.snapshot,
      ...details,
    })
  }
  return { output, isError }
}

/** An answer without TRANSFORM and AFTER, for calls that never ran. */
export async function answer(
  run: Run,
  call: ToolCallBlock,
  output: ToolOutput,
  outcome: CallOutcome,
  isError = true,
): Promise<Settled> {
  await run.log.append({ type: 'call_result', callId: call.id, output, ...(isError && { isError }), outcome })
  return { output, isError }
}

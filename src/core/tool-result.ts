import { messageOf } from './errors.ts'
import type { CallOutcome, EntryBody } from './log.ts'
import { wellFormed } from './plain-json.ts'
import type { Run } from './run.ts'
import type { ReplayClass } from './tool.ts'
import type { ToolHookContext } from './tool-hooks.ts'
import { toolOutputByteLength } from './tool-output.ts'
import type { Transcript } from './transcript.ts'
import type { ToolCallBlock, ToolOutput, ToolResultContent } from './turn.ts'
import type { MaybePromise } from './waiting.ts'

/** The result of a call or, with `suspendReason`, why it stays open. */
export interface CallResult {
  readonly output: ToolOutput
  readonly isError: boolean
  /**
   * Set if the tool failed, or if something failed before it could start: the gate's `beforeTool`, or an `around` handler. Not set for
   * a call that was blocked, invalid, skipped or cancelled.
   */
  readonly hasFailed?: boolean
  /** Why the call stays open; absent if it has ended. */
  readonly suspendReason?: string
}

/** A call that stays open. `reason` may be anything, as it comes from handlers and tools. */
export function suspendedResult({ reason }: { readonly reason?: unknown }): CallResult {
  return {
    output: '',
    isError: false,
    suspendReason: typeof reason === 'string' && reason !== '' ? reason : 'suspended',
  }
}

/** A call that this process leaves open, for the process that continues the run. The reason is never shown. */
export const leftOpen = (): CallResult => suspendedResult({})

/**
 * Asks the handlers of `tool:transform`, logs the result, then tells those of `tool:after`. For calls that ran to
 * their end, with or without an error; for those that failed before the tool began (in `beforeTool` or an `around` handler); and for results
 * that a gate gave.
 */
export function runResultHooksAndLog(
  run: Run,
  callInfo: ToolHookContext,
  result: NormalizedResult,
  outcome: CallOutcome,
): MaybePromise<CallResult> {
  const { hooks } = run
  if (hooks.has('tool:transform') || hooks.has('tool:after')) return logBetweenHooks(run, callInfo, result, outcome)
  return appendResult(run, callInfo.callId, result, outcome)
}

async function logBetweenHooks(
  run: Run,
  callInfo: ToolHookContext,
  original: NormalizedResult,
  outcome: CallOutcome,
): Promise<CallResult> {
  const { hooks } = run
  const { output: originalOutput } = original
  const ownDetails = original.details !== undefined && { details: original.details }
  const transform = {
    ...callInfo,
    result: typeof originalOutput === 'string' ? originalOutput : ([...originalOutput] as ToolOutput),
    isError: original.isError,
    original: originalOutput,
    outputBytes: toolOutputByteLength(originalOutput),
    ...ownDetails,
  }
  await hooks.ask('tool:transform', transform)
  const changed = transform.result === originalOutput ? original : normalizeHandlerResult(transform.result)
  const { output } = changed
  // If a handler gave a value that cannot be used as a result, `changed` is an error that says so.
  const isError = Boolean(transform.isError) || (changed !== original && changed.isError)
  // When a transform handler failed, `Hooks` replaced the output by an error and set `isWithheld`; then the details are withheld too.
  const details = !('isWithheld' in transform) && ownDetails
  const result = await appendResult(run, callInfo.callId, { output, isError, ...details }, outcome)
  const outputBytes = toolOutputByteLength(output)
  const runToolCounts = run.tools.counts.snapshot
  await hooks.tell('tool:after', { ...callInfo, result: output, isError, outputBytes, runToolCounts, ...details })
  return result
}

/** Logs an error as the result, without `tool:transform` and `tool:after`: for a call that was not to run (blocked, invalid, skipped), or was stopped. */
export function logErrorWithoutHooks(
  run: Run,
  call: ToolCallBlock,
  output: ToolOutput,
  outcome: CallOutcome,
): MaybePromise<CallResult> {
  return appendResult(run, call.id, { output, isError: true }, outcome)
}

/** Logs a result, without `tool:transform` and `tool:after`. */
export function appendResult(
  run: Run,
  callId: string,
  result: NormalizedResult,
  outcome: CallOutcome,
): MaybePromise<CallResult> {
  const { output, isError, details } = result
  const entry: EntryBody = { type: 'call_result', callId, output, outcome }
  if (isError) Object.assign(entry, { isError })
  if (details !== undefined) Object.assign(entry, { details })
  const written = run.log.append(entry)
  const callResult =
    isError && failureOutcomes.has(outcome) ? { output, isError, hasFailed: true } : { output, isError }
  return written ? written.then(() => callResult) : callResult
}

/** With one of these outcomes, an error result means that something failed. `done` is one of them: a tool may return an error. */
const failureOutcomes: ReadonlySet<CallOutcome> = new Set(['done', 'error', 'timeout'])

/** Normalizes a value that a handler gave in place of a result. An unusable value becomes an error result. */
export function normalizeHandlerResult(value: unknown): NormalizedResult {
  try {
    return normalizeResult(value)
  } catch (error) {
    return { output: `Tool error: a handler's answer could not be used: ${messageOf(error)}`, isError: true }
  }
}

/** A tool result that can be stored, sent and frozen. */
export interface NormalizedResult {
  readonly output: ToolOutput
  readonly isError: boolean
  readonly details?: unknown
}

/** Normalizes the return value of a tool. Throws if it cannot be shown as text. */
export function normalizeResult(value: unknown): NormalizedResult {
  if (typeof value === 'string') return { output: wellFormed(value), isError: false }
  if (Array.isArray(value)) return { output: normalizeParts(value), isError: false }
  if (isResultObject(value)) {
    const inner = normalizeResult(value.output)
    const { isError = false, details } = value
    return { ...inner, isError: Boolean(isError), ...(details !== undefined && { details: plainData(details) }) }
  }
  return { output: wellFormed(shownAsText(value)), isError: false }
}

interface ResultObject {
  readonly output: unknown
  readonly details?: unknown
  readonly isError?: unknown
}

function isResultObject(value: unknown): value is ResultObject {
  return typeof value === 'object' && value !== null && 'output' in value && isOutput(value.output)
}

const isOutput = (value: unknown): boolean => typeof value === 'string' || Array.isArray(value)

/** Blocks are copied: freezing them later must not freeze the tool's own objects. */
function normalizeParts(parts: readonly unknown[]): ToolOutput {
  if (parts.every(isPart)) return parts.map(copyPart)
  return wellFormed(shownAsText(parts))
}

function copyPart(part: ToolResultContent): ToolResultContent {
  if (part.type === 'text') return { type: 'text', text: wellFormed(part.text) }
  const { type, mediaType, data } = part
  if (type === 'image') return { type, mediaType, data }
  return { type, mediaType, data, ...(typeof part.name === 'string' && { name: wellFormed(part.name) }) }
}

function isPart(part: unknown): part is ToolResultContent {
  if (typeof part !== 'object' || part === null || !('type' in part)) return false
  if (part.type === 'text') return 'text' in part && typeof part.text === 'string'
  return (
    (part.type === 'image' || part.type === 'document') &&
    'data' in part &&
    typeof part.data === 'string' &&
    'mediaType' in part &&
    typeof part.mediaType === 'string'
  )
}

function shownAsText(value: unknown): string {
  if (value === undefined || value === null) return '(no output)'
  if (typeof value === 'object') return JSON.stringify(value)
  if (typeof value === 'function' || typeof value === 'symbol') throw new TypeError(`it returned a ${typeof value}`)
  return String(value)
}

/** A copy of `details` for the log, plain data only. Details that cannot be copied are left out: they must not fail the call. */
function plainData(details: unknown): unknown {
  try {
    return JSON.parse(JSON.stringify(details)) as unknown
  } catch {
    return undefined
  }
}

export const runStoppedText = 'Aborted: the run was stopped'
export const processLeftText = 'Interrupted: the process stopped'
const newMessageText = 'Skipped: the user sent a new message'

/** What the model reads for a call that was stopped before it began. */
export const didNotRunText = (why: string): string => `${why} before this call began; it did not run`

/** What the model reads for a call that was stopped after it had begun. */
export function interruptedText(why: string, call: { readonly replay?: ReplayClass }, soFar = ''): string {
  const printed = soFar.trim() === '' ? '' : `\nOutput so far:\n${soFar}`
  return `${why} while this call ran.${effectsNote(call)}${printed}`
}

const effectsNote = ({ replay }: { readonly replay?: ReplayClass }): string =>
  replay === 'pure' ? '' : ' Its effects may or may not have happened; check before repeating it.'

/** A result for a call that was under way when its process died. `note` is appended to the text. */
export function interruptedResult(callId: string, note = ''): EntryBody {
  const output = [interruptedText(processLeftText, {}), note].filter(Boolean).join(' ')
  return { type: 'call_result', callId, output, isError: true, outcome: 'unknown' }
}

/** A result for an open call that will not run any more, because its run was cancelled or is out of budget. */
export function abortedResult(transcript: Transcript, callId: string, why = runStoppedText): EntryBody {
  return {
    type: 'call_result',
    callId,
    output: abortedText(transcript, callId, why),
    isError: true,
    outcome: 'aborted',
  }
}

/** A result for an open call that will not run any more, because the user sent a message. */
export function skippedResult(transcript: Transcript, callId: string): EntryBody {
  return { type: 'call_result', callId, output: skippedText(transcript, callId), isError: true, outcome: 'skipped' }
}

/** What the model reads for an open call that will not run any more. It says whether the call had begun. */
export function abortedText(transcript: Transcript, callId: string, why = runStoppedText): string {
  const start = transcript.lastStartOf(callId)
  return start ? interruptedText(why, start) : didNotRunText(why)
}

/** The same for a call that was skipped because the user sent a message. */
export function skippedText(transcript: Transcript, callId: string): string {
  const start = transcript.lastStartOf(callId)
  return start ? `${newMessageText} before this call ended.${effectsNote(start)}` : newMessageText
}

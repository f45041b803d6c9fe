import type { Effect } from './authority.ts'
import { isThenable } from './cancellation.ts'
import { messageOf } from './errors.ts'
import { isRecord } from './is-record.ts'
import { shownName } from './provider.ts'
import type { Run } from './run.ts'
import type { ToolCheck, ToolDef } from './tool.ts'
import { parsedJson } from './tool-arguments.ts'
import type { ToolHookContext } from './tool-hooks.ts'
import { type Coercion, type ValidationResult, validateToolArgs } from './tool-input.ts'
import { copyJson, deepFreeze, type ToolCallBlock } from './turn.ts'

/** A call whose tool was looked up and whose input was checked and repaired. The gate judges this input, and the tool runs with it. */
export interface PreparedCall {
  readonly call: ToolCallBlock
  readonly tool: ToolDef | undefined
  readonly checked: ValidationResult
  /** What the tool's own check returned for `execute`, in place of the input. */
  readonly parsed?: unknown
  /** The context of this call for all tool hooks. */
  readonly callInfo: ToolHookContext
}

/** Looks up the tool of a call and checks its input. Has no effects and fires no hooks. */
export function prepareCall(run: Run, turnId: string, call: ToolCallBlock, parentCallId?: string): PreparedCall {
  const tool = run.tools.get(call.name)
  const { parsed, ...checked } = check(call, tool)
  const input = checked.valid ? deepFreeze(checked.input) : call.input
  const displayName = shownName(run.provider, call.name)
  const callInfo: ToolHookContext = { turnId, callId: call.id, name: call.name, displayName, input }
  if (parentCallId === undefined && parsed === undefined) return { call, tool, checked, callInfo }
  const nested = parentCallId !== undefined && { parentCallId }
  return { call, tool, checked, parsed, callInfo: { ...callInfo, ...nested } }
}

function check(call: ToolCallBlock, tool: ToolDef | undefined): ValidationResult & { parsed?: unknown } {
  if (call.unreadable !== undefined)
    return { valid: false, error: `the arguments could not be read: ${call.unreadable}. Send one JSON object` }
  if (!tool) return { valid: true, input: call.input }
  const result = validateToolArgs(call.input, tool.spec.inputSchema, call.raw)
  if (!result.valid) return result
  const checked = !wasRepaired(call) ? result : { ...result, coercions: [jsonRepair, ...(result.coercions ?? [])] }
  return tool.check ? { ...checked, ...ownCheck(tool, checked.input) } : checked
}

/** The tool's own check. If it throws, the input is rejected. */
function ownCheck(tool: ToolDef, input: Record<string, unknown>): ToolCheck | undefined {
  try {
    const found = tool.check?.(copyJson(input))
    return found?.valid && found.input ? { ...found, input: copyJson(found.input) } : found
  } catch (error) {
    return { valid: false, error: messageOf(error) }
  }
}

/** Whether the argument text was not JSON. `raw` is also kept for JSON that writes a number in an unusual way. */
const wasRepaired = ({ raw }: ToolCallBlock): boolean => raw !== undefined && !isRecord(parsedJson(raw))

const jsonRepair: Coercion = { property: '', from: 'malformed JSON', to: 'object' }

/** The effects that a tool declares for a call; `unknown` for anything that it does not declare, or not in our terms. */
export function effectsOf(tool: ToolDef | undefined, input: ToolHookContext['input']): readonly Effect[] {
  const { effects = ['unknown'] } = tool ?? {}
  try {
    const declared: unknown = typeof effects === 'function' ? effects(input) : effects
    if (isThenable(declared)) declared.then(undefined, () => {}) // too late to count, but its rejection must not be unhandled
    return Array.isArray(declared) ? declared.map((one) => (isEffect(one) ? one : 'unknown')) : ['unknown']
  } catch {
    return ['unknown']
  }
}

const isEffect = (value: unknown): value is Effect =>
  typeof value === 'string' && /^(?:fs\.read|fs\.write|exec|net|spawn|schedule\.write|ask|mcp:.*)$/s.test(value)

import type { Effect } from './authority.ts'
import { isThenable } from './cancellation.ts'
import { messageOf } from './errors.ts'
import { isRecord } from './is-record.ts'
import { parsedJson } from './plain-json.ts'
import { nameForModel } from './provider.ts'
import type { Run } from './run.ts'
import type { ToolCheck, ToolDef } from './tool.ts'
import type { ToolHookContext } from './tool-hooks.ts'
import { type Coercion, type ValidationResult, validateToolArgs } from './tool-input.ts'
import { copyJson, deepFreeze, type ToolCallBlock } from './turn.ts'

/** A call whose tool was looked up and whose input was checked and repaired. The gate judges this input, and the tool runs with it. */
export interface PreparedCall {
  readonly call: ToolCallBlock
  readonly tool: ToolDef | undefined
  readonly validation: ValidationResult
  /** If the tool's `check` returned a parsed value, `execute` gets this instead of the input. */
  readonly parsed?: unknown
  /** The context of this call for all tool hooks. */
  readonly callInfo: ToolHookContext
}

/** Looks up the tool of a call and checks its input. Has no effects and fires no hooks. */
export function prepareCall(run: Run, turnId: string, call: ToolCallBlock, parentCallId?: string): PreparedCall {
  const tool = run.tools.get(call.name)
  const { parsed, ...validation } = validate(call, tool)
  const input = validation.valid ? deepFreeze(validation.input) : call.input
  const displayName = nameForModel(run.provider, call.name)
  const callInfo: ToolHookContext = { turnId, callId: call.id, name: call.name, displayName, input }
  if (parentCallId === undefined && parsed === undefined) return { call, tool, validation, callInfo }
  const nested = parentCallId !== undefined && { parentCallId }
  return { call, tool, validation, parsed, callInfo: { ...callInfo, ...nested } }
}

function validate(call: ToolCallBlock, tool: ToolDef | undefined): ValidationResult & { parsed?: unknown } {
  if (call.unreadable !== undefined)
    return { valid: false, error: `the arguments could not be read: ${call.unreadable}. Send one JSON object` }
  if (!tool) return { valid: true, input: call.input }
  // `_outcomes` has a person's decisions about the edits. It is added after the gate (`withEditDecisions`), never by the model.
  if (tool.countEdits && '_outcomes' in call.input) return { valid: false, error: outcomesNotAllowedText }
  const result = validateToolArgs(call.input, tool.spec.inputSchema, call.raw)
  if (!result.valid) return result
  const checked = !wasRepaired(call) ? result : { ...result, coercions: [jsonRepair, ...(result.coercions ?? [])] }
  return tool.check ? { ...checked, ...runToolCheck(tool, checked.input) } : checked
}

const outcomesNotAllowedText = '"_outcomes" comes from the person who decides about the edits; leave it out'

/** The tool's own check. If it throws, the input is rejected. */
function runToolCheck(tool: ToolDef, input: Record<string, unknown>): ToolCheck | undefined {
  try {
    const result = tool.check?.(copyJson(input))
    return result?.valid && result.input ? { ...result, input: copyJson(result.input) } : result
  } catch (error) {
    return { valid: false, error: messageOf(error) }
  }
}

/** Whether the arguments were malformed JSON that was repaired. `raw` is also kept for valid JSON with an unusual number notation. */
const wasRepaired = ({ raw }: ToolCallBlock): boolean => raw !== undefined && !isRecord(parsedJson(raw))

const jsonRepair: Coercion = { property: '', from: 'malformed JSON', to: 'object' }

/** The effects that a tool declares for a call: `['unknown']` if it declares none; an unrecognised effect name becomes `'unknown'`. */
export function effectsOf(tool: ToolDef | undefined, input: ToolHookContext['input']): readonly Effect[] {
  const { effects = ['unknown'] } = tool ?? {}
  try {
    const declared: unknown = typeof effects === 'function' ? effects(input) : effects
    // Effects must be synchronous, so a promise is ignored; this only prevents an unhandled rejection.
    if (isThenable(declared)) declared.then(undefined, () => {})
    return Array.isArray(declared) ? declared.map((effect) => (isEffect(effect) ? effect : 'unknown')) : ['unknown']
  } catch {
    return ['unknown']
  }
}

const isEffect = (value: unknown): value is Effect =>
  typeof value === 'string' && /^(?:fs\.read|fs\.write|exec|net|spawn|schedule\.write|ask|mcp:.*)$/s.test(value)

import type { Effect } from './authority.ts'
import type { AgentHookMap, ToolHookContext } from './hook-map.ts'
import type { Run } from './run.ts'
import { orStopped, type Stop } from './stop.ts'
import type { ToolDef } from './tool.ts'
import { type Coercion, type ValidationResult, validateToolArgs } from './tool-input.ts'
import { deepFreeze, type ToolCallBlock } from './turn.ts'

/** A call, looked up, checked and mended before anybody is asked about it: what was judged is what runs. */
export interface PreparedCall {
  readonly call: ToolCallBlock
  readonly tool: ToolDef | undefined
  readonly checked: ValidationResult
  readonly about: ToolHookContext
}

/** What the gate said. `undefined` means that the run was stopped while somebody was still deciding. */
export type Verdict = AgentHookMap['tool:gate'] | undefined

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
export function gateCall(run: Run, prepared: PreparedCall, stop = run.stop): Verdict | Promise<Verdict> {
  if (run.hooks.has('tool:gate')) return askGate(run, prepared, stop)
  run.counts.add(prepared.call.name)
  return open
}

async function askGate(run: Run, { call, tool, about }: PreparedCall, stop: Stop): Promise<Verdict> {
  const effects = effectsOf(tool, about.input)
  const runToolCounts = run.counts.snapshot
  const gate: AgentHookMap['tool:gate'] = { ...about, runToolCounts, effects, block: false, reason: '' }
  try {
    const asked = run.hooks.ask('tool:gate', gate)
    if (asked) await orStopped(asked, stop)
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

import type { Effect } from './authority.ts'
import { type Cancellation, isThenable, orCancelled } from './cancellation.ts'
import { messageOf } from './errors.ts'
import type { Approval, Halt, HookContexts, ToolHookContext } from './hook-map.ts'
import { isRecord } from './is-record.ts'
import { shownName } from './provider.ts'
import type { Run } from './run.ts'
import { originOf, type ToolCheck, type ToolDef } from './tool.ts'
import { parsedJson } from './tool-arguments.ts'
import { type Coercion, type ValidationResult, validateToolArgs } from './tool-input.ts'
import { copyJson, deepFreeze, type ToolCallBlock, textOf } from './turn.ts'

/** A call, looked up, checked and mended before anybody is asked about it: what was judged is what runs. */
export interface PreparedCall {
  readonly call: ToolCallBlock
  readonly tool: ToolDef | undefined
  readonly checked: ValidationResult
  /** What the tool's own check made of the input, for the tool alone. */
  readonly parsed?: unknown
  readonly callInfo: ToolHookContext
}

/** What the gate said. `undefined` means that the run was stopped while somebody was still deciding. */
export type Verdict = HookContexts['tool:gate'] | undefined

/** Pure and silent. */
export function prepareCall(run: Run, turnId: string, call: ToolCallBlock, parentCallId?: string): PreparedCall {
  const tool = run.tools.get(call.name)
  const { parsed, ...checked } = check(call, tool)
  const input = checked.valid ? deepFreeze(checked.input) : call.input
  const displayName = shownName(run.provider, call.name)
  const about: ToolHookContext = { turnId, callId: call.id, name: call.name, displayName, input }
  if (parentCallId === undefined && parsed === undefined) return { call, tool, checked, callInfo: about }
  return { call, tool, checked, parsed, callInfo: parentCallId === undefined ? about : { ...about, parentCallId } }
}

function check(call: ToolCallBlock, tool: ToolDef | undefined): ValidationResult & { parsed?: unknown } {
  if (call.unreadable !== undefined)
    return { valid: false, error: `the arguments could not be read: ${call.unreadable}. Send one JSON object` }
  if (!tool) return { valid: true, input: call.input }
  const mended = validateToolArgs(call.input, tool.spec.inputSchema, call.raw)
  if (!mended.valid) return mended
  const checked = !wasRepaired(call) ? mended : { ...mended, coercions: [repaired, ...(mended.coercions ?? [])] }
  return tool.check ? { ...checked, ...ownCheck(tool, checked.input) } : checked
}

/** What the tool itself says about its input. A check that fails at its work has not let the input pass. */
function ownCheck(tool: ToolDef, input: Record<string, unknown>): ToolCheck | undefined {
  try {
    const found = tool.check?.(copyJson(input))
    return found?.valid && found.input ? { ...found, input: copyJson(found.input) } : found
  } catch (error) {
    return { valid: false, error: messageOf(error) }
  }
}

/** A text is also kept where it is JSON and spells a number in another way than its value would. */
const wasRepaired = ({ raw }: ToolCallBlock): boolean => raw !== undefined && !isRecord(parsedJson(raw))

const repaired: Coercion = { property: '', from: 'malformed JSON', to: 'object' }

/** GATE. The call is counted here, so that caps hold inside a wave. */
export function gateCall(run: Run, prepared: PreparedCall, stop = run.cancellation): Verdict | Promise<Verdict> {
  // What somebody decided holds, also where nobody asks any more.
  const isJudged = run.hooks.has('tool:gate') || run.log.transcript.approvals.has(prepared.call.id)
  if (isJudged) return askGate(run, prepared, stop)
  run.tools.counts.add(prepared.call.name)
  return open
}

async function askGate(
  run: Run,
  { call, tool, callInfo: about, checked }: PreparedCall,
  stop: Cancellation,
): Promise<Verdict> {
  const effects = Object.freeze(effectsOf(tool, about.input))
  const runToolCounts = run.tools.counts.snapshot
  const approval = approvalOf(run, call)
  const denied = approval?.decision === 'deny' && { block: true, reason: denialBy(approval) }
  const rejected = checked.valid ? undefined : checked.error
  const shown = { ...about, tool, runToolCounts, effects, rejected, ...(approval && { approval }) }
  const gate: HookContexts['tool:gate'] = { ...shown, block: false, reason: '', ...denied }
  // What is judged is what runs: no handler passes one call off as another.
  for (const fact in shown) Object.defineProperty(gate, fact, { writable: false, configurable: false })
  // What was halted stays so where nobody is left who would halt it.
  if (!run.hooks.has('tool:gate')) Object.assign(gate, haltOf(run, call))
  try {
    const asked = run.hooks.ask('tool:gate', gate)
    if (asked) await orCancelled(asked, stop)
  } catch {
    return undefined
  }
  if (denied) Object.assign(gate, { block: true, reason: gate.reason || denied.reason }) // a hook may tighten, never loosen
  if (gate.block) return gate
  if (gate.halt) await requestApproval(run, about, tool, gate.halt)
  else run.tools.counts.add(call.name)
  return gate
}

/** What was decided about a call since it was halted. */
function approvalOf({ log }: Run, { id }: ToolCallBlock): Approval | undefined {
  const entry = log.transcript.approvals.get(id)
  if (entry?.type !== 'approval_answered') return undefined
  const { decision, digest, by, mac, note } = entry
  return { decision, digest, by, ...(mac !== undefined && { mac }), ...(note && { note }) }
}

/** The question about a call that nobody has answered yet. One that has begun since was let through. */
function haltOf({ log: { transcript } }: Run, { id }: ToolCallBlock): { halt?: Halt } {
  const entry = transcript.approvals.get(id)
  if (!entry || entry.seq < (transcript.startOf(id)?.seq ?? 0)) return {}
  if (entry.type === 'approval_answered')
    return entry.decision === 'expired' ? { halt: { reason: 'approval expired', digest: entry.digest } } : {}
  const { reason = 'approval needed', digest, request, signature } = entry
  return { halt: { reason, digest, ...(request !== undefined && { request }), ...(signature && { signature }) } }
}

function denialBy({ by, note = [] }: Approval): string {
  const said = textOf({ role: 'user', content: note })
  return said === '' ? `${by} said no` : `${by} said no: ${said}`
}

/** The question becomes a durable thing that can be answered from anywhere. Asking the same again adds nothing. */
async function requestApproval(
  { log }: Run,
  about: ToolHookContext,
  tool: ToolDef | undefined,
  halt: Halt,
): Promise<void> {
  const { callId, name, input, parentCallId } = about
  const { reason, request, digest = callId, signature } = halt
  const known = log.transcript.approvals.get(callId)
  const isAsked = known?.type === 'approval_requested' && known.digest === digest
  if (isAsked && known.signature?.keyId === signature?.keyId) return
  const more = {
    ...(typeof reason === 'string' && { reason }),
    ...(request !== undefined && { request: copyJson(request) }),
    ...(signature && { signature }),
    ...(tool && { origin: originOf(tool) }),
    ...(parentCallId !== undefined && { call: { name, input } }),
  }
  await log.append({ type: 'approval_requested', callId, digest, ...more })
}

const open = Object.freeze({ block: false }) as HookContexts['tool:gate']

/** What a tool says its call does; what it does not say, or not in our words, may be anything. */
export function effectsOf(tool: ToolDef | undefined, input: ToolHookContext['input']): readonly Effect[] {
  const { effects = ['unknown'] } = tool ?? {}
  try {
    const said: unknown = typeof effects === 'function' ? effects(input) : effects
    if (isThenable(said)) said.then(undefined, () => {}) // it says nothing in time, and must not hurt later
    return Array.isArray(said) ? said.map((one) => (isEffect(one) ? one : 'unknown')) : ['unknown']
  } catch {
    return ['unknown']
  }
}

const isEffect = (said: unknown): said is Effect =>
  typeof said === 'string' && /^(?:fs\.read|fs\.write|exec|net|spawn|schedule\.write|ask|mcp:.*)$/s.test(said)

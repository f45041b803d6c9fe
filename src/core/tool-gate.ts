import { type Cancellation, orCancelled } from './cancellation.ts'
import type { HookContexts } from './hook-map.ts'
import { effectsOf, type PreparedCall } from './prepared-call.ts'
import type { Run } from './run.ts'
import { originOf, type ToolDef } from './tool.ts'
import type { Approval, Halt, ToolHookContext } from './tool-hooks.ts'
import { copyJson, type ToolCallBlock, textOf } from './turn.ts'
import type { MaybePromise } from './waiting.ts'

/** The context of `tool:gate` after all handlers were asked. */
export type Gate = HookContexts['tool:gate']

/**
 * Asks the handlers of `tool:gate` about a call; `undefined` if the run was cancelled meanwhile. A call that passes is
 * counted here, so that limits on the number of calls hold inside a wave.
 */
export function gateCall(
  run: Run,
  prepared: PreparedCall,
  cancellation = run.cancellation,
): MaybePromise<Gate | undefined> {
  // An answer in the log counts even if no handler asks for it any more.
  const isGated = run.hooks.has('tool:gate') || run.log.transcript.approvals.has(prepared.call.id)
  if (isGated) return askGate(run, prepared, cancellation)
  run.tools.counts.add(prepared.call.name)
  return openGate
}

const openGate = Object.freeze({ block: false }) as Gate

async function askGate(run: Run, prepared: PreparedCall, cancellation: Cancellation): Promise<Gate | undefined> {
  const { call, tool, callInfo, checked } = prepared
  const effects = Object.freeze(effectsOf(tool, callInfo.input))
  const runToolCounts = run.tools.counts.snapshot
  const approval = approvalOf(run, call)
  const denied = approval?.decision === 'deny' && { block: true, reason: denialBy(approval) }
  const rejected = checked.valid ? undefined : checked.error
  const facts = { ...callInfo, tool, runToolCounts, effects, rejected, ...(approval && { approval }) }
  const gate: Gate = { ...facts, block: false, reason: '', ...denied }
  // The gate judges the call that runs: no handler can present another one to the next handler.
  for (const fact in facts) Object.defineProperty(gate, fact, { writable: false, configurable: false })
  // A halted call stays halted if the handler that halted it is gone.
  if (!run.hooks.has('tool:gate')) Object.assign(gate, pendingHalt(run, call))
  try {
    const asked = run.hooks.ask('tool:gate', gate)
    if (asked) await orCancelled(asked, cancellation)
  } catch {
    return undefined
  }
  if (denied) Object.assign(gate, { block: true, reason: gate.reason || denied.reason }) // no handler can undo a denial
  if (gate.block) return gate
  if (gate.halt) await requestApproval(run, callInfo, tool, gate.halt)
  else run.tools.counts.add(call.name)
  return gate
}

/** The answer to the approval request of a call, if there is one. */
function approvalOf({ log }: Run, { id }: ToolCallBlock): Approval | undefined {
  const entry = log.transcript.approvals.get(id)
  if (entry?.type !== 'approval_answered') return undefined
  const { decision, digest, by, mac, note } = entry
  return { decision, digest, by, ...(mac !== undefined && { mac }), ...(note && { note }) }
}

/** The approval request of a call, as long as it has no answer. A call that has begun since passed its gate. */
function pendingHalt({ log: { transcript } }: Run, { id }: ToolCallBlock): { halt?: Halt } {
  const entry = transcript.approvals.get(id)
  if (!entry || entry.seq < (transcript.startOf(id)?.seq ?? 0)) return {}
  if (entry.type === 'approval_answered')
    return entry.decision === 'expired' ? { halt: { reason: 'approval expired', digest: entry.digest } } : {}
  const { reason = 'approval needed', digest, request, signature } = entry
  return { halt: { reason, digest, ...(request !== undefined && { request }), ...(signature && { signature }) } }
}

function denialBy({ by, note = [] }: Approval): string {
  const text = textOf({ role: 'user', content: note })
  return text === '' ? `${by} said no` : `${by} said no: ${text}`
}

/** Logs an approval request, which can be answered from any process. An equal request is not logged again. */
async function requestApproval(
  { log }: Run,
  callInfo: ToolHookContext,
  tool: ToolDef | undefined,
  halt: Halt,
): Promise<void> {
  const { callId, name, input, parentCallId } = callInfo
  const { reason, request, digest = callId, signature } = halt
  const known = log.transcript.approvals.get(callId)
  const isAsked = known?.type === 'approval_requested' && known.digest === digest
  if (isAsked && known.signature?.keyId === signature?.keyId) return
  await log.append({
    type: 'approval_requested',
    callId,
    digest,
    ...(typeof reason === 'string' && { reason }),
    ...(request !== undefined && { request: copyJson(request) }),
    ...(signature && { signature }),
    ...(tool && { origin: originOf(tool) }),
    ...(parentCallId !== undefined && { call: { name, input } }),
  })
}

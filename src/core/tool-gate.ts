import type { ToolOrigin } from './authority.ts'
import { type Cancellation, orCancelled } from './cancellation.ts'
import { countEdits, readEditDecisions } from './edit-outcomes.ts'
import { messageOf } from './errors.ts'
import type { HookContexts } from './hook-map.ts'
import { effectsOf, type PreparedCall } from './prepared-call.ts'
import type { Run } from './run.ts'
import { originOf, type ToolDef } from './tool.ts'
import type { Approval, Halt, ToolHookContext } from './tool-hooks.ts'
import { copyJson, type ToolCallBlock, textOf } from './turn.ts'
import type { MaybePromise } from './waiting.ts'

type GateContext = HookContexts['tool:gate']

/** The decision of the handlers of `tool:gate`: their context after all were asked. */
export type GateVerdict = Pick<
  GateContext,
  'block' | 'reason' | 'result' | 'halt' | 'editDecisions' | 'confinement' | 'beforeTool' | 'beforeCommands'
>

/**
 * Asks the handlers of `tool:gate` about a call; `undefined` if the run was cancelled meanwhile. A call that passes is counted at
 * once, for extensions that limit the number of calls: they read `run.tools.counts.of(name)`, which includes earlier calls of the
 * same wave. (The snapshot in `runToolCounts` does not.)
 */
export function gateCall(
  run: Run,
  prepared: PreparedCall,
  cancellation = run.cancellation,
): MaybePromise<GateVerdict | undefined> {
  // An approval request in the log, or the answer to it, applies even if no handler of `tool:gate` is registered.
  const isGated = run.hooks.has('tool:gate') || run.log.transcript.approvals.has(prepared.call.id)
  if (isGated) return askGate(run, prepared, cancellation)
  run.tools.counts.add(prepared.call.name)
  return passedGate
}

const passedGate: GateVerdict = Object.freeze({ block: false, reason: '' })

/**
 * Asks the handlers, or, if there are none, goes by what the log has about an approval. Then logs an approval request for a
 * halted call, or counts a call that passed.
 */
async function askGate(run: Run, prepared: PreparedCall, cancellation: Cancellation): Promise<GateVerdict | undefined> {
  const { call, tool, callInfo } = prepared
  const approval = approvalOf(run, call)
  const context = gateContext(run, prepared, approval)
  if (run.hooks.has('tool:gate')) {
    try {
      const asked = run.hooks.ask('tool:gate', context)
      if (asked) await orCancelled(asked, cancellation)
    } catch {
      return undefined // only a cancellation throws here: if a handler fails, the call is blocked instead
    }
  } else Object.assign(context, pendingHalt(run, call))
  if (approval?.decision === 'deny') block(context, context.reason || denialReason(approval)) // no handler can undo a denial
  if (!context.block) normalizeEditDecisions(context, tool, callInfo)
  if (context.block) return context
  const { halt } = context
  // Copied, because the log freezes what it gets, and the request belongs to the handler.
  if (halt) await requestApproval(run, callInfo, tool && originOf(tool), { ...halt, request: copyJson(halt.request) })
  else run.tools.counts.add(call.name)
  return context
}

/**
 * What the handlers get. If a person has denied the call, it is already blocked; if the person decided about its edits, these
 * decisions are already set.
 */
function gateContext(
  run: Run,
  { tool, callInfo, validation }: PreparedCall,
  approval: Approval | undefined,
): GateContext {
  const facts = {
    ...callInfo,
    tool,
    runToolCounts: run.tools.counts.snapshot,
    effects: Object.freeze(effectsOf(tool, callInfo.input)),
    rejected: validation.valid ? undefined : validation.error,
    ...(approval && { approval }),
  }
  const context: GateContext = { ...facts, block: false, reason: '' }
  // Read-only, so that no handler can change what the next one sees.
  for (const field in facts) Object.defineProperty(context, field, { writable: false, configurable: false })
  if (approval?.decision === 'deny') block(context, denialReason(approval))
  if (approval?.decision === 'allow' && approval.edits) context.editDecisions = approval.edits
  return context
}

function block(context: GateContext, reason: string): void {
  context.block = true
  context.reason = reason
}

/**
 * Normalizes the decisions of a person about the edits of a call. Blocks the call if its tool does not support such decisions, or there
 * is not one for each edit.
 */
function normalizeEditDecisions(context: GateContext, tool: ToolDef | undefined, { input }: ToolHookContext): void {
  if (!context.editDecisions) return
  try {
    context.editDecisions = readEditDecisions(context.editDecisions, countEdits(tool, input))
  } catch (error) {
    block(context, `the decisions about the edits of this call cannot be applied: ${messageOf(error)}`)
  }
}

/** The answer to the approval request of a call, if there is one. */
function approvalOf({ log }: Run, { id }: ToolCallBlock): Approval | undefined {
  const entry = log.transcript.approvals.get(id)
  if (entry?.type !== 'approval_answered') return undefined
  const { decision, digest, by, scope, where, edits, rule, mac, note } = entry
  const grantFields = {
    ...(scope && { scope }),
    ...(where && { where }),
    ...(edits && { edits }),
    ...(rule && { rule }),
  }
  return { decision, digest, by, ...grantFields, ...(mac !== undefined && { mac }), ...(note && { note }) }
}

/**
 * Used if no handler is registered. Nothing can then ask again or approve, so a call whose approval request is unanswered or has
 * expired is halted again. A call that was started after its request was logged had passed the gate, so it is not halted.
 */
function pendingHalt({ log: { transcript } }: Run, { id }: ToolCallBlock): { halt?: Halt } {
  const entry = transcript.approvals.get(id)
  if (!entry || entry.seq < (transcript.lastStartOf(id)?.seq ?? 0)) return {}
  if (entry.type === 'approval_answered')
    return entry.decision === 'expired' ? { halt: { reason: 'approval expired', digest: entry.digest } } : {}
  const { reason = 'approval needed', digest, request, signature } = entry
  return { halt: { reason, digest, ...(request !== undefined && { request }), ...(signature && { signature }) } }
}

function denialReason({ by, note = [] }: Approval): string {
  const text = textOf({ role: 'user', content: note })
  return text === '' ? `denied by ${by}` : `denied by ${by}: ${text}`
}

/** Logs an approval request, which can be answered from any process. An equal request is not logged again. */
export async function requestApproval(
  { log }: Run,
  { callId, name, input, parentCallId }: Pick<ToolHookContext, 'callId' | 'name' | 'input' | 'parentCallId'>,
  origin: ToolOrigin | undefined,
  { reason, request, digest = callId, signature }: Halt,
): Promise<void> {
  const logged = log.transcript.approvals.get(callId)
  const isAsked = logged?.type === 'approval_requested' && logged.digest === digest
  if (isAsked && logged.signature?.keyId === signature?.keyId) return
  await log.append({
    type: 'approval_requested',
    callId,
    digest,
    ...(typeof reason === 'string' && { reason }),
    ...(request !== undefined && { request }),
    ...(signature && { signature }),
    ...(origin && { origin }),
    // The turn of the model contains the model's own calls. A nested call is logged nowhere else before it starts.
    ...(parentCallId !== undefined && { call: { name, input } }),
  })
}

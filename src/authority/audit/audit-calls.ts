import type { AuditRecord, AuditSink } from '../../core/authority.ts'
import type { HookContexts } from '../../core/hook-map.ts'
import type { Run } from '../../core/run.ts'
import type { ToolHookContext } from '../../core/tool-hooks.ts'
import type { Judged } from '../gate.ts'

/** Records the decisions about the calls of one run, and their outcomes. */
export function auditCalls(run: Run, audit: AuditSink) {
  const about = new Map<string, Partial<AuditRecord>>()
  const running = new Map<string, number>()
  const ofRun = { sessionId: run.log.id, runId: run.id, ...(run.parent && { parentRunId: run.parent.id }) }

  const invocation = async (event: string, callId: string, details?: AuditRecord['details']): Promise<void> => {
    const known = about.get(callId)
    await audit.write({ class: 'ToolInvocation', event, ...ofRun, callId, ...known, ...(details && { details }) })
  }
  /** Records the end of a call and forgets it. */
  const ending = async (event: string, callId: string, details?: AuditRecord['details']): Promise<void> => {
    const durationMs = run.clock.now() - running.get(callId)!
    running.delete(callId)
    const written = invocation(event, callId, { durationMs, ...details })
    about.delete(callId)
    await written
  }

  return {
    /** Before the tool runs. A failing write stops the call. */
    async decided(ctx: ToolHookContext, { call, decision, approver }: Judged): Promise<void> {
      const { callId, name, input, parentCallId } = ctx
      const { origin, key, digest } = call ?? {}
      const facts = { tool: name, ...(call && { origin, key, digest }) } as Partial<AuditRecord>
      if (decision.verdict !== 'deny') about.set(callId, facts)
      await audit.write({
        ...{ class: 'Approval', event: eventOf[decision.verdict], ...ofRun, callId, ...facts, decision },
        ...(approver !== undefined && { approver }),
        details: {
          input,
          effects: [...new Set(call?.effects.map(({ effect }) => effect))],
          ...(parentCallId !== undefined && { parentCallId }),
        },
      })
    },
    /** The run was stopped before a decision. */
    async cancelled({ callId, name }: ToolHookContext): Promise<void> {
      await audit.write({ class: 'Approval', event: 'ApprovalCancelled', ...ofRun, callId, tool: name })
    },
    async started({ callId }: HookContexts['tool:before']): Promise<void> {
      running.set(callId, run.clock.now())
      await invocation('ToolInvocationStarted', callId)
    },
    async ended({ callId, isError, outputBytes }: HookContexts['tool:after']): Promise<void> {
      // A hook may have answered instead of the tool.
      if (!running.has(callId)) return invocation('ToolInvocationSubstituted', callId, { outputBytes })
      await ending(isError ? 'ToolInvocationFailed' : 'ToolInvocationSucceeded', callId, { outputBytes })
    },
    /** The run has ended: calls that started and did not end were cancelled. */
    async left(): Promise<void> {
      for (const callId of [...running.keys()]) await ending('ToolInvocationCancelled', callId)
    },
  }
}

const eventOf = { allow: 'ApprovalGranted', ask: 'ApprovalRequired', deny: 'ApprovalDenied' } as const

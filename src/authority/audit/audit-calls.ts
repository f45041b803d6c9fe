import type { AuditRecord, AuditSink } from '../../core/authority.ts'
import type { HookContexts } from '../../core/hook-map.ts'
import type { Run } from '../../core/run.ts'
import type { ToolHookContext } from '../../core/tool-hooks.ts'
import type { Judged } from '../gate.ts'

interface CallAudit {
  /** Before the tool runs. A failing write stops the call. */
  decided(ctx: ToolHookContext, judged: Judged): Promise<void>
  /** The run was stopped before a decision. */
  cancelled(ctx: ToolHookContext): Promise<void>
  started(ctx: HookContexts['tool:before']): Promise<void>
  ended(ctx: HookContexts['tool:after']): Promise<void>
  /** The run has ended: calls that started and did not end were cancelled. */
  left(): Promise<void>
}

/** Creates the recorder for one run. */
export function auditCalls(run: Run, audit: AuditSink): CallAudit {
  const about = new Map<string, Partial<AuditRecord>>()
  const running = new Map<string, number>()
  const ofRun = {
    sessionId: run.log.id,
    runId: run.id,
    ...(run.parent && { parentRunId: run.parent.id }),
  }

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
    async decided({ callId, name, input, parentCallId }, { call, decision, approver }) {
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
    async cancelled({ callId, name }) {
      await audit.write({ class: 'Approval', event: 'ApprovalCancelled', ...ofRun, callId, tool: name })
    },
    async started({ callId }) {
      running.set(callId, run.clock.now())
      await invocation('ToolInvocationStarted', callId)
    },
    async ended({ callId, isError, outputBytes }) {
      // A hook may have answered instead of the tool.
      if (!running.has(callId)) return invocation('ToolInvocationSubstituted', callId, { outputBytes })
      await ending(isError ? 'ToolInvocationFailed' : 'ToolInvocationSucceeded', callId, { outputBytes })
    },
    async left() {
      for (const callId of [...running.keys()]) await ending('ToolInvocationCancelled', callId)
    },
  }
}

const eventOf = { allow: 'ApprovalGranted', ask: 'ApprovalRequired', deny: 'ApprovalDenied' } as const

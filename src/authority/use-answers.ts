import type { HookContexts } from '../core/hook-map.ts'
import type { Run } from '../core/run.ts'
import type { Judged } from './gate.ts'
import type { UsedAnswers } from './grants/used-answers.ts'

/** Records which answers of people the calls of one run use up. */
export function useAnswers(run: Run, used: UsedAnswers) {
  const sessionId = run.log.id
  const open = new Map<string, string>()
  return {
    /**
     * The use is recorded after the start was logged. After a crash before this point the call may still run; after a
     * later crash the log shows that it has started.
     */
    bind(ctx: HookContexts['tool:gate'], { decision }: Judged): void {
      const { callId, tool } = ctx
      const mac = decision.verdict === 'allow' && decision.by === 'person' && run.session && answerOf(run, callId)
      if (!mac) return
      const attempt = nextAttempt(run, callId)
      ctx.beforeTool = async () => {
        await used.use({ sessionId, mac, attempt })
        // Other tools may run again if the process dies before their result is logged, so their answer stays valid.
        if ((tool?.replay ?? 'opaque') === 'opaque') open.set(callId, mac)
      }
    },
    async ended({ callId }: HookContexts['tool:after']): Promise<void> {
      const mac = open.get(callId)
      open.delete(callId)
      if (mac !== undefined) await used.end({ sessionId, mac })
    },
  }
}

/** The signature of the answer that the log has for a call. */
function answerOf({ log }: Run, callId: string): string | undefined {
  const entry = log.transcript.approvals.get(callId)
  return entry?.type === 'approval_answered' && entry.decision === 'allow' ? entry.mac : undefined
}

/** The number of the next start of a call. */
export const nextAttempt = ({ log }: Run, callId: string): number =>
  (log.transcript.lastStartOf(callId)?.attempt ?? 0) + 1

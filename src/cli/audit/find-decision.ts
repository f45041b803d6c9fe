import type { FindDecision } from '../../chat/commands/why.ts'
import type { Io } from '../io.ts'
import { readAuditBackwards } from './audit.ts'
import { auditFolder } from './open-audit.ts'

/** Finds the last decision about a call in the audit, which knows those of earlier processes too. */
export const findDecision =
  (io: Io): FindDecision =>
  async (session, callId, calledAt = 0) => {
    // An import may have any time.
    const since = calledAt > 0 && calledAt < Date.now() ? calledAt - slackMs : undefined
    for await (const one of readAuditBackwards(auditFolder(io), { session, since })) {
      const { decision, approver } = one
      if (one.callId !== callId || one.class !== 'Approval' || !decision) continue
      return { decision, ...(approver !== undefined && { approver }) }
    }
    return undefined
  }

/** A call may be decided before the answer with it is logged. */
const slackMs = 3_600_000

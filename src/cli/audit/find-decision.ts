import type { FindDecision } from '../../chat/commands/why.ts'
import type { Io } from '../io.ts'
import { readAudit } from './audit.ts'
import { auditFolder } from './open-audit.ts'

/** Finds the last decision about a call in the audit, which knows those of earlier processes too. */
export const findDecision =
  (io: Io): FindDecision =>
  async (session, callId) => {
    const records = await readAudit(auditFolder(io), { session })
    const found = records.findLast((one) => one.callId === callId && one.class === 'Approval' && one.decision)
    if (!found?.decision) return undefined
    return { decision: found.decision, ...(found.approver !== undefined && { approver: found.approver }) }
  }

import { existsSync } from 'node:fs'
import { verifyAudit } from '../../authority/audit/audit-chain.ts'
import { fullyVisible } from '../../platform/visible-text.ts'
import { CliError } from '../cli-error.ts'
import { exitCodes } from '../exit-codes.ts'
import type { Io } from '../io.ts'
import { auditFolder } from './audit-folder.ts'

/** `libero audit verify`: whether every record is as it was written, and none is missing between two others. */
export async function verify(io: Io): Promise<number> {
  const folder = auditFolder(io)
  const check = existsSync(folder) ? await verifyAudit(folder) : ({ ok: true, records: 0 } as const)
  if (!check.ok && check.line === 0)
    throw new CliError(`the audit could not be verified: ${fullyVisible(check.problem)}; check who owns that folder`)
  if (!check.ok)
    throw new CliError(
      `the audit in ${fullyVisible(folder)} was changed, in line ${check.line}: ${fullyVisible(check.problem)}; keep that file as it is, and find out who may write there`,
    )
  io.out(`${check.records} records, all as they were written`)
  return exitCodes.done
}

import type { AuditQuery } from '../../server/server-options.ts'
import type { Io } from '../io.ts'
import { readAuditBackwards, type StoredRecord } from './audit.ts'
import { auditFolder } from './open-audit.ts'

/** One page of the audit, newest first. A text is searched in what is shown, so that it finds no secret. */
export async function auditPage(
  { limit, text, cursor, ...filter }: AuditQuery,
  io: Pick<Io, 'home'>,
  redacted: (record: StoredRecord) => StoredRecord,
): Promise<{ readonly records: readonly StoredRecord[]; readonly next?: string }> {
  const wanted = text?.toLowerCase()
  const records: StoredRecord[] = []
  const before = cursor?.slice(0, 'yyyy-mm-ddThh:mm:ss.mmmZ'.length)
  for await (const record of readAuditBackwards(auditFolder(io), { ...filter, before })) {
    if (cursor !== undefined && placeOf(record) >= cursor) continue
    const shown = redacted(record)
    if (wanted !== undefined && !JSON.stringify(shown).toLowerCase().includes(wanted)) continue
    if (records.length === limit) return { records, next: placeOf(records.at(-1)!) }
    records.push(shown)
  }
  return { records }
}

/** Sorts as the records do: by time, then by number. */
const placeOf = ({ at, seq }: StoredRecord): string => `${at}.${String(seq).padStart(12, '0')}`

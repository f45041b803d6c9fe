import { StoreError } from '../core/errors.ts'
import type { SessionStore, SessionSummary } from '../core/store.ts'
import { emptyRecord, recordAfter, summaryOf } from './session-record.ts'

/** The summary of a session, computed from its log. */
export async function readSummary(
  { read }: Pick<SessionStore, 'read'>,
  { id, parent, isHeld = false }: { readonly id: string; readonly parent?: string; readonly isHeld?: boolean },
): Promise<SessionSummary | undefined> {
  const entries = await read(id).catch((error) => {
    if (error instanceof StoreError && error.code === 'corrupt') return undefined
    throw error
  })
  if (!entries)
    return summaryOf(
      { ...emptyRecord, head: 1, status: 'failed', title: '(cannot be read)' },
      { id, parent, isHeld, mail: 'none' },
    )
  if (entries.length === 0) return undefined
  return summaryOf(recordAfter(emptyRecord, entries, 0), { id, parent, isHeld, mail: 'none' })
}

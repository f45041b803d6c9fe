import type { SessionStore, SessionSummary } from '../core/store.ts'
import { leaseHolderOf } from './family.ts'
import { eachSession } from './session-query.ts'
import { blobNamesIn } from './transfer/read-export.ts'
import { whileHeld } from './while-held.ts'

interface UnusedBlobsOptions {
  /** Only sessions that were written since this time. */
  readonly since: number
  /** Only count them. */
  readonly dryRun: boolean
  /** Sessions that need not be looked at. */
  readonly skip: ReadonlySet<string>
}

/**
 * Removes the blobs that no entry names, as a process leaves them that dies between writing a blob and its entry. Returns
 * their number. A session that a process holds is left out.
 */
export async function removeUnusedBlobs(
  store: SessionStore,
  { since, dryRun, skip }: UnusedBlobsOptions,
): Promise<number> {
  let count = 0
  for await (const session of eachSession(store)) {
    if (session.updatedAt < since || skip.has(session.id) || isLeftAlone(session)) continue
    if ((await store.blobs(session.id).names()).length === 0) continue
    count += dryRun ? (await unusedIn(store, session.id)).length : await removeFrom(store, session.id)
  }
  return count
}

/** The next process to open a session must find the lease of the one that died. */
const isLeftAlone = ({ isHeld, attention }: SessionSummary): boolean => isHeld === true || attention === 'owner_died'

async function removeFrom(store: SessionStore, id: string): Promise<number> {
  const { holder = id } = (await leaseHolderOf(store, id)) ?? {}
  const removed = await whileHeld(store, holder, async ({ renew }) => {
    const unused = await unusedIn(store, id)
    await renew() // a process that took the session since may have named one of them
    for (const name of unused) await store.blobs(id).delete(name)
    return unused.length
  })
  return removed ?? 0
}

/** So many entries are looked through at a time. */
const pageSize = 500

async function unusedIn(store: SessionStore, id: string): Promise<readonly string[]> {
  const unused = new Set(await store.blobs(id).names())
  for (let after = 0; unused.size > 0; after += pageSize) {
    const entries = await store.read(id, { after, limit: pageSize })
    for (const name of blobNamesIn(entries)) unused.delete(name)
    if (entries.length < pageSize) break
  }
  return [...unused]
}

import type { SessionStore } from '../../core/store.ts'
import { type NotedSnapshot, snapshotOf, snapshotsIn } from '../../plugins/turn-snapshots.ts'

/** So many entries are read at a time. */
const pageSize = 500

/** The snapshots of files that the log of an agent names. */
export async function snapshotsOf(store: SessionStore, agentId: string): Promise<readonly NotedSnapshot[]> {
  const found: NotedSnapshot[] = []
  for (let after = 0; ; after += pageSize) {
    const entries = await store.read(agentId, { after, limit: pageSize })
    for (const entry of entries) {
      const note = entry.type === 'state' ? snapshotOf(entry.owner, entry.value) : undefined
      if (note) found.push(...snapshotsIn(note))
    }
    if (entries.length < pageSize) return found
  }
}

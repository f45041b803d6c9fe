import type { SessionStore } from '../src/core/store.ts'
import type { Note } from './evidence.ts'

/** Wraps a store to record each lease and each attempted append. */
export function watchedStore(
  store: SessionStore,
  note: (note: Note) => void,
  {
    root,
    writer,
    onLease,
    onSent,
  }: { root: string; writer: string; onLease?: (epoch: number) => void; onSent?: (clientKey: string) => void },
): SessionStore {
  return {
    async append(id, entries, fence) {
      note({ kind: 'append', session: id, epoch: fence.epoch, ids: entries.map((entry) => entry.id) })
      await store.append(id, entries, fence)
    },
    async lease(id, request) {
      const lease = await store.lease(id, request)
      if (request.epoch !== undefined) return lease
      note({ kind: 'lease', session: id, epoch: lease.epoch, head: lease.head, writer })
      if (id === root) onLease?.(lease.epoch)
      return lease
    },
    read: (id, range) => store.read(id, range),
    find: (id) => store.find(id),
    list: (query) => store.list(query),
    delete: (id) => store.delete(id),
    async send(id, item) {
      await store.send(id, item)
      onSent?.(item.clientKey)
    },
    watch: (id, options) => store.watch(id, options),
    blobs: (id) => store.blobs(id),
    ...(store.close && { close: () => store.close!() }),
  }
}

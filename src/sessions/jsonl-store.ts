import { randomUUID } from 'node:crypto'
import { join, resolve } from 'node:path'
import { type Clock, systemClock } from '../core/clock.ts'
import { StoreError } from '../core/errors.ts'
import type { SessionStore } from '../core/store.ts'
import { blobFiles } from './jsonl/blob-files.ts'
import { refuseLink, syncFolder } from './jsonl/files.ts'
import { withFolderLock } from './jsonl/folder-lock.ts'
import { addMessage } from './jsonl/inbox-file.ts'
import { createLeases } from './jsonl/leases.ts'
import { createPeek, type KnownEnd, readLog } from './jsonl/log-reader.ts'
import { deleteFolder, finishDeleting, folderNameOf, makeSessionFolder } from './jsonl/session-folder.ts'
import { listSessions } from './jsonl/session-list.ts'
import { checkFolder, identityOf, prepareStore, restrictToOwner } from './jsonl/store-file.ts'
import { ChangeListeners, watchByPolling } from './watch-by-polling.ts'

export interface JsonlStoreOptions {
  /** The folder of the store; created if it is missing. */
  readonly dir: string
  readonly clock?: Clock
  /**
   * Whether an append is on the disk before it is acknowledged. Default true. With false it survives a crash of the
   * process, but a power failure may lose the last entries.
   */
  readonly sync?: boolean
  /** Allow a network file system. Then only one process may write, because two would not exclude each other. */
  readonly allowNetworkFileSystem?: boolean
  /** Reads the mount table, which names network file systems. Default: that of Linux; other systems are not checked. */
  readonly readMountTable?: () => string | undefined
}

/** How often a watcher polls for changes of other processes. */
const watchEveryMs = 100
/** For this many sessions the end of the last read is remembered. */
const mostKnown = 256

/**
 * Sessions as folders of text files, for several processes on one machine: a folder per session with `log.jsonl` (one entry
 * per line), `inbox.jsonl`, `lease.json` and `blobs/`. `jsonl/log-file.ts` explains how a writer that lost its lease is
 * fenced off.
 */
export function createJsonlStore(options: JsonlStoreOptions): SessionStore {
  const { dir: given, clock = systemClock, sync = true } = options
  const dir = resolve(given)
  const opener = randomUUID()
  const leases = createLeases({ dir, opener, clock, sync })
  const known = new Map<string, KnownEnd>()
  const listeners = new ChangeListeners()
  const closing = new AbortController()
  let isPrepared = false

  const folderOf = (id: string): string => join(dir, folderNameOf(id))

  function refuseClosed(): void {
    if (closing.signal.aborted) throw new StoreError('unavailable', `The store of ${dir} was closed; make a new one`)
  }

  function prepare(): string {
    refuseClosed()
    if (!isPrepared) checkFolder(dir, options)
    const identity = prepareStore(dir)
    if (!isPrepared) {
      restrictToOwner(dir)
      finishDeleting(dir)
    }
    isPrepared = true
    return identity
  }

  async function read(id: string, after = 0) {
    refuseClosed()
    const folder = folderOf(id)
    refuseLink(folder)
    const { entries, end } = await readLog(folder, after, known.get(id))
    known.delete(id)
    if (end) known.set(id, end)
    if (known.size > mostKnown) known.delete(known.keys().next().value ?? '')
    return entries
  }

  return {
    async append(id, entries, fence) {
      await leases.append(id, entries, fence)
      listeners.notify(id)
    },

    read,

    async list() {
      refuseClosed()
      return listSessions(dir)
    },

    async delete(id) {
      prepare()
      const folder = folderOf(id)
      refuseLink(folder)
      leases.forget(id)
      // Under its lock, so that no process is taking it at the same time.
      await withFolderLock(folder, () => deleteFolder(dir, folder))
      known.delete(id)
      listeners.notify(id)
    },

    async lease(id, request) {
      prepare()
      return leases.lease(id, request)
    },

    async send(id, item) {
      prepare()
      const folder = makeSessionFolder(dir, id)
      await withFolderLock(folder, () => {
        if (addMessage(makeSessionFolder(dir, id), item, { sync })) syncFolder(folder)
      })
      listeners.notify(id)
    },

    watch(id, { after = 0, signal }) {
      const peek = createPeek(folderOf(id), (from) => read(id, from))
      const ends = { signal, closing: closing.signal }
      return watchByPolling(peek, {
        after,
        ...ends,
        clock,
        everyMs: watchEveryMs,
        wake: (listener) => listeners.add(id, listener),
      })
    },

    blobs(id) {
      return blobFiles(folderOf(id), () => {
        prepare()
        makeSessionFolder(dir, id)
      })
    },

    async identity() {
      refuseClosed()
      return identityOf(dir) ?? prepare() // an existing store is only read, so it may be read-only
    },

    async close() {
      closing.abort()
      await leases.close()
    },
  }
}

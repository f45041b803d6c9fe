import { randomUUID } from 'node:crypto'
import { join, resolve } from 'node:path'
import { type Clock, systemClock } from '../core/clock.ts'
import { StoreError } from '../core/errors.ts'
import type { SessionStore } from '../core/store.ts'
import { blobFiles } from './jsonl/blob-files.ts'
import { withFolderLock } from './jsonl/folder-lock.ts'
import { folderNameOf } from './jsonl/folder-names.ts'
import { leaveMessage } from './jsonl/inbox-file.ts'
import { createLeases } from './jsonl/leases.ts'
import { type KnownEnd, readLog } from './jsonl/log-reader.ts'
import { peekAt } from './jsonl/peek.ts'
import { deleteFolder, finishDeleting, makeSessionFolder } from './jsonl/session-folder.ts'
import { listSessions } from './jsonl/session-list.ts'
import { refuseLink, syncFolder } from './jsonl/small-files.ts'
import { checkFolder, closeToOthers, identityOf, prepareStore } from './jsonl/store-file.ts'
import { watchByPolling } from './watch-by-polling.ts'

export interface JsonlStoreOptions {
  /** The folder that holds them all; made where it is missing. */
  readonly dir: string
  readonly clock?: Clock
  /**
   * Whether an append is on the disk before it is acknowledged. Default true. With false it survives the end of the
   * process, but a power failure may take back what was written last.
   */
  readonly sync?: boolean
  /** Write to a network file system all the same. Then only one process may, as two would not be kept apart. */
  readonly allowNetworkFileSystem?: boolean
  /** Where it is told what lies on a network. Default: from Linux, which is the only one that is asked. */
  readonly readMountTable?: () => string | undefined
}

/** How often a watcher looks for what other processes wrote. */
const watchEveryMs = 100
/** Of how many sessions it is remembered where they ended when they were last read. */
const mostKnown = 256

/**
 * Sessions as folders of text files, for several processes on one machine: a folder per session with `log.jsonl` (an
 * entry a line), `inbox.jsonl`, `lease.json` and `blobs/`. How a writer that lost its lease is kept from writing is
 * told in `jsonl/log-file.ts`.
 */
export function createJsonlStore(options: JsonlStoreOptions): SessionStore {
  const { dir: given, clock = systemClock, sync = true } = options
  const dir = resolve(given)
  const opener = randomUUID()
  const leases = createLeases({ dir, opener, clock, sync })
  const known = new Map<string, KnownEnd>()
  const watchers = new Map<string, Set<() => void>>()
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
      closeToOthers(dir)
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

  function wake(id: string): void {
    for (const listener of watchers.get(id) ?? []) listener()
  }

  return {
    async append(id, entries, fence) {
      await leases.append(id, entries, fence)
      wake(id)
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
      // Under its lock, so that nobody is just taking it.
      await withFolderLock(folder, () => deleteFolder(dir, folder))
      known.delete(id)
      wake(id)
    },

    async lease(id, request) {
      prepare()
      return leases.lease(id, request)
    },

    async send(id, item) {
      prepare()
      const folder = makeSessionFolder(dir, id)
      await withFolderLock(folder, () => {
        if (leaveMessage(makeSessionFolder(dir, id), item, { sync })) syncFolder(folder)
      })
      wake(id)
    },

    watch(id, { after = 0, signal }) {
      const listen = (listener: () => void): (() => void) => {
        const listeners = watchers.get(id) ?? new Set()
        watchers.set(id, listeners.add(listener))
        return () => {
          listeners.delete(listener)
          if (listeners.size === 0) watchers.delete(id)
        }
      }
      const peek = peekAt(folderOf(id), (from) => read(id, from))
      const ends = { signal, closing: closing.signal }
      return watchByPolling(peek, { after, ...ends, clock, everyMs: watchEveryMs, wake: listen })
    },

    blobs(id) {
      return blobFiles(folderOf(id), () => {
        prepare()
        makeSessionFolder(dir, id)
      })
    },

    async identity() {
      refuseClosed()
      return identityOf(dir) ?? prepare() // a store that is there is only looked at, and so may be read-only
    },

    async close() {
      closing.abort()
      await leases.close()
    },
  }
}

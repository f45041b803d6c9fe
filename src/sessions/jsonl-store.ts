import { randomUUID } from 'node:crypto'
import { join, resolve } from 'node:path'
import { type Clock, systemClock } from '../core/clock.ts'
import { SessionNotFoundError, StoreError } from '../core/errors.ts'
import type { LogEntry } from '../core/log.ts'
import type { BlobStore, EntryRange, SessionStore } from '../core/store.ts'
import { blobFiles } from './jsonl/blob-files.ts'
import { findKeysSlowly } from './jsonl/delivered-keys.ts'
import { refuseLink } from './jsonl/files.ts'
import { withFolderLock } from './jsonl/folder-lock.ts'
import { addMessage, syncInbox } from './jsonl/inbox-file.ts'
import { createLeases } from './jsonl/leases.ts'
import { createPoller, type ReadPosition, readLog } from './jsonl/log-reader.ts'
import { sessionExists } from './jsonl/session-existence.ts'
import { deleteFolder, finishDeleting, folderNameOf } from './jsonl/session-folder.ts'
import { listSessions } from './jsonl/session-list.ts'
import { checkFolder, ensureStore, identityOf, restrictToOwner } from './jsonl/store-file.ts'
import { Turns } from './jsonl/turns.ts'
import { readSummary } from './read-summaries.ts'
import { pageOf } from './session-query.ts'
import { type SpillingStore, withSpill } from './spill.ts'
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
const maxReadPositions = 256

/**
 * Sessions as folders of text files, for several processes on one machine: a folder per session with `log.jsonl` (one entry
 * per line), `inbox.jsonl`, `lease.json` and `blobs/`. `jsonl/log-file.ts` explains how a writer that lost its lease is
 * fenced off.
 */
export function createJsonlStore(options: JsonlStoreOptions): SessionStore {
  const { clock = systemClock, sync = true } = options
  const dir = resolve(options.dir)
  const turns = new Turns()
  const leases = createLeases({ dir, storeInstanceId: randomUUID(), clock, sync, turns, prepare })
  const readPositions = new Map<string, ReadPosition>()
  const listeners = new ChangeListeners()
  const closing = new AbortController()
  let preparing: Promise<void> | undefined

  const folderOf = (id: string): string => join(dir, folderNameOf(id))

  function refuseClosed(): void {
    if (closing.signal.aborted) throw new StoreError('unavailable', `The store of ${dir} was closed; make a new one`)
  }

  /** Creates the store if it is missing, and checks it on first use. Resolves with its identity. */
  async function prepare(): Promise<string> {
    preparing ??= prepareOnce().catch((error) => {
      preparing = undefined // the next call tries again
      throw error
    })
    await preparing
    return ensureStore(dir)
  }

  async function prepareOnce(): Promise<void> {
    checkFolder(dir, options)
    await ensureStore(dir)
    restrictToOwner(dir)
    await finishDeleting(dir)
  }

  async function prepareForWriting(): Promise<string> {
    refuseClosed()
    return prepare()
  }

  function refuseMissing(id: string): void {
    if (!sessionExists(folderOf(id), clock.now())) throw new SessionNotFoundError(id)
  }

  async function read(id: string, range: EntryRange = {}): Promise<readonly LogEntry[]> {
    refuseClosed()
    const folder = folderOf(id)
    refuseLink(folder)
    const { entries, end } = await readLog(folder, range, readPositions.get(id))
    readPositions.delete(id)
    if (end) readPositions.set(id, end)
    if (readPositions.size > maxReadPositions) readPositions.delete(readPositions.keys().next().value ?? '')
    return entries
  }

  function blobsOf(id: string): BlobStore {
    return blobFiles(folderOf(id), async () => {
      await prepareForWriting()
      refuseMissing(id)
    })
  }

  return withSpill({
    async append(id, entries, fence, { blobs }) {
      await leases.append(id, { entries, blobs }, fence)
      listeners.notify(id)
    },

    read,

    find: async (id) => readSummary({ read }, { id }),

    async list(query) {
      refuseClosed()
      const summaries = await Promise.all((await listSessions(dir)).map((session) => readSummary({ read }, session)))
      return pageOf(
        summaries.filter((summary) => summary !== undefined),
        query,
      )
    },

    async delete(id) {
      await prepareForWriting()
      const folder = folderOf(id)
      refuseLink(folder)
      await leases.forget(id)
      // Under its lock, so that no process is taking it at the same time.
      await withFolderLock(folder, () => deleteFolder(dir, folder))
      readPositions.delete(id)
      listeners.notify(id)
    },

    async lease(id, request) {
      refuseClosed()
      return leases.lease(id, request)
    },

    async send(id, item) {
      await prepareForWriting()
      const folder = folderOf(id)
      refuseMissing(id)
      await turns.next()
      const { found, end } = await findKeysSlowly(folder, new Map([[item.clientKey, 0]]))
      if (found.size > 0) return
      await withFolderLock(folder, async () => {
        await leases.requireSession(id)
        addMessage(folder, item, end)
      })
      if (sync) await syncInbox(folder)
      listeners.notify(id)
    },

    watch(id, { after = 0, signal }) {
      const poll = createPoller(folderOf(id), (after) => read(id, { after }))
      const ends = { signal, closing: closing.signal }
      return watchByPolling(poll, {
        after,
        ...ends,
        clock,
        everyMs: watchEveryMs,
        subscribe: (listener) => listeners.add(id, listener),
      })
    },

    blobs: blobsOf,

    async identity() {
      refuseClosed()
      return identityOf(dir) ?? prepareForWriting() // an existing store is only read, so it may be read-only
    },

    async close() {
      closing.abort()
      await leases.close()
    },
  } satisfies SpillingStore)
}

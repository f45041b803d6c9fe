import { randomUUID } from 'node:crypto'
import { join, resolve } from 'node:path'
import { type Clock, systemClock } from '../core/clock.ts'
import { SessionNotFoundError, StoreError } from '../core/errors.ts'
import type { LogEntry } from '../core/log.ts'
import type { BlobStore, EntryRange, SessionStore, StoreChange } from '../core/store.ts'
import { networkFileSystemOf } from '../platform/network-fs.ts'
import { findKeysInSteps } from './jsonl/accepted-keys.ts'
import { blobFiles } from './jsonl/blob-files.ts'
import { refuseLink } from './jsonl/files.ts'
import { withFolderLock } from './jsonl/folder-lock.ts'
import { addMessage, syncInbox, waitingMessages } from './jsonl/inbox-file.ts'
import { createLeases } from './jsonl/leases.ts'
import { type ReadPosition, readLog } from './jsonl/log-reader.ts'
import { sessionExists } from './jsonl/session-existence.ts'
import { deleteFolder, finishDeleting, folderNameOf } from './jsonl/session-folder.ts'
import { StartPacer } from './jsonl/start-pacer.ts'
import { checkFolder, ensureStore, identityOf, restrictToOwner } from './jsonl/store-file.ts'
import { Aspect } from './jsonl/summaries/save-rows.ts'
import { StoreIndex } from './jsonl/summaries/store-index.ts'
import { WatchedSessions } from './jsonl/watched-sessions.ts'
import { SharedPoller } from './shared-poller.ts'
import { type SpillingStore, withSpill } from './spill.ts'
import { watchByPolling } from './watch-by-polling.ts'

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

/** How often watchers look for changes of other processes. */
const watchEveryMs = 100
/** The most entries that a watcher gets at a time. */
const maxWatchedEntries = 500
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
  const storeInstanceId = randomUUID()
  const pacer = new StartPacer()
  const index = new StoreIndex({ dir, storeInstanceId, clock, identity: identityIfIndexable })
  const leases = createLeases({ dir, storeInstanceId, clock, sync, pacer, index, prepare })
  const readPositions = new Map<string, ReadPosition>()
  const watched = new WatchedSessions(dir, storeInstanceId)
  const poller = new SharedPoller({ clock, everyMs: watchEveryMs, readStamps: async (ids) => watched.readStamps(ids) })
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
    await finishDeleting(dir, onDelete)
  }

  /** Two processes could not share an index on a network file system. */
  function identityIfIndexable(): string | undefined {
    return networkFileSystemOf(dir, options.readMountTable) === undefined ? identityOf(dir, 'current') : undefined
  }

  function onDelete(name: string): () => void {
    index.beginChange(name)
    return () => index.endChange(name, Aspect.deleted)
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

  /** Throws if a session was deleted since entry `seq` was read. */
  async function requireEntry(id: string, seq: number): Promise<void> {
    const isThere = seq === 0 || (await read(id, { after: seq - 1, limit: 1 })).length > 0
    if (!isThere) throw new SessionNotFoundError(id)
  }

  function blobsOf(id: string): BlobStore {
    return blobFiles(folderOf(id), async () => {
      await prepareForWriting()
      refuseMissing(id)
    })
  }

  return withSpill({
    async append(id, entries, fence, { originalEntries, blobs }) {
      await leases.append(id, { entries, originalEntries, blobs }, fence)
      poller.wake(id, 'entries')
    },

    read,

    async find(id) {
      refuseClosed()
      return index.find(id)
    },

    async list(query) {
      refuseClosed()
      return index.list(query)
    },

    async delete(id) {
      await prepareForWriting()
      const folder = folderOf(id)
      refuseLink(folder)
      await leases.forget(id)
      // Under its lock, so that no process is taking it at the same time.
      await withFolderLock(folder, () => deleteFolder(dir, folder, onDelete))
      readPositions.delete(id)
      poller.wake(id, 'inbox')
    },

    async lease(id, request) {
      refuseClosed()
      return leases.lease(id, request)
    },

    async send(id, item) {
      await prepareForWriting()
      const folder = folderOf(id)
      refuseMissing(id)
      await pacer.wait()
      const { found, searched } = await findKeysInSteps(folder, new Map([[item.clientKey, undefined]]))
      if (found.size > 0) return
      index.beginChange(folderNameOf(id))
      try {
        await withFolderLock(folder, async () => {
          await leases.requireSession(id)
          addMessage(folder, item, searched)
        })
      } finally {
        index.endChange(folderNameOf(id), Aspect.mail)
      }
      if (sync) await syncInbox(folder)
      poller.wake(id, 'inbox')
    },

    watch(id, { after = 0, signal, inboxOnly = false, once = false }) {
      const poll = async (seen: number): Promise<StoreChange> => {
        refuseLink(folderOf(id))
        const entries = inboxOnly ? [] : await read(id, { after: seen, limit: maxWatchedEntries })
        if (!inboxOnly && entries.length === 0) await requireEntry(id, seen)
        // The inbox is read after the log, so that a message that was accepted in between is not shown as waiting.
        return { entries, inbox: waitingMessages(folderOf(id)) }
      }
      const subscribe = (wake: () => void): (() => void) => poller.add(id, { wake, inboxOnly })
      return watchByPolling(poll, { after, signal, once, closing: closing.signal, clock, subscribe })
    },

    blobs: blobsOf,

    async identity() {
      refuseClosed()
      return identityOf(dir) ?? prepareForWriting() // an existing store is only read, so it may be read-only
    },

    async close() {
      if (closing.signal.aborted) return
      closing.abort()
      await leases.close()
      await index.close()
    },
  } satisfies SpillingStore)
}

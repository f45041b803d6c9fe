import { StoreError } from '../../core/errors.ts'
import { failpoint, type LogEntry } from '../../core/log.ts'
import { wholeEntries } from '../spill.ts'
import { applyEntries, emptySummary, type StoredSummary } from '../stored-summary.ts'
import {
  type AdapterFiles,
  blobPath,
  type EntriesFile,
  entriesIn,
  entriesPath,
  firstLines,
  forkPath,
  keysIn,
  linesOf,
  metaPath,
} from './adapter-files.ts'
import { getBlob, keepBlobs } from './blob-files.ts'
import { checkWritable, format, freshMeta, metaIn, type SessionMeta } from './session-meta.ts'

/** A session as read from the adapter. */
export interface CachedSession {
  meta: SessionMeta
  /** Whether there is a `meta.json`. */
  isStored: boolean
  /** The valid entries. Kept while the session is written, and read again otherwise. */
  log?: SessionLog
}

export interface SessionLog {
  readonly text: string
  /** The length of the part that a fork shares with its base. */
  readonly shared: number
  /** The files that have these entries. */
  readonly files: readonly EntriesFile[]
  /** The keys of accepted messages, once they were looked for. */
  acceptedKeys?: Set<string>
}

/** The files of the sessions of an adapter. The cache changes only after a change was saved. */
export class SessionFiles {
  readonly adapter: AdapterFiles
  readonly #sessions = new Map<string, Promise<CachedSession>>()
  /** Counted over all sessions, so that a session that is deleted and created again fences off its old writer. */
  epochs = 0

  constructor(adapter: AdapterFiles) {
    this.adapter = adapter
  }

  of(id: string): Promise<CachedSession> {
    let session = this.#sessions.get(id)
    if (!session) {
      session = this.#load(id)
      this.#sessions.set(id, session)
      session.catch(() => this.#sessions.delete(id))
    }
    return session
  }

  async #load(id: string): Promise<CachedSession> {
    const text = await this.adapter.get(metaPath(id))
    const meta = text === undefined ? freshMeta(id) : metaIn(text, metaPath(id))
    this.epochs = Math.max(this.epochs, meta.epoch)
    return { meta, isStored: text !== undefined }
  }

  /** The entries of a session, with those that it shares. */
  async log(session: CachedSession): Promise<SessionLog> {
    if (session.log) return session.log
    const { id, head, base } = session.meta
    try {
      const log = await this.#readLog(id, head, base)
      // A concurrent call may have read it first, and an append may have followed.
      return session.log ?? log
    } catch (error) {
      if (!base || session.meta.base) throw error
      return this.log(session) // its base was deleted meanwhile, so it has copies of the shared entries
    }
  }

  async #readLog(id: string, head: number, base: SessionMeta['base']): Promise<SessionLog> {
    const { text, files } = await this.#shared(id, base)
    const file = ownFile(id, base)
    const count = head - file.from + 1
    const own = count === 0 ? '' : firstLines((await this.adapter.get(file.path)) ?? '', count, file.path)
    return { text: text + own, shared: text.length, files: [...files, file] }
  }

  /** The entries that a session shares with its base. */
  async #shared(id: string, base: SessionMeta['base']): Promise<Pick<SessionLog, 'text' | 'files'>> {
    if (!base) return { text: '', files: [] }
    const session = await this.of(base.id)
    const { text, files } = await this.log(session)
    if (session.meta.head < base.head)
      throw new StoreError(
        'corrupt',
        `${metaPath(base.id)} counts ${session.meta.head} entries, and session ${id} shares ${base.head} with it; restore it`,
      )
    return { text: linesOf(text, base.head), files: files.filter(({ from }) => from <= base.head) }
  }

  async entries(session: CachedSession, bounds: { from: number; to: number }): Promise<LogEntry[]> {
    if (bounds.to < bounds.from) return []
    const { text, files } = await this.log(session)
    return entriesIn(text, bounds, files)
  }

  /** The keys of all messages that were accepted. */
  async acceptedKeys(session: CachedSession): Promise<ReadonlySet<string>> {
    const log = await this.log(session)
    log.acceptedKeys ??= keysIn(log.text, log.files)
    return log.acceptedKeys
  }

  /** The summary of the first `head` entries of a session. */
  async storedSummaryOf(session: CachedSession, head: number): Promise<StoredSummary> {
    const { meta } = session
    if (meta.record && meta.head === head) return meta.record
    const blobs = { get: (name: string) => getBlob(this, session, name) }
    const entries = await wholeEntries(blobs, meta.id, await this.entries(session, { from: 1, to: head }))
    return applyEntries(emptySummary, entries, linesOf((await this.log(session)).text, head).length)
  }

  /** Saves entries; the next change of the meta makes them valid. Resolves with the log that it then has. */
  async saveEntries(session: CachedSession, added: string, base: SessionMeta['base']): Promise<SessionLog> {
    const { id, head } = session.meta
    const log = head === 0 ? await this.#readLog(id, base?.head ?? 0, base) : await this.log(session)
    const longer = { ...log, text: log.text + added }
    await this.adapter.save(ownFile(id, base).path, longer.text.slice(longer.shared))
    return longer
  }

  /** Changes `meta.json`; a field that is undefined is left out. */
  async change(session: CachedSession, change: { [Field in keyof SessionMeta]?: SessionMeta[Field] | undefined }) {
    checkWritable(session.meta)
    const text = JSON.stringify({ ...session.meta, ...change, format })
    await this.adapter.save(metaPath(session.meta.id), text)
    session.meta = JSON.parse(text) as SessionMeta
    session.isStored = true
  }

  /** Brings a session of format 1 up to date. */
  async upgrade(session: CachedSession, summary: StoredSummary): Promise<void> {
    session.meta = { ...session.meta, record: summary } // also if it cannot be saved now
    failpoint('filemap.upgrade.beforeMeta')
    const onlyInFormat1 = { exists: undefined, createdAt: undefined, updatedAt: undefined }
    await this.change(session, { record: summary, ...onlyInFormat1 })
  }

  /** Gives a fork its own copies of the entries and blobs that it shares. */
  async copyShared(session: CachedSession): Promise<void> {
    const { id } = session.meta
    const { text, acceptedKeys } = await this.log(session)
    await keepBlobs(this, session)
    await this.adapter.save(entriesPath(id), text)
    failpoint('filemap.copyShared.beforeMeta')
    await this.change(session, { base: undefined })
    if (session.log)
      session.log = { text, shared: 0, files: [ownFile(id, undefined)], ...(acceptedKeys && { acceptedKeys }) }
    await this.adapter.delete(forkPath(id))
  }

  /** The meta is deleted last. Until then it lists what to delete, so that an interrupted deletion can be finished later. */
  async delete(session: CachedSession, descendants: readonly string[]): Promise<void> {
    const all = await Promise.all(descendants.map((id) => this.of(id)))
    for (const { meta } of [...all, session]) checkWritable(meta)
    if (session.isStored) await this.change(session, { deleting: descendants })
    else for (const one of all) if (one.isStored) await this.change(one, { deleting: [] })
    failpoint('filemap.delete.marked')
    for (const one of [...all, session]) await this.#deleteFiles(one)
  }

  async #deleteFiles(session: CachedSession): Promise<void> {
    const { id, isFork, blobs, keptBlobs = [] } = session.meta
    if (session.isStored) {
      await this.adapter.delete(entriesPath(id))
      if (isFork) await this.adapter.delete(forkPath(id))
      for (const name of new Set([...blobs, ...keptBlobs])) await this.adapter.delete(blobPath(id, name))
      await this.adapter.delete(metaPath(id))
    }
    // Callers that hold this object see that the session is gone.
    session.meta = freshMeta(id)
    session.isStored = false
    delete session.log
  }
}

/** The file of the entries that a session does not share. */
const ownFile = (id: string, base: SessionMeta['base']): EntriesFile =>
  base ? { path: forkPath(id), from: base.head + 1 } : { path: entriesPath(id), from: 1 }

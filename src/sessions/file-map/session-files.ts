import { failpoint, type LogEntry } from '../../core/log.ts'
import { wholeEntries } from '../spill.ts'
import { applyEntries, emptySummary, type StoredSummary } from '../stored-summary.ts'
import {
  type AdapterFiles,
  acknowledged,
  blobPath,
  entriesIn,
  forkPath,
  keysIn,
  linesOf,
  metaPath,
  turnsPath,
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
  /** The length of the part that a fork shares with its original. */
  readonly shared: number
  /** The keys of delivered messages, once they were looked for. */
  keys?: Set<string>
}

/** The files of the sessions of an adapter. The cache changes only after a change was saved. */
export class SessionFiles {
  readonly files: AdapterFiles
  readonly #sessions = new Map<string, Promise<CachedSession>>()
  /** Counted over all sessions, so that a session that is deleted and created again fences off its old writer. */
  epochs = 0

  constructor(files: AdapterFiles) {
    this.files = files
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
    const text = await this.files.get(metaPath(id))
    const meta = text === undefined ? freshMeta(id) : metaIn(text, metaPath(id))
    this.epochs = Math.max(this.epochs, meta.epoch)
    return { meta, isStored: text !== undefined }
  }

  /** The entries of a session, with those that it shares. */
  async log(session: CachedSession): Promise<SessionLog> {
    if (session.log) return session.log
    const { id, head, base } = session.meta
    const shared = await this.#shared(base)
    const [path, count] = base ? [forkPath(id), head - base.head] : [turnsPath(id), head]
    const own = count === 0 ? '' : acknowledged((await this.files.get(path)) ?? '', count, path)
    // A concurrent call may have read it first, and an append may have followed.
    return session.log ?? { text: shared + own, shared: shared.length }
  }

  async #shared(base: SessionMeta['base']): Promise<string> {
    return base ? linesOf((await this.log(await this.of(base.id))).text, base.head) : ''
  }

  async entries(session: CachedSession, bounds: { from: number; to: number }): Promise<LogEntry[]> {
    if (bounds.to < bounds.from) return []
    return entriesIn((await this.log(session)).text, bounds, turnsPath(session.meta.id))
  }

  /** The keys of all messages that were delivered. */
  async keys(session: CachedSession): Promise<ReadonlySet<string>> {
    const log = await this.log(session)
    log.keys ??= keysIn(log.text, turnsPath(session.meta.id))
    return log.keys
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
    const shared = head === 0 ? await this.#shared(base) : ''
    const log = head === 0 ? { text: shared, shared: shared.length } : await this.log(session)
    const longer = { ...log, text: log.text + added }
    await this.files.save(base ? forkPath(id) : turnsPath(id), longer.text.slice(longer.shared))
    return longer
  }

  /** Changes `meta.json`; a field that is undefined is left out. */
  async change(session: CachedSession, change: { [Field in keyof SessionMeta]?: SessionMeta[Field] | undefined }) {
    checkWritable(session.meta)
    const text = JSON.stringify({ ...session.meta, ...change, format })
    await this.files.save(metaPath(session.meta.id), text)
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
    const { text, keys } = await this.log(session)
    await keepBlobs(this, session)
    await this.files.save(turnsPath(id), text)
    failpoint('filemap.copyShared.beforeMeta')
    await this.change(session, { base: undefined })
    if (session.log) session.log = { text, shared: 0, ...(keys && { keys }) }
    await this.files.delete(forkPath(id))
  }

  /** The meta is deleted last. Until then it lists what to delete, so that an interrupted deletion can be finished later. */
  async delete(session: CachedSession, descendants: readonly string[]): Promise<void> {
    const all = await Promise.all(descendants.map((id) => this.of(id)))
    if (session.isStored) await this.change(session, { deleting: descendants })
    else for (const one of all) if (one.isStored) await this.change(one, { deleting: [] })
    failpoint('filemap.delete.marked')
    for (const one of [...all, session]) await this.#deleteFiles(one)
  }

  async #deleteFiles(session: CachedSession): Promise<void> {
    const { id, isFork, blobs, keptBlobs = [] } = session.meta
    if (session.isStored) {
      await this.files.delete(turnsPath(id))
      if (isFork) await this.files.delete(forkPath(id))
      for (const name of new Set([...blobs, ...keptBlobs])) await this.files.delete(blobPath(id, name))
      await this.files.delete(metaPath(id))
    }
    // Callers that hold this object see that the session is gone.
    session.meta = freshMeta(id)
    session.isStored = false
    delete session.log
  }
}

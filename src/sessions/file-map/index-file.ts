import { failpoint } from '../../core/log.ts'
import { type IndexedSession, SessionIndex } from '../session-index.ts'
import { type AdapterFiles, idOf, indexPath } from './adapter-files.ts'
import { format, newerFormat, parsed, type SessionMeta, unreadable } from './session-meta.ts'

/** A session in `index.json`; its id alone if its `meta.json` may have changed since. */
type StoredSession = readonly [id: string, summary?: Omit<IndexedSession, 'id'> & { readonly base?: string }]

/**
 * `index.json`: the summaries of all sessions, so that a list reads no other file. Saving all of it with each append would
 * take too long, so a session is marked as stale before it changes, and its summary is saved when its lease is given back.
 * At the next start, the summaries of sessions that are still marked are computed from their `meta.json`.
 */
export class IndexFile {
  readonly summaries: SessionIndex
  readonly #adapter: AdapterFiles
  /** Sessions whose summary in `index.json` may be out of date. */
  readonly #stale = new Set<string>()
  /** The stale sessions that `index.json` marks as stale. */
  readonly #marked = new Set<string>()
  /** The sessions of each change that is under way. */
  readonly #changing = new Map<symbol, readonly string[]>()
  /** The base of each fork. */
  readonly #bases = new Map<string, string>()
  #lastSave: Promise<void> = Promise.resolve()
  #nextSave: Promise<void> | undefined
  #format = format

  constructor(adapter: AdapterFiles, isHeld: (session: IndexedSession) => boolean) {
    this.#adapter = adapter
    this.summaries = new SessionIndex(isHeld)
  }

  /** The sessions that were marked as stale when their process ended, and those that are missing in the index. */
  async load(): Promise<readonly string[]> {
    const text = await this.#adapter.get(indexPath)
    const { sessions, format: found = format } =
      text === undefined ? { sessions: [] } : parsed<{ sessions?: unknown; format?: number }>(text, indexPath)
    if (!Array.isArray(sessions)) throw unreadable(indexPath)
    this.#format = found
    const known = new Set<string>()
    for (const stored of sessions as readonly (StoredSession | string)[]) {
      const [id, summary] = typeof stored === 'string' ? [stored] : stored // in format 1 each item was a string
      known.add(id)
      if (summary) this.#keep({ id, ...summary }, summary.base)
      else this.#stale.add(id)
    }
    for (const id of await this.#listed()) if (!known.has(id)) this.#stale.add(id)
    return [...this.#stale]
  }

  /** The sessions that the adapter lists: another version may have made some, or the index may be lost. */
  async #listed(): Promise<readonly string[]> {
    const names = (await this.#adapter.list?.('')) ?? []
    const end = '/meta.json'
    return names.flatMap((name) => (name.endsWith(end) ? (idOf(name.slice(0, -end.length)) ?? []) : []))
  }

  forksOf(id: string): readonly string[] {
    return [...this.#bases].flatMap(([fork, base]) => (base === id ? [fork] : []))
  }

  /** Marks sessions as stale before their files change, and keeps them marked meanwhile. */
  async whileMarkedStale<T>(ids: readonly string[], change: () => Promise<T>): Promise<T> {
    const changing = Symbol('change')
    this.#changing.set(changing, ids)
    try {
      await this.#mark(ids.filter((id) => !this.#marked.has(id)))
      return await change()
    } finally {
      this.#changing.delete(changing)
    }
  }

  async #mark(ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return
    for (const id of ids) this.#stale.add(id)
    await this.#save()
    for (const id of ids) this.#marked.add(id)
  }

  /** Keeps the summary of a session in memory. */
  set({ id, parent, base, record }: SessionMeta, mail: IndexedSession['mail']): void {
    if (record) this.#keep({ id, parent, record, mail }, base?.id)
  }

  #keep(session: IndexedSession, base: string | undefined): void {
    this.summaries.set(session)
    if (base === undefined) this.#bases.delete(session.id)
    else this.#bases.set(session.id, base)
  }

  /**
   * Saves the summaries of stale sessions that no change is using and that `isIdle` accepts. If saving fails, they stay
   * marked as stale. Either way resolves with their ids.
   */
  async saveIdle(isIdle: (id: string) => boolean): Promise<readonly string[]> {
    const changing = new Set([...this.#changing.values()].flat())
    const idle = [...this.#stale].filter((id) => !changing.has(id) && this.summaries.get(id) && isIdle(id))
    if (idle.length === 0) return []
    for (const id of idle) for (const known of [this.#stale, this.#marked]) known.delete(id)
    await this.#save().catch(() => {
      for (const id of idle) this.#stale.add(id)
    })
    return idle
  }

  async remove(ids: readonly string[]): Promise<void> {
    for (const id of ids) {
      this.summaries.delete(id)
      for (const known of [this.#stale, this.#marked, this.#bases]) known.delete(id)
    }
    await this.#save()
  }

  /** One at a time; changes while a save is under way share the next one. */
  #save(): Promise<void> {
    if (!this.#nextSave) {
      this.#nextSave = this.#lastSave.then(() => {
        this.#nextSave = undefined
        return this.#write()
      })
      this.#lastSave = this.#nextSave.catch(() => {})
    }
    return this.#nextSave
  }

  async #write(): Promise<void> {
    if (this.#format > format) throw newerFormat(indexPath, this.#format)
    const sessions: StoredSession[] = [...this.#stale].map((id) => [id])
    for (const { id, ...summary } of this.summaries.all()) {
      const base = this.#bases.get(id)
      if (!this.#stale.has(id)) sessions.push([id, { ...summary, ...(base !== undefined && { base }) }])
    }
    failpoint('filemap.index.beforeSave')
    await this.#adapter.save(indexPath, JSON.stringify({ format, sessions }))
  }
}

import { StoreError } from '../../core/errors.ts'
import type { InboxItem } from '../../core/log.ts'
import {
  type AdapterFiles,
  acknowledged,
  blobPath,
  idOf,
  indexPath,
  keysIn,
  metaPath,
  turnsPath,
} from './adapter-files.ts'

const format = 1

/** `meta.json`: everything about a session except its entries. Its `head` says how many entries are valid. */
interface SessionMeta {
  readonly format: number
  readonly id: string
  /** False while the session has only blobs. */
  readonly exists: boolean
  readonly head: number
  readonly epoch: number
  readonly owner?: string
  readonly parent?: string
  readonly createdAt?: number
  readonly updatedAt?: number
  readonly inbox: readonly InboxItem[]
  readonly blobs: readonly string[]
  /** The session is being deleted, with these children. */
  readonly deleting?: readonly string[]
}

/** A session as read from the adapter, with the lease of this process. */
export interface CachedSession {
  meta: SessionMeta
  /** The valid part of `turns.jsonl`, once it was read. */
  log?: { readonly text: string; readonly keys: ReadonlySet<string> }
  /** The lease of this process, 0 for none. A lease ends with its process. */
  epoch: number
  since: number
  expires: number
}

/** The sessions of an adapter, each read on first use. The cache changes only after a change was saved. */
export class CachedSessions {
  readonly #files: AdapterFiles
  readonly #sessions = new Map<string, Promise<CachedSession>>()
  /** Sessions being deleted; they are not checked for children. */
  readonly #deleting = new Set<string>()
  readonly #withLocks = createLocks()
  #listed: Promise<ReadonlySet<string>> | undefined
  /** Counted over all sessions, so that a session that is deleted and created again fences off its old writer. */
  epochs = 0

  constructor(files: AdapterFiles) {
    this.#files = files
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

  async log(session: CachedSession): Promise<NonNullable<CachedSession['log']>> {
    const { id, head } = session.meta
    if (!session.log) {
      const path = turnsPath(id)
      const text = head === 0 ? '' : acknowledged((await this.#files.get(path)) ?? '', head, path)
      // A concurrent call may have read it first, and an append may have followed.
      session.log ??= { text, keys: keysIn(text, path) }
    }
    return session.log
  }

  /** Changes `meta.json`. */
  async change(session: CachedSession, change: Partial<SessionMeta>): Promise<void> {
    this.checkWritable(session)
    const meta = { ...session.meta, ...change }
    if (meta.exists && !session.meta.exists) await this.#changeList((ids) => ids.add(meta.id))
    await this.#files.save(metaPath(meta.id), JSON.stringify(meta))
    session.meta = meta
  }

  checkWritable({ meta }: CachedSession): void {
    if (meta.format > format)
      throw new StoreError(
        'newer',
        `${metaPath(meta.id)} has format ${meta.format}, this version writes ${format}: it can be read; update libero`,
      )
  }

  async ids(): Promise<string[]> {
    if (!this.#files.list) return [...(await this.#list())]
    const names = await this.#files.list('')
    return names.flatMap((name) =>
      name.endsWith('/meta.json') ? (idOf(name.slice(0, -'/meta.json'.length)) ?? []) : [],
    )
  }

  /** The meta is deleted last. Until then it lists what to delete, so that an interrupted deletion can be finished later. */
  async delete(id: string): Promise<void> {
    const session = await this.of(id)
    this.checkWritable(session)
    const others = (await this.ids()).filter((other) => other !== id && !this.#deleting.has(other))
    const family = await Promise.all(others.map((other) => this.of(other)))
    const children = family.filter(({ meta }) => meta.parent === id).map(({ meta }) => meta.id)
    if (session.meta.exists || session.meta.blobs.length > 0 || children.length > 0)
      await this.#finishDeleting({ ...session.meta, exists: false, deleting: children })
    // Callers that hold this object see that the session is gone.
    session.meta = freshMeta(id)
    session.epoch = 0
    session.expires = 0
    delete session.log
  }

  async #finishDeleting(meta: SessionMeta): Promise<void> {
    const { id, blobs, deleting = [] } = meta
    this.#deleting.add(id)
    try {
      await this.#files.save(metaPath(id), JSON.stringify(meta))
      for (const child of deleting) await this.delete(child)
      await this.#files.delete(turnsPath(id))
      for (const name of blobs) await this.#files.delete(blobPath(id, name))
      await this.#files.delete(metaPath(id))
      await this.#changeList((ids) => ids.delete(id))
    } finally {
      this.#deleting.delete(id)
    }
  }

  async #load(id: string): Promise<CachedSession> {
    const path = metaPath(id)
    const text = await this.#files.get(path)
    let meta = text === undefined ? freshMeta(id) : metaIn(text, path)
    if (meta.deleting) {
      await this.#finishDeleting(meta)
      meta = freshMeta(id)
    }
    this.epochs = Math.max(this.epochs, meta.epoch)
    return { meta, epoch: 0, since: 0, expires: 0 }
  }

  /** Serially, so that no older list is saved after a newer one. */
  #changeList(change: (ids: Set<string>) => unknown): Promise<void> {
    if (this.#files.list) return Promise.resolve()
    return this.#withLocks([indexPath], async () => {
      const before = await this.#list()
      const ids = new Set(before)
      change(ids)
      if (ids.size === before.size) return
      await this.#files.save(indexPath, JSON.stringify({ format, sessions: [...ids] }))
      this.#listed = Promise.resolve(ids)
    })
  }

  #list(): Promise<ReadonlySet<string>> {
    if (!this.#listed) {
      this.#listed = this.#loadList()
      this.#listed.catch(() => {
        this.#listed = undefined
      })
    }
    return this.#listed
  }

  async #loadList(): Promise<ReadonlySet<string>> {
    const text = await this.#files.get(indexPath)
    if (text === undefined) return new Set()
    const { sessions } = parsed<{ sessions?: unknown }>(text, indexPath)
    if (!Array.isArray(sessions)) throw unreadable(indexPath)
    return new Set(sessions.filter((id) => typeof id === 'string'))
  }
}

function freshMeta(id: string): SessionMeta {
  return { format, id, exists: false, head: 0, epoch: 0, inbox: [], blobs: [] }
}

function metaIn(text: string, path: string): SessionMeta {
  const meta = parsed<SessionMeta>(text, path)
  if (typeof meta.head !== 'number' || !Array.isArray(meta.inbox) || !Array.isArray(meta.blobs)) throw unreadable(path)
  return meta
}

function parsed<T extends object>(text: string, path: string): T {
  try {
    return (JSON.parse(text) as T | null) ?? ({} as T)
  } catch (cause) {
    throw unreadable(path, cause)
  }
}

const unreadable = (path: string, cause?: unknown): StoreError =>
  new StoreError('corrupt', `"${path}" cannot be read; restore it from a backup. Other sessions are not affected`, {
    cause,
  })

/** Creates named locks for this process: work that shares a name runs serially. */
export function createLocks(): <T>(names: readonly string[], work: () => Promise<T>) => Promise<T> {
  const last = new Map<string, Promise<unknown>>()

  function withLock<T>(name: string, work: () => Promise<T>): Promise<T> {
    const turn = (last.get(name) ?? Promise.resolve()).then(work)
    const ended = turn.then(
      () => {},
      () => {},
    )
    last.set(name, ended)
    ended.then(() => {
      if (last.get(name) === ended) last.delete(name)
    })
    return turn
  }

  return (names, work) => {
    // Locks are taken in the given order, parents before their children, so that there is no deadlock.
    const ordered = [...new Set(names)].reverse()
    return ordered.reduce<typeof work>((inner, name) => () => withLock(name, inner), work)()
  }
}

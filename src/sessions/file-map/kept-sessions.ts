import { StoreError } from '../../core/errors.ts'
import type { InboxItem } from '../../core/log.ts'
import type { AdapterFiles } from './adapter-files.ts'
import { blobPath, idOf, indexPath, metaPath, turnsPath } from './session-paths.ts'
import { createTurnTaking } from './turn-taking.ts'
import { acknowledged, keysIn } from './turns-text.ts'

const format = 1

/** `meta.json`: all about a session but its entries. Its `head` says how many of those count. */
export interface SessionMeta {
  readonly format: number
  readonly id: string
  /** False while there are only blobs. */
  readonly exists: boolean
  readonly head: number
  readonly epoch: number
  readonly owner?: string
  readonly parent?: string
  readonly createdAt?: number
  readonly updatedAt?: number
  readonly inbox: readonly InboxItem[]
  readonly blobs: readonly string[]
  /** It is being deleted, with these children. */
  readonly deleting?: readonly string[]
}

/** A session as this process knows it. */
export interface Kept {
  meta: SessionMeta
  /** What `turns.jsonl` holds that counts, once it was asked for. */
  log?: { readonly text: string; readonly keys: ReadonlySet<string> }
  /** The lease of this process; 0 is none. One of an earlier process ended with it. */
  epoch: number
  since: number
  expires: number
}

/** What is kept at an adapter, read when it is first needed. Changes reach the memory only after they were saved. */
export class KeptSessions {
  readonly #files: AdapterFiles
  readonly #known = new Map<string, Promise<Kept>>()
  /** Those that are just being deleted, which are not looked at for children. */
  readonly #leaving = new Set<string>()
  readonly #alone = createTurnTaking()
  #listed: Promise<ReadonlySet<string>> | undefined
  /** Over all sessions, so that one deleted and made anew fences off its old writer. */
  epochs = 0

  constructor(files: AdapterFiles) {
    this.#files = files
  }

  of(id: string): Promise<Kept> {
    let known = this.#known.get(id)
    if (!known) {
      known = this.#load(id)
      this.#known.set(id, known)
      known.catch(() => this.#known.delete(id))
    }
    return known
  }

  async log(kept: Kept): Promise<NonNullable<Kept['log']>> {
    const { id, head } = kept.meta
    if (!kept.log) {
      const path = turnsPath(id)
      const text = head === 0 ? '' : acknowledged((await this.#files.get(path)) ?? '', head, path)
      // Whoever asked at the same time may have been faster, and have written since.
      kept.log ??= { text, keys: keysIn(text, path) }
    }
    return kept.log
  }

  /** Makes a change of `meta.json` a fact. */
  async change(kept: Kept, change: Partial<SessionMeta>): Promise<void> {
    this.checkWritable(kept)
    const meta = { ...kept.meta, ...change }
    if (meta.exists && !kept.meta.exists) await this.#changeList((ids) => ids.add(meta.id))
    await this.#files.save(metaPath(meta.id), JSON.stringify(meta))
    kept.meta = meta
  }

  checkWritable({ meta }: Kept): void {
    if (meta.format > format)
      throw new StoreError(
        'newer',
        `${metaPath(meta.id)} says format ${meta.format}, this version writes ${format}: it can be read; update libero`,
      )
  }

  async ids(): Promise<string[]> {
    if (!this.#files.list) return [...(await this.#list())]
    const names = await this.#files.list('')
    return names.flatMap((name) =>
      name.endsWith('/meta.json') ? (idOf(name.slice(0, -'/meta.json'.length)) ?? []) : [],
    )
  }

  /** Its meta goes last, and says until then that the rest has to go, so that a deletion can be finished later. */
  async delete(id: string): Promise<void> {
    const kept = await this.of(id)
    this.checkWritable(kept)
    const others = (await this.ids()).filter((other) => other !== id && !this.#leaving.has(other))
    const family = await Promise.all(others.map((other) => this.of(other)))
    const children = family.filter(({ meta }) => meta.parent === id).map(({ meta }) => meta.id)
    if (kept.meta.exists || kept.meta.blobs.length > 0 || children.length > 0)
      await this.#finishDeleting({ ...kept.meta, exists: false, deleting: children })
    // Whoever still has it in hand sees that it is gone.
    kept.meta = freshMeta(id)
    kept.epoch = 0
    kept.expires = 0
    delete kept.log
  }

  async #finishDeleting(meta: SessionMeta): Promise<void> {
    const { id, blobs, deleting = [] } = meta
    this.#leaving.add(id)
    try {
      await this.#files.save(metaPath(id), JSON.stringify(meta))
      for (const child of deleting) await this.delete(child)
      await this.#files.delete(turnsPath(id))
      for (const name of blobs) await this.#files.delete(blobPath(id, name))
      await this.#files.delete(metaPath(id))
      await this.#changeList((ids) => ids.delete(id))
    } finally {
      this.#leaving.delete(id)
    }
  }

  async #load(id: string): Promise<Kept> {
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

  /** One after the other, so that no older list is saved after a newer one. */
  #changeList(change: (ids: Set<string>) => unknown): Promise<void> {
    if (this.#files.list) return Promise.resolve()
    return this.#alone([indexPath], async () => {
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

import { systemClock } from '../../core/clock.ts'
import { LeaseLostError, messageOf, StoreError } from '../../core/errors.ts'
import type { LogEntry, ParentCall } from '../../core/log.ts'
import type { Fence, SessionStore } from '../../core/store.ts'
import { readCheckpoint } from '../checkpoints/checkpoint.ts'
import { descendantsOf } from '../family.ts'
import { WriteLease } from '../write-lease.ts'
import { type ExportPart, readExport, renameBlobs } from './read-export.ts'

const leaseMs = 30_000

/**
 * Writes an export into a store, all or nothing, and never into an existing session. The entries stay unchanged,
 * including the keys of their calls, because external effects were done under these keys.
 *
 * It is read and written part by part, so that its size does not matter. The root session has no entries, so that readers
 * do not see it, until one append at the end. If an import is killed before that point, the next import of the same id
 * removes what it left.
 */
export async function importSession(
  store: SessionStore,
  text: string | AsyncIterable<string>,
  options: {
    /** The id in this store. Default: the id in the export. */
    readonly id?: string
    /**
     * The tenant whose sessions they become, whatever the export says of tenants. Folders are left out, and no entry is of the
     * future: what a tenant sends must not name places of the machine, nor come before the sessions of others.
     */
    readonly tenant?: string
  } = {},
): Promise<{
  readonly id: string
  /** The ids of all descendants. */
  readonly children: readonly string[]
  readonly entries: number
  /** The line at which the text was cut off; the lines before it were imported. Absent if it was complete. */
  readonly tornAt?: number
}> {
  let importing: Import | undefined
  try {
    let tornAt: number | undefined
    for await (const part of readExport(text)) {
      if (part.type === 'session') importing ??= await Import.begin(store, part.id, options)
      if (part.type === 'end') tornAt = part.tornAt
      else await importing!.add(part) // an export begins with a session
    }
    return { ...(await importing!.end()), ...(tornAt !== undefined && { tornAt }) }
  } catch (error) {
    throw importing ? await importing.undo(error) : error
  }
}

/** An import under way. It holds the lease of the root session. */
class Import {
  readonly #store: SessionStore
  /** The root session: in the export, and here. */
  readonly #origin: string
  readonly #id: string
  readonly #lease: WriteLease
  /** The ids of the sessions here, by those in the export. */
  readonly #names = new Map<string, string>()
  readonly #tenant: string | undefined
  #entries = 0
  readonly #root: SessionWriter
  #current: SessionWriter

  constructor(store: SessionStore, origin: string, id: string, lease: WriteLease, tenant: string | undefined) {
    this.#store = store
    this.#origin = origin
    this.#id = id
    this.#lease = lease
    this.#tenant = tenant
    // Most sessions fit into one append; the others are written here, and the root session then shares them.
    const fence = () => this.#fence(id)
    this.#root = this.#current = new SessionWriter({ store, id: `${id}/~import`, fence, blobsIn: id })
  }

  /** Takes the lease of a session without entries, and removes the rest of an import that was killed. */
  static async begin(
    store: SessionStore,
    origin: string,
    { id = origin, tenant }: Parameters<typeof importSession>[2] & object,
  ): Promise<Import> {
    if (await store.find(id)) throw existing(id)
    const owner = `import#${crypto.randomUUID()}`
    const leftovers = await descendantsOf(store, id) // only an import writes children first
    const lease = new WriteLease({ store, owner, ttlMs: leaseMs, clock: systemClock, onRenewed: () => {} })
    const { head, inbox } = await lease.take(id, { create: true })
    if (head > 0 || inbox.length > 0) {
      await lease.release()
      throw existing(id)
    }
    if (leftovers.length > 0) {
      await store.delete(id)
      lease.forget()
      await lease.take(id, { create: true })
    }
    return new Import(store, origin, id, lease, tenant)
  }

  #fence(parent: string): Omit<Fence, 'head'> {
    return { epoch: this.#lease.epoch!, holder: this.#id, parent }
  }

  async add(part: Exclude<ExportPart, { type: 'end' }>): Promise<void> {
    if (part.type === 'session') return this.#beginSession(part)
    if (part.type === 'blob') return this.#current.addBlob(part.name, part.bytes)
    this.#entries++
    const entry = renamed(part.entry, this.#names)
    await this.#current.add(this.#tenant === undefined ? entry : ofTenant(entry, this.#tenant), part.size)
  }

  async #beginSession({ id, parent }: Extract<ExportPart, { type: 'session' }>): Promise<void> {
    const name = nameBelow(id, this.#origin, this.#id)
    this.#names.set(id, name)
    if (parent === undefined) return
    if (await this.#store.find(name)) throw existing(name)
    await this.#endCurrent()
    const fence = () => this.#fence(this.#names.get(parent)!)
    this.#current = new SessionWriter({ store: this.#store, id: name, fence })
  }

  async #endCurrent(): Promise<void> {
    if (this.#current !== this.#root) await this.#current.flush()
  }

  async end(): Promise<Awaited<ReturnType<typeof importSession>>> {
    await this.#endCurrent()
    const { head, waiting, id: base } = this.#root
    const fence = { epoch: this.#lease.epoch!, head, ...(head > 0 && { base }) }
    const last = waiting.at(-1)?.seq ?? head
    const details = {
      type: 'details',
      tenant: this.#tenant,
      seq: last + 1,
      id: crypto.randomUUID(),
      at: Date.now(),
    } as const
    // In the same append: the session is never there without its tenant.
    const entries = this.#tenant === undefined ? waiting : [...waiting, { ...details, tenant: this.#tenant }]
    if (entries.length > 0) await this.#store.append(this.#id, entries, fence)
    // Everything is written: what cannot be cleaned up does no harm.
    if (head > 0) await this.#store.delete(base).catch(() => {})
    await this.#lease.release()
    return { id: this.#id, children: [...this.#names.values()].slice(1), entries: this.#entries }
  }

  /** Removes what a failed import wrote. If that fails too, the error says what is left. */
  async undo(error: unknown): Promise<unknown> {
    try {
      // If it lost its lease, another writer has the session now.
      if (!(error instanceof LeaseLostError)) await this.#store.delete(this.#id)
      this.#lease.forget()
      return error
    } catch {
      await this.#lease.release()
      const code = error instanceof StoreError ? error.code : 'unavailable'
      const advice =
        'No session was imported. Parts of it, which no list shows, could not be removed; the next import of this session removes them'
      return new StoreError(code, `${messageOf(error)}. ${advice}`, { cause: error })
    }
  }
}

/** The id of a child begins with that of its parent. */
function nameBelow(id: string, oldRoot: string, newRoot: string): string {
  if (id === oldRoot) return newRoot
  return id.startsWith(`${oldRoot}/`) ? newRoot + id.slice(oldRoot.length) : `${newRoot}/${id}`
}

const existing = (id: string): Error =>
  new Error(`Session "${id}" exists already; import it under another name with importSession(store, text, { id })`)

/** An entry without what names tenants and folders. */
function ofTenant(entry: LogEntry, tenant: string): LogEntry {
  const at = Math.min(entry.at, Date.now())
  if (entry.type === 'details') {
    const { folder: _, ...details } = entry
    return { ...details, tenant, at }
  }
  // The command line of earlier versions, and agents, keep a folder and a tenant in their state.
  if (entry.type === 'state' && /^(?:cli|workflow:)/.test(entry.owner)) return { ...entry, value: {}, at }
  return { ...entry, at }
}

/** The runs of a child name their parent session: in their first entries, and in checkpoints. */
function renamed(entry: LogEntry, names: ReadonlyMap<string, string>): LogEntry {
  if (entry.type === 'run_started') return withRenamedParent(entry, names)
  const checkpoint = readCheckpoint(entry)
  if (!checkpoint || entry.type !== 'checkpoint') return entry
  const runs = checkpoint.state.runs.map((run) => withRenamedParent(run, names))
  return { ...entry, state: { ...checkpoint.state, runs } }
}

function withRenamedParent<Run extends { readonly parent?: ParentCall }>(
  run: Run,
  names: ReadonlyMap<string, string>,
): Run {
  const session = run.parent?.session === undefined ? undefined : names.get(run.parent.session)
  return session === undefined ? run : { ...run, parent: { ...run.parent, session } }
}

/** An append has at most this many entries, and about this many characters of JSON. */
const maxEntries = 5000
const maxSize = 4 * 1024 * 1024

interface SessionWriterOptions {
  readonly store: SessionStore
  readonly id: string
  readonly fence: () => Omit<Fence, 'head'>
  /** The session that keeps the blobs. Default: this one. */
  readonly blobsIn?: string
}

/** Writes the entries of an imported session in several appends. The last ones wait until `flush`. */
class SessionWriter {
  readonly id: string
  /** How many entries are written. */
  head = 0
  /** Those that are not written yet. */
  waiting: LogEntry[] = []
  readonly #options: SessionWriterOptions
  #size = 0
  /** Blobs that have another name in this store. */
  readonly #blobs = new Map<string, string>()
  #release: (() => Promise<unknown>) | undefined

  constructor(options: SessionWriterOptions) {
    this.#options = options
    this.id = options.id
  }

  async add(entry: LogEntry, size: number): Promise<void> {
    if (this.waiting.length === maxEntries || this.#size + size > maxSize) await this.flush()
    this.waiting.push(this.#blobs.size === 0 ? entry : renameBlobs(entry, this.#blobs))
    this.#size += size
  }

  async addBlob(name: string, bytes: Uint8Array): Promise<void> {
    const { store, blobsIn = this.id } = this.#options
    if (blobsIn === this.id) await this.#exist()
    const here = await store.blobs(blobsIn).put(bytes)
    if (here !== name) this.#blobs.set(name, here)
  }

  /** Blobs need a session that exists, and one without entries exists only while it is leased. */
  async #exist(): Promise<void> {
    if (this.head > 0 || this.#release) return
    const { store } = this.#options
    const request = { owner: `import#${crypto.randomUUID()}`, ttlMs: 3_600_000 }
    const { epoch } = await store.lease(this.id, { ...request, create: true })
    this.#release = () => store.lease(this.id, { ...request, ttlMs: 0, epoch })
  }

  async flush(): Promise<void> {
    const { store, fence } = this.#options
    const entries = this.waiting
    if (entries.length === 0) return
    await store.append(this.id, entries, { ...fence(), head: this.head })
    this.head += entries.length
    this.waiting = []
    this.#size = 0
    await this.#release?.()
    this.#release = undefined
  }
}

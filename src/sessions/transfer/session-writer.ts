import type { LogEntry } from '../../core/log.ts'
import type { Fence, SessionStore } from '../../core/store.ts'
import { renameBlobs } from './read-export.ts'

/** An append has at most so many entries, and about so many characters of JSON. */
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
export class SessionWriter {
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

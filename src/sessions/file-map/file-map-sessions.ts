import type { Clock } from '../../core/clock.ts'
import { StoreError } from '../../core/errors.ts'
import { emptySummary, mailIn } from '../stored-summary.ts'
import type { AdapterFiles } from './adapter-files.ts'
import { IndexFile } from './index-file.ts'
import { SessionFiles } from './session-files.ts'
import { checkWritable, format, freshMeta } from './session-meta.ts'

/** A lease; it ends with its process. */
export interface FileMapLease {
  readonly epoch: number
  readonly owner: string
  readonly since: number
  expires: number
}

/** At the start, this many sessions are read at once. */
const atOnce = 16

/** All sessions of an adapter, shared by all stores over it, because the adapter itself cannot exclude a second writer. */
export class FileMapSessions {
  readonly files: SessionFiles
  readonly index: IndexFile
  readonly leases = new Map<string, FileMapLease>()
  readonly withLocks = createLocks()
  readonly #clock: Clock
  /** Sessions that are damaged, of a newer version, or could not be upgraded: the next start reads their meta again. */
  readonly #unsettled = new Set<string>()
  #starting: Promise<void> | undefined

  constructor(adapter: AdapterFiles, clock: Clock) {
    this.#clock = clock
    this.files = new SessionFiles(adapter)
    this.index = new IndexFile(adapter, ({ id }) => this.isHeld(id))
  }

  /** Whether a session is held; a child by the lease of its root. */
  isHeld(id: string): boolean {
    const seen = new Set<string>() // sessions may be each other's parents
    let root = id
    for (let parent: string | undefined = id; parent !== undefined && !seen.has(parent); ) {
      seen.add(parent)
      root = parent
      parent = this.index.summaries.get(parent)?.parent
    }
    return (this.leases.get(root)?.expires ?? 0) > this.#clock.now()
  }

  /** Reads the index on first use, and the sessions that were marked as stale when their process ended. */
  ready(): Promise<void> {
    this.#starting ??= this.#start().catch((error) => {
      this.#starting = undefined
      throw error
    })
    return this.#starting
  }

  async #start(): Promise<void> {
    const ids = await this.index.load()
    const gone: string[] = []
    for (let at = 0; at < ids.length; at += atOnce)
      await Promise.all(
        ids.slice(at, at + atOnce).map(async (id) => {
          gone.push(...(await this.#recover(id)))
        }),
      )
    if (gone.length > 0) await this.index.remove(gone).catch(() => {}) // the next start looks again
    await this.saveIdle()
  }

  /** Finishes what an earlier process began. Resolves with the ids of sessions that are not there any more. */
  async #recover(id: string): Promise<readonly string[]> {
    const session = await unlessDamaged(this.files.of(id))
    const { deleting, head, inbox } = session?.meta ?? { ...freshMeta(id), head: 1 }
    if (session && (deleting || (head === 0 && inbox.length === 0))) {
      const isDone = await this.files.delete(session, deleting ?? []).then(
        () => true,
        () => false, // the next start tries again
      )
      return isDone ? [id, ...(deleting ?? [])] : []
    }
    const summary = session && (await unlessDamaged(this.files.storedSummaryOf(session, head)))
    if (session && summary && session.meta.format < format) await this.files.upgrade(session, summary).catch(() => {})
    if (!summary || session?.meta.format !== format) this.#unsettled.add(id)
    // A damaged session is listed, so that it is found.
    const damaged = { ...emptySummary, head, status: 'failed', title: '(cannot be read)' } as const
    this.index.set({ ...(session?.meta ?? freshMeta(id)), record: summary ?? damaged }, mailIn(inbox))
    return []
  }

  /** Saves the summaries of sessions that no caller is writing, and forgets their entries. */
  async saveIdle(): Promise<void> {
    const isIdle = (id: string): boolean => !this.isHeld(id) && !this.#unsettled.has(id)
    for (const id of await this.index.saveIdle(isIdle)) delete (await this.files.of(id)).log
  }

  /**
   * Deletes a session, whose lock the caller holds, with all its descendants. Before that, each fork of a deleted session gets
   * its own copy of the entries and blobs that it shares.
   */
  async delete(id: string): Promise<readonly string[]> {
    const descendants = this.#descendantsOf(id)
    const family = [...descendants, id]
    for (const member of family) checkWritable((await this.files.of(member)).meta)
    for (const member of family)
      for (const fork of this.index.forksOf(member)) if (!family.includes(fork)) await this.#separate(fork)
    // Otherwise a message could be saved beside files that are gone.
    return this.withLocks(descendants.toReversed(), () => this.#deleteFamily(id, descendants))
  }

  async #deleteFamily(id: string, descendants: readonly string[]): Promise<readonly string[]> {
    const session = await this.files.of(id)
    const family = [...descendants, id]
    for (const member of family) this.leases.delete(member)
    if (!session.isStored && descendants.length === 0) return []
    await this.index.whileMarkedStale(family, () => this.files.delete(session, descendants))
    await this.index.remove(family)
    return family
  }

  /** Children after their own children. */
  #descendantsOf(id: string, above: readonly string[] = [id]): string[] {
    const children = this.index.summaries.childrenOf(id).filter((child) => !above.includes(child))
    return children.flatMap((child) => [...this.#descendantsOf(child, [...above, child]), child])
  }

  #separate(fork: string): Promise<void> {
    return this.withLocks([fork], () =>
      this.index.whileMarkedStale([fork], async () => {
        const session = await this.files.of(fork)
        await this.files.copyShared(session)
        this.index.set(session.meta, mailIn(session.meta.inbox))
      }),
    )
  }
}

/** The outcome; undefined if a file is damaged. */
async function unlessDamaged<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work
  } catch (error) {
    if (error instanceof StoreError && error.code === 'corrupt') return undefined
    throw error
  }
}

/** Creates named locks for this process: work that shares a name runs serially. */
function createLocks(): <T>(names: readonly string[], work: () => Promise<T>) => Promise<T> {
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
    return [...new Set(names)].reduceRight<typeof work>((inner, name) => () => withLock(name, inner), work)()
  }
}

import type { Clock } from '../core/clock.ts'
import type { SessionStore, SessionSummary } from '../core/store.ts'
import { rootOf } from '../sessions/family.ts'
import { isInterrupted, needsRun } from '../sessions/needs-run.ts'

interface ReconcilerOptions {
  readonly store: SessionStore
  readonly clock: Clock
  /** Wakes the session, unless this worker cannot run it or runs it already. */
  readonly wake: (summary: SessionSummary) => Promise<void>
  /** Whether this worker could run it. */
  readonly isOwn: (summary: SessionSummary) => boolean
  /** Whether this worker has no free slot. Others may have one, so it looks less often. */
  readonly isFull: () => boolean
  /** Called with each look. */
  readonly alsoLook: () => Promise<void>
  readonly onError: (error: Error) => void
}

const everyMs = 5000
/**
 * How often it looks for runs that were interrupted. Their workers died: the look is what a takeover waits for beside the lease,
 * and must not wait for mail, of which a busy fleet has many pages.
 */
const interruptedEveryMs = 2000
const pageSize = 100
/** Limits per look, the second one approximate; the next look continues where this one stopped. */
const maxPages = 20
const maxWakes = 300
/** A session that is skipped is rechecked after this many looks: a new message may not change its summary. */
const recheckAfter = 12
/** A worker without a free slot checks the sessions at every sixth look. */
const looksPerCheckWhenFull = 6

/** Something that is done again and again. */
interface Loop {
  readonly everyMs: number
  readonly look: () => Promise<void>
  looking?: Promise<void>
  cancelTimer?: () => void
}

/** Finds the sessions that need attention and have no job: their job was lost, their worker died, or no wake was sent. */
export class Reconciler {
  readonly #options: ReconcilerOptions
  /** Sessions that are not woken again for a while: what was known of them, and at which look. */
  readonly #skipped = new Map<string, { readonly known: string; readonly look: number; readonly rootHead?: number }>()
  /** Sessions with a message that were seen for the first time: their job is probably on its way. */
  #new = new Set<string>()
  /** `#new` of the previous full pass, which may have taken several looks. */
  #newBefore: ReadonlySet<string> = new Set()
  #cursor: string | undefined
  #looks = 0
  /** When this worker woke sessions whose run was interrupted. */
  readonly #wokenAt = new Map<string, number>()
  readonly #loops: readonly Loop[] = [
    { everyMs: interruptedEveryMs, look: () => this.#lookAtInterrupted() },
    { everyMs, look: () => this.#look() },
  ]
  #isStopped = false

  constructor(options: ReconcilerOptions) {
    this.#options = options
  }

  /** Begins both looks; each repeats itself until `stop`. */
  start(): void {
    for (const loop of this.#loops) this.#begin(loop)
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    for (const { cancelTimer } of this.#loops) cancelTimer?.()
    await Promise.all(this.#loops.map(({ looking }) => looking))
  }

  /** The next time is slightly different in each worker. */
  #begin(loop: Loop): void {
    if (this.#isStopped) return
    loop.looking = loop
      .look()
      .catch((cause) =>
        this.#options.onError(
          new Error('The worker could not look for sessions that need attention; it tries again', { cause }),
        ),
      )
      .then(() => {
        const ms = loop.everyMs * (0.8 + 0.4 * Math.random())
        if (!this.#isStopped) loop.cancelTimer = this.#options.clock.timer(ms, () => this.#begin(loop))
      })
  }

  /**
   * Also when this worker is full: others may have a free slot. The list begins with those that were written last. It is read on
   * while it has sessions to wake; the others, such as those of other programs, are left to the look at all sessions.
   */
  async #lookAtInterrupted(): Promise<void> {
    const { store, isOwn } = this.#options
    let cursor: string | undefined
    for (let pages = 0; pages < maxPages && !this.#isStopped; pages++) {
      const page = await store.list({ status: 'interrupted', limit: pageSize, ...(cursor !== undefined && { cursor }) })
      const own = page.sessions.filter((one) => one.parent === undefined && isInterrupted(one) && isOwn(one))
      await Promise.all(own.map((summary) => this.#wakeInterrupted(summary)))
      cursor = page.next
      if (cursor === undefined || own.length === 0) return
    }
  }

  /** Whether it was woken, and not just before. */
  async #wakeInterrupted(summary: SessionSummary): Promise<boolean> {
    const now = this.#options.clock.now()
    for (const [id, wokenAt] of this.#wokenAt) {
      if (now - wokenAt < interruptedEveryMs) break // the others were woken later
      this.#wokenAt.delete(id)
    }
    if (this.#wokenAt.has(summary.id)) return false
    this.#wokenAt.set(summary.id, now)
    await this.#options.wake(summary)
    return true
  }

  async #look(): Promise<void> {
    const { isFull, alsoLook } = this.#options
    this.#looks++
    if (!isFull() || this.#looks % looksPerCheckWhenFull === 1) await this.#lookAtSessions()
    if (!this.#isStopped) await alsoLook()
  }

  async #lookAtSessions(): Promise<void> {
    const { store, onError } = this.#options
    for (const [id, { look }] of this.#skipped) if (this.#looks - look >= recheckAfter) this.#skipped.delete(id)
    for (let pages = 0, woken = 0; pages < maxPages && woken < maxWakes && !this.#isStopped; pages++) {
      const cursor = this.#cursor !== undefined && { cursor: this.#cursor }
      const page = await store.list({ attention: true, limit: pageSize, ...cursor })
      const seen = await Promise.allSettled(page.sessions.map((summary) => this.#see(summary)))
      woken += seen.filter((one) => one.status === 'fulfilled' && one.value).length
      this.#cursor = page.next
      if (page.next === undefined) {
        this.#newBefore = this.#new
        this.#new = new Set()
      }
      // One session that cannot be read must not hide the others. If the queue is away, the next look goes on.
      const failure = seen.find((one) => one.status === 'rejected')
      if (failure)
        onError(new Error('The worker could not look at a session; it tries again', { cause: failure.reason }))
      if (failure || page.next === undefined) break
    }
  }

  /** Whether the session was woken. */
  async #see(found: SessionSummary): Promise<boolean> {
    const { store, isOwn, wake } = this.#options
    const summary = found.parent === undefined ? found : await this.#rootOfAnswered(found)
    if (!summary) return false
    const { id } = found
    const isOfChild = summary !== found
    const known = `${found.head} ${found.attention}`
    if (isInterrupted(summary)) return isOwn(summary) && this.#wakeInterrupted(summary)
    const skipped = this.#skipped.get(id)
    // A root that has run since it was woken leaves the answer. If it has not, its wake may be lost.
    const isSkipped = skipped?.known === known && skipped.rootHead !== summary.head
    if (!isOwn(summary) || isSkipped) return false
    if (this.#looks > 1 && !this.#newBefore.has(`${id} ${known}`)) {
      this.#new.add(`${id} ${known}`)
      return false
    }
    const isNeeded = isOfChild || (await needsRun(store, summary))
    if (isNeeded) await wake(summary)
    const rootHead = isOfChild && { rootHead: summary.head }
    if (!isNeeded || isOfChild) this.#skipped.set(id, { known, look: this.#looks, ...rootHead })
    return isNeeded
  }

  /** Only its root continues a sub-agent, and its own summary does not tell of the answer. */
  async #rootOfAnswered(found: SessionSummary): Promise<SessionSummary | undefined> {
    if (found.attention !== 'answered') return undefined
    const root = await rootOf(this.#options.store, found)
    return root.status === 'waiting' && !root.isHeld ? root : undefined
  }
}

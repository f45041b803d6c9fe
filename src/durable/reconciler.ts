import type { Clock } from '../core/clock.ts'
import type { SessionStore, SessionSummary } from '../core/store.ts'
import { needsRun } from '../sessions/needs-run.ts'

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
const pageSize = 100
/** Limits per look, the second one approximate; the next look continues where this one stopped. */
const maxPages = 20
const maxWakes = 300
/** A session that no run could help is rechecked after this many looks: a new message may not change its summary. */
const recheckAfter = 12
/** A worker without a free slot checks the sessions at every sixth look. */
const looksPerCheckWhenFull = 6

/** Finds the sessions that need attention and have no job: their job was lost, their worker died, or no wake was sent. */
export class Reconciler {
  readonly #options: ReconcilerOptions
  /** Sessions that no run could help: what was known of them, and at which look. */
  readonly #hopeless = new Map<string, { readonly known: string; readonly look: number }>()
  /** Sessions with a message that were seen for the first time: their job is probably on its way. */
  #new = new Set<string>()
  /** `#new` of the previous full pass, which may have taken several looks. */
  #newBefore: ReadonlySet<string> = new Set()
  #cursor: string | undefined
  #looks = 0
  #cancelTimer: (() => void) | undefined
  #looking: Promise<void> | undefined
  #isStopped = false

  constructor(options: ReconcilerOptions) {
    this.#options = options
  }

  /** Looks now and then every five seconds, at slightly different times in each worker. */
  start(): void {
    if (this.#isStopped) return
    this.#looking = this.#look()
      .catch((cause) =>
        this.#options.onError(
          new Error('The worker could not look for sessions that need attention; it tries again', { cause }),
        ),
      )
      .then(() => {
        if (!this.#isStopped)
          this.#cancelTimer = this.#options.clock.timer(everyMs * (0.8 + 0.4 * Math.random()), () => this.start())
      })
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    this.#cancelTimer?.()
    await this.#looking
  }

  async #look(): Promise<void> {
    const { isFull, alsoLook } = this.#options
    this.#looks++
    if (!isFull() || this.#looks % looksPerCheckWhenFull === 1) await this.#lookAtSessions()
    if (!this.#isStopped) await alsoLook()
  }

  async #lookAtSessions(): Promise<void> {
    const { store } = this.#options
    for (const [id, { look }] of this.#hopeless) if (this.#looks - look >= recheckAfter) this.#hopeless.delete(id)
    for (let pages = 0, woken = 0; pages < maxPages && woken < maxWakes && !this.#isStopped; pages++) {
      const cursor = this.#cursor !== undefined && { cursor: this.#cursor }
      const page = await store.list({ attention: true, parent: null, limit: pageSize, ...cursor })
      const areWoken = await Promise.all(page.sessions.map((summary) => this.#see(summary)))
      woken += areWoken.filter(Boolean).length
      this.#cursor = page.next
      if (page.next !== undefined) continue
      this.#newBefore = this.#new
      this.#new = new Set()
      break
    }
  }

  /** Whether the session was woken. */
  async #see(summary: SessionSummary): Promise<boolean> {
    const { store, isOwn, wake } = this.#options
    const known = `${summary.head} ${summary.attention}`
    if (!isOwn(summary) || this.#hopeless.get(summary.id)?.known === known) return false
    const isMail = summary.attention === 'mail' || summary.attention === 'answered'
    if (isMail && this.#looks > 1 && !this.#newBefore.has(`${summary.id} ${known}`)) {
      this.#new.add(`${summary.id} ${known}`)
      return false
    }
    const isNeeded = await needsRun(store, summary)
    if (isNeeded) await wake(summary)
    else this.#hopeless.set(summary.id, { known, look: this.#looks })
    return isNeeded
  }
}

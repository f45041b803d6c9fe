import type { Clock } from '../core/clock.ts'
import { LeaseLostError } from '../core/errors.ts'
import { failpoint, type InboxItem } from '../core/log.ts'
import type { Lease, LeaseRequest, SessionStore } from '../core/store.ts'

interface WriteLeaseOptions {
  readonly store: SessionStore
  readonly owner: string
  readonly ttlMs: number
  readonly clock: Clock
  /** Called with the inbox each time the lease is renewed. */
  readonly onRenewed: (inbox: readonly InboxItem[]) => void
}

/** The lease of a session, renewed until it is released. */
export class WriteLease {
  /** Called when another writer has taken the session. */
  onLost: ((error: LeaseLostError) => void) | undefined
  readonly #options: WriteLeaseOptions
  #held: { readonly id: string; readonly epoch: number } | undefined
  #stopRenewing: (() => void) | undefined
  #renewing: Promise<void> = Promise.resolve()

  constructor(options: WriteLeaseOptions) {
    this.#options = options
  }

  get epoch(): number | undefined {
    return this.#held?.epoch
  }

  async take(id: string, options: Pick<LeaseRequest, 'takeOver' | 'create'>): Promise<Lease> {
    const { store, owner, ttlMs } = this.#options
    failpoint('lease.take.before')
    const lease = await store.lease(id, { owner, ttlMs, ofProcess: true, ...options })
    failpoint('lease.take.after')
    const held = { id, epoch: lease.epoch }
    this.#held = held
    if (lease.lost) this.#reportWhenLost(lease.lost, held)
    else this.#renewLater(held)
    return lease
  }

  /** For a store that renews leases itself: it aborts the signal when the lease is lost. */
  #reportWhenLost(lost: AbortSignal, held: { readonly id: string; readonly epoch: number }): void {
    const report = (): void => {
      if (this.#held === held) this.onLost?.(lost.reason as LeaseLostError)
    }
    lost.addEventListener('abort', report, { once: true })
  }

  /** Stops renewing the lease, without releasing it: it was deleted together with its session. */
  forget(): void {
    this.#stopRenewing?.()
    this.#stopRenewing = undefined
    this.#held = undefined
  }

  async release(): Promise<void> {
    const held = this.#held
    this.forget()
    if (!held) return
    const { id, epoch } = held
    const { store, owner } = this.#options
    await this.#renewing // a renewal that arrived after the release would hold the lease again
    failpoint('lease.release.before')
    await this.#releaseWithRetries(() => store.lease(id, { owner, ttlMs: 0, epoch }))
  }

  /** Retries a few times, unless another writer has taken the session meanwhile. */
  async #releaseWithRetries(release: () => Promise<unknown>, tries = 3): Promise<void> {
    await release().catch((error) => {
      if (error instanceof LeaseLostError || tries === 0) return
      this.#options.clock.timer(1000, () => void this.#releaseWithRetries(release, tries - 1))
    })
  }

  #renewLater(held: { readonly id: string; readonly epoch: number }): void {
    const { store, owner, ttlMs, clock, onRenewed } = this.#options
    this.#stopRenewing = clock.timer(ttlMs / 3, () => {
      if (this.#held !== held) return
      this.#renewing = store.lease(held.id, { owner, ttlMs, epoch: held.epoch }).then(
        ({ inbox }) => {
          if (this.#held !== held) return
          this.#renewLater(held)
          onRenewed(inbox)
        },
        (error) => {
          if (this.#held !== held) return
          // A lost lease ends the run; other failures may be temporary, so renewing is tried again.
          if (error instanceof LeaseLostError) this.onLost?.(error)
          else this.#renewLater(held)
        },
      )
    })
  }
}

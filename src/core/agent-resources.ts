import { type Cancellation, orCancelled, waitCancelledMarker } from './cancellation.ts'
import { AgentAbortedError } from './errors.ts'
import type { ExecutionContext, ExecutionHandle } from './execution.ts'
import type { Extension, ExtensionHost } from './run.ts'
import type { Session } from './store.ts'

interface AgentResourcesOptions {
  readonly execution: ExecutionContext | undefined
  /** The parent's handle, which the child shares and does not destroy. */
  readonly handle: ExecutionHandle | undefined
  /** The extensions that this agent warms up and disposes of. */
  readonly extensions: readonly Extension[]
  readonly host: ExtensionHost
  readonly session: Session | undefined
}

/** What an agent needs before a run can begin: a place for its tools, warm extensions, the lease of its session. */
export class AgentResources {
  handle: ExecutionHandle | undefined
  readonly #options: AgentResourcesOptions
  #openingExecution: Promise<ExecutionHandle> | undefined
  #warming: Promise<void> | undefined
  #earlierWork: Promise<unknown> | undefined

  constructor(options: AgentResourcesOptions) {
    this.#options = options
    this.handle = options.handle
  }

  /** Resolves with the session open, or rejects as soon as the run is cancelled. */
  async prepare(cancellation: Cancellation): Promise<void> {
    const preparing = this.#prepare(cancellation)
    if (cancellation.isCancelled) return void (await preparing) // the run does no work; only its start and end are logged
    try {
      await orCancelled(preparing, cancellation)
    } catch (error) {
      if (error !== waitCancelledMarker) throw error
      this.waitFor(preparing.then((hasOpened) => (hasOpened ? this.#options.session?.release() : undefined)))
      throw new AgentAbortedError('The run was aborted before it began', { cause: cancellation.reason })
    }
  }

  /** The next run waits for `work`, even if it fails. */
  waitFor(work: Promise<unknown>): void {
    this.#earlierWork = Promise.all([this.#earlierWork, work.catch(() => {})])
  }

  async warmup(): Promise<void> {
    this.#warming ??= this.#warmAll()
    try {
      await this.#warming
    } catch (error) {
      this.#warming = undefined // the next warmup tries again
      throw error
    }
  }

  /** A failure shows on the next warmup or run, which awaits the same promise. */
  warmInBackground(): void {
    this.#warming = this.#warmAll()
    this.#warming.catch(() => {})
  }

  /** Opens the place where tools run, if it is not open yet. */
  async openExecution(): Promise<{ execution: ExecutionContext; handle: ExecutionHandle } | undefined> {
    const { execution } = this.#options
    if (!execution) return undefined
    this.handle ??= await this.#spawn(execution)
    return { execution, handle: this.handle }
  }

  async dispose(): Promise<void> {
    const { execution, extensions, handle: shared } = this.#options
    await Promise.allSettled(extensions.map(async (extension) => extension.dispose?.()))
    if (!execution || shared) return
    // An execution that is still being opened is destroyed as soon as it is open.
    if (!this.handle) void this.#openingExecution?.then((handle) => execution.destroy(handle)).catch(() => {})
    else await execution.destroy(this.handle)
  }

  /** Returns whether it opened the session. */
  async #prepare(cancellation: Cancellation): Promise<boolean> {
    const needsOnlyTheLog = cancellation.isCancelled
    if (!needsOnlyTheLog) {
      await this.#earlierWork
      await this.openExecution()
      if (!cancellation.isCancelled) await this.warmup()
      if (cancellation.isCancelled) return false
    }
    await this.#options.session?.open()
    return true
  }

  async #spawn(execution: ExecutionContext): Promise<ExecutionHandle> {
    this.#openingExecution ??= execution.spawn()
    try {
      return await this.#openingExecution
    } catch (error) {
      this.#openingExecution = undefined // the next run tries again
      throw error
    }
  }

  async #warmAll(): Promise<void> {
    const { extensions, host } = this.#options
    const code = import('./run-lifecycle.ts') // so that the first run does not wait for it
    await Promise.all([code, ...extensions.map(async (extension) => extension.warmup?.(host))])
  }
}

import { type Cancellation, orCancelled, waitCancelled } from './cancellation.ts'
import { AgentAbortedError } from './errors.ts'
import type { ExecutionContext, ExecutionHandle } from './execution.ts'
import type { Extension, ExtensionHost } from './run.ts'
import type { Session } from './store.ts'

export interface AgentResourcesOptions {
  readonly execution: ExecutionContext | undefined
  /** The place of a parent, which is shared and not ours to give up. */
  readonly handle: ExecutionHandle | undefined
  /** Those that are ours to warm up and to dispose of. */
  readonly extensions: readonly Extension[]
  readonly host: ExtensionHost
  readonly session: Session | undefined
}

/** What an agent needs before its first word: a place for its tools, warm extensions, the right to write its session. */
export class AgentResources {
  handle: ExecutionHandle | undefined
  readonly #options: AgentResourcesOptions
  #spawning: Promise<ExecutionHandle> | undefined
  #warming: Promise<void> | undefined
  #leftover: Promise<unknown> | undefined

  constructor(options: AgentResourcesOptions) {
    this.#options = options
    this.handle = options.handle
  }

  /** Returns with the session open, or throws as soon as `stop` says so. */
  async prepare(stop: Cancellation): Promise<void> {
    const preparing = this.#prepare(stop)
    if (stop.isCancelled) return void (await preparing) // the run begins, to end at once in good order
    try {
      await orCancelled(preparing, stop)
    } catch (error) {
      if (error !== waitCancelled) throw error
      this.waitFor(preparing.then((hasOpened) => (hasOpened ? this.#options.session?.release() : undefined)))
      throw new AgentAbortedError('The run was aborted before it began', { cause: stop.reason })
    }
  }

  /** The next run waits for `work`, however it ends. */
  waitFor(work: Promise<unknown>): void {
    this.#leftover = work.catch(() => {})
  }

  async warmup(): Promise<void> {
    this.#warming ??= this.#warmAll()
    try {
      await this.#warming
    } catch (error) {
      this.#warming = undefined // the next one tries again
      throw error
    }
  }

  /** A failure shows on the next warmup or run, which joins this very promise. */
  warmInBackground(): void {
    this.#warming = this.#warmAll()
    this.#warming.catch(() => {})
  }

  /** Where tools run; made now if it is not there yet. */
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
    // A place that is still being made is let go of as soon as it is there.
    if (!this.handle) void this.#spawning?.then((late) => execution.destroy(late)).catch(() => {})
    else await execution.destroy(this.handle)
  }

  /** Says whether it opened the session. */
  async #prepare(stop: Cancellation): Promise<boolean> {
    const needsOnlyTheLog = stop.isCancelled
    if (!needsOnlyTheLog) {
      await this.#leftover
      await this.openExecution()
      if (!stop.isCancelled) await this.warmup()
      if (stop.isCancelled) return false
    }
    await this.#options.session?.open()
    return true
  }

  async #spawn(execution: ExecutionContext): Promise<ExecutionHandle> {
    this.#spawning ??= execution.spawn()
    try {
      return await this.#spawning
    } catch (error) {
      this.#spawning = undefined // the next run tries again
      throw error
    }
  }

  async #warmAll(): Promise<void> {
    const { extensions, host } = this.#options
    await Promise.all(extensions.map(async (extension) => extension.warmup?.(host)))
  }
}

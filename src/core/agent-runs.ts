import type { AgentResources } from './agent-resources.ts'
import { Cancellation, followSignal, RunLeft } from './cancellation.ts'
import { scopeOf, tier } from './hooks.ts'
import type { Extension, Run, RunDependencies, RunOptions } from './run.ts'
import { checkRunOptions, parsePrompt } from './run-options.ts'
import type { SessionContentBlock } from './turn.ts'
import type { AgentStats } from './usage.ts'

interface AgentRunsOptions {
  readonly dependencies: RunDependencies
  readonly resources: AgentResources
  readonly extensions: readonly Extension[]
  readonly report: (hook: string, error: unknown) => void
}

/** The runs of an agent, one at a time. */
export class AgentRuns {
  readonly #options: AgentRunsOptions
  #active: { readonly cancellation: Cancellation; readonly idle: Promise<unknown> } | undefined
  #latestRun: Run | undefined
  #isClosed = false

  constructor(options: AgentRunsOptions) {
    this.#options = options
  }

  get isRunning(): boolean {
    return this.#active !== undefined
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  async run(options: RunOptions = {}): Promise<AgentStats> {
    if (this.#isClosed) throw new Error('This agent was destroyed; create another one')
    if (this.#active) throw new Error('This agent is already running; use steer(), followUp() or waitForIdle()')
    checkRunOptions(options)
    const prompt = parsePrompt(options.prompt, options.images)
    const cancellation = new Cancellation()
    const hooks = scopeOf(this.#options.dependencies.hooks, tier.run)
    const unfollowSignal = followSignal(options.signal, cancellation)
    try {
      hooks.hookAll(options.hooks)
      const work = this.#execute(options, prompt, cancellation)
      this.#active = { cancellation, idle: work.catch(() => {}) }
      return await work
    } finally {
      hooks.dispose()
      unfollowSignal()
      this.#active = undefined
    }
  }

  cancel(reason: Error): void {
    this.#active?.cancellation.cancel(reason)
  }

  leave(): Promise<void> {
    this.cancel(new RunLeft())
    return this.idle()
  }

  /**
   * Resolves when the run has ended. During the last hooks of a run (`agent:abort`, `agent:done`, `session:end`) it resolves at
   * once: a handler of these that waited for the run would wait for itself.
   */
  async idle(): Promise<void> {
    if (!this.#latestRun?.progress.isOver) await this.#active?.idle
  }

  /** Cancels the run under way, waits for its end and allows no other. */
  async close(): Promise<void> {
    this.#isClosed = true
    this.cancel(new Error('destroy() was called'))
    await this.idle()
  }

  async #execute(
    options: RunOptions,
    prompt: SessionContentBlock[] | undefined,
    cancellation: Cancellation,
  ): Promise<AgentStats> {
    const { dependencies, resources, extensions, report } = this.#options
    const { inbox } = dependencies
    const { session } = dependencies.parts
    const endOfListening = new Cancellation()
    let listening: Promise<void> | undefined
    let unsubscribeFromStops: (() => void) | undefined
    try {
      this.#latestRun = undefined // an earlier run is over, this one is not
      const { executeRun, newRun } = await import('./run-lifecycle.ts')
      this.#latestRun = newRun(options, cancellation, dependencies)
      return await executeRun(this.#latestRun, {
        prompt,
        extensions,
        async prepare() {
          await resources.prepare(cancellation)
          if (!session) return
          // Only now: a stop request that arrived before the session was open was for an earlier run.
          unsubscribeFromStops = inbox.onStopRequest(() =>
            cancellation.cancel(new Error('a message in the inbox said stop')),
          )
          // If listening fails, the run gets no messages from other processes. A lost lease makes its next append fail.
          listening = session
            .listen(endOfListening.signal, (leaseLost) => cancellation.cancel(leaseLost))
            .catch((error) => report('session:listen', error))
        },
      })
    } finally {
      endOfListening.cancel()
      await listening
      unsubscribeFromStops?.()
      if (listening) await session?.release()
    }
  }
}

import type { Clock } from '../core/clock.ts'
import { CodedError } from '../core/coded-error.ts'
import { messageOf } from '../core/errors.ts'
import { Lane, TimeLimitError } from '../core/lane.ts'
import type { Run } from '../core/run.ts'
import { Stop } from '../core/stop.ts'
import { defaultTimeoutMs, type ToolResult } from '../core/tool.ts'
import { type CallContext, Suspended } from '../core/tool-context.ts'
import { copyJson } from '../core/turn.ts'
import type { ToolLifecycle } from './contract.ts'
import { createHost, type HostedTool, type Surroundings } from './host.ts'
import { failureOf, resultOf } from './tool-answer.ts'

/** How long a phase of a tool's life may take; the time people need to answer does not count. */
export const phaseLimitMs = 10_000

/** One life of a tool, from `init` to `dispose`. */
export class LiveTool {
  readonly hosted: HostedTool
  readonly #around: Surroundings
  readonly #clock: Clock
  readonly #running = new Set<Promise<unknown>>()
  #isActive = false
  #ending: Promise<string[]> | undefined

  constructor(hosted: HostedTool, around: Surroundings, clock: Clock) {
    this.hosted = hosted
    this.#around = around
    this.#clock = clock
  }

  /** Throws when the tool cannot be used. */
  async begin(): Promise<void> {
    await this.#phase('init')
    await this.#phase('activate')
    this.#isActive = true
  }

  /** Lets calls under way end and no new ones begin, then lets go. Says what went wrong. Doing it twice is harmless. */
  end(): Promise<string[]> {
    this.#isActive = false
    this.#ending ??= this.#end()
    return this.#ending
  }

  async call(input: unknown, context: CallContext, run: Run): Promise<ToolResult> {
    const { name } = this.hosted.contract
    if (!this.#isActive)
      throw new CodedError(
        'ToolTransient/ResourceBusy',
        `${name} is switched off or being reloaded; try something else`,
      )
    const limitMs = this.#limitOf(input)
    const lane = new Lane(run.clock, context.stop)
    const work = lane.wait(this.#execute(input, context, run, lane), limitMs, context)
    this.#running.add(work)
    try {
      return resultOf(await work, name)
    } catch (error) {
      // By its type the pipeline knows a call that took too long.
      if (error instanceof TimeLimitError)
        throw new TimeLimitError(`ToolTransient/ExecutionTimeout: ${name} took longer than ${limitMs} ms`)
      throw failureOf(error)
    } finally {
      this.#running.delete(work)
      lane.close()
    }
  }

  async #execute(input: unknown, context: CallContext, run: Run, lane: Lane): Promise<unknown> {
    const { signal } = context
    const host = createHost(this.hosted, this.#around, { signal, lane, during: { run, context } })
    return this.hosted.contract.execute(input, host, signal)
  }

  /** The tool's own word about this call, else what is configured. */
  #limitOf(input: unknown): number {
    const { contract, config } = this.hosted
    const configured = config.timeoutMs ?? defaultTimeoutMs
    try {
      const own = contract.timeoutMs?.(copyJson(input))
      return own !== undefined && own >= 1 ? own : configured
    } catch {
      return configured
    }
  }

  async #end(): Promise<string[]> {
    await Promise.allSettled(this.#running)
    const problems: string[] = []
    for (const phase of ['deactivate', 'dispose'] as const)
      await this.#phase(phase).catch((error) => problems.push(messageOf(error)))
    return problems
  }

  async #phase(name: keyof ToolLifecycle): Promise<void> {
    const { contract, config } = this.hosted
    const phase = contract.lifecycle[name]
    if (!phase) return
    const stop = new Stop()
    const lane = new Lane(this.#clock, stop)
    const host = createHost(this.hosted, this.#around, { signal: stop.signal, lane })
    const work = async (): Promise<void> => phase(host, config)
    try {
      await lane.wait(work(), phaseLimitMs, { cancel: (reason) => stop.stop(reason) })
    } catch (error) {
      const why = error instanceof Suspended ? 'it has to ask somebody, and nobody is there' : messageOf(error)
      throw new CodedError('ExtensionHost/LifecycleFailed', `${name} of ${contract.name} failed: ${why}`)
    } finally {
      lane.close()
    }
  }
}

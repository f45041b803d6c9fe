import type { ExecutionContext, ExecutionHandle } from './execution.ts'
import type { Child, ForkOptions } from './fork.ts'
import type { ToolHookContext } from './hook-map.ts'
import type { Interact } from './interaction.ts'
import type { Run } from './run.ts'
import { Stop } from './stop.ts'
import type { Session } from './store.ts'
import type { ToolContext } from './tool.ts'
import type { Settled, Surroundings } from './tool-call.ts'
import type { ToolCallBlock, ToolOutput } from './turn.ts'

/** Thrown through a tool to leave its call open and end the run. */
export class Suspended {
  readonly reason: string
  constructor(reason: string) {
    this.reason = reason
  }
}

export type CallNested = (call: ToolCallBlock, stop: Stop) => Promise<Settled>

/** What a tool gets. Functions are own properties, so that a tool may take them out by destructuring. */
export class CallContext implements ToolContext {
  readonly stop: Stop
  readonly callId: string
  readonly turnId: string
  readonly idempotencyKey: string
  readonly attempt: number
  readonly #run: Run
  readonly #about: ToolHookContext
  readonly #callNested: CallNested
  #nested = 0
  #isOver = false

  constructor(
    run: Run,
    about: ToolHookContext,
    around: Surroundings,
    start: { key: string; attempt: number },
    callNested: CallNested,
  ) {
    this.#run = run
    this.#about = about
    this.#callNested = callNested
    this.stop = new Stop(around.stop)
    this.callId = about.callId
    this.turnId = about.turnId
    this.idempotencyKey = start.key
    this.attempt = start.attempt
  }

  get runId(): string {
    return this.#run.id
  }
  get signal(): AbortSignal {
    return this.stop.signal
  }
  get depth(): number {
    return this.#run.depth
  }
  get session(): Session | undefined {
    return this.#run.session
  }
  get execution(): ExecutionContext {
    return given(this.#run.execution)
  }
  get handle(): ExecutionHandle {
    return given(this.#run.handle)
  }
  get interact(): Interact {
    return this.#run.interact as Interact
  }

  readonly progress = (text: string): void => {
    if (this.#isOver || !this.#run.hooks.has('tool:progress')) return
    void this.#run.hooks.tell('tool:progress', { ...this.#about, text: String(text) })
  }

  readonly call = async (
    name: string,
    input: Readonly<Record<string, unknown>>,
  ): Promise<{ output: ToolOutput; isError: boolean }> => {
    const call: ToolCallBlock = { type: 'tool_call', id: `${this.callId}.${++this.#nested}`, name, input: { ...input } }
    const { output, isError, suspended } = await this.#callNested(call, this.stop)
    if (suspended !== undefined) throw new Suspended(suspended)
    return { output, isError }
  }

  readonly fork = (options?: ForkOptions): Promise<Child> => this.#run.fork(this.callId, this.stop, options)

  readonly suspend = (reason: string): never => {
    throw new Suspended(reason)
  }

  /** After the call has its result nobody listens to it any more. */
  close(): void {
    this.#isOver = true
    this.stop.release()
  }
}

function given<T>(part: T | undefined): T {
  if (part === undefined) throw new Error('This agent has no execution context; pass one as `execution`')
  return part
}

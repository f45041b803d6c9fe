import type { ResolvedBehavior } from './behavior.ts'
import { CallTimer, type Cancellable } from './call-timer.ts'
import { Cancellation } from './cancellation.ts'
import { checkedExecution, confinedExecution } from './confined-execution.ts'
import type { Confinement, ExecutionContext, ExecutionHandle } from './execution.ts'
import type { Interact } from './interaction.ts'
import type { Log } from './log.ts'
import type { Run } from './run.ts'
import type { Session } from './store.ts'
import type { ToolContext } from './tool.ts'
import type { ToolHookContext } from './tool-hooks.ts'
import type { CallResult } from './tool-result.ts'
import { copyJson, type ToolCallBlock } from './turn.ts'
import type { AgentStats } from './usage.ts'

/** Thrown through a tool by `ctx.suspend`: the call stays open and the run ends. */
export class Suspended {
  readonly reason: string
  constructor(reason: string) {
    this.reason = reason
  }
}

export type CallNested = (
  run: Run,
  parent: ToolHookContext,
  call: ToolCallBlock,
  context: CallContext,
) => Promise<CallResult>

/** How a tool makes calls of its own, and what the gate decided about the commands that the tool runs. */
interface ToolEnvironment {
  readonly callNested: CallNested
  readonly confinement?: Confinement | undefined
  readonly beforeCommands?: (() => Promise<void>) | undefined
}

/** The context that `execute` of a tool gets. */
export class CallContext implements ToolContext {
  readonly callId: string
  readonly turnId: string
  readonly idempotencyKey: string
  readonly attempt: number
  readonly #run: Run
  readonly #callInfo: ToolHookContext
  readonly #callNested: CallNested
  readonly #confinement: Confinement | undefined
  readonly #beforeCommands: (() => Promise<void>) | undefined
  #execution: ExecutionContext | undefined
  hasStartedChildren = false
  hasSuspendedChild = false
  #readOutputSoFar: (() => string) | undefined
  #lastProgress = ''
  /** Has the time limit of this call. */
  readonly timer: CallTimer
  #cancellation: Cancellation | undefined
  #nestedCancellation: Cancellation | undefined
  #cancelledWith: { readonly reason: unknown } | undefined
  #nested = 0
  #childCount = 0
  #isOver = false

  constructor(
    run: Run,
    callInfo: ToolHookContext,
    timer: CallTimer,
    start: { key: string; attempt: number },
    { callNested, confinement, beforeCommands }: ToolEnvironment,
  ) {
    this.#run = run
    this.#callInfo = callInfo
    this.#callNested = callNested
    this.#confinement = confinement
    this.#beforeCommands = beforeCommands
    this.timer = timer
    this.callId = callInfo.callId
    this.turnId = callInfo.turnId
    this.idempotencyKey = start.key
    this.attempt = start.attempt
  }

  get runId(): string {
    return this.#run.id
  }
  get signal(): AbortSignal {
    return this.cancellation.signal
  }
  /** Created on first use, because most tools never read their signal. */
  get cancellation(): Cancellation {
    if (!this.#cancellation) {
      this.#cancellation = new Cancellation(this.#isOver ? undefined : this.#run.cancellation)
      if (this.#cancelledWith) this.#cancellation.cancel(this.#cancelledWith.reason)
    }
    return this.#cancellation
  }
  get answer(): ToolContext['answer'] {
    return this.#run.log.transcript.answers.get(this.callId)
  }
  get behavior(): ResolvedBehavior {
    return this.#run.settings.behavior
  }
  get log(): Log {
    return this.#run.log
  }
  /** Cancelled when this call ends; its nested calls and child agents run under it. */
  get nestedCancellation(): Cancellation {
    this.#nestedCancellation ??= new Cancellation(this.cancellation)
    return this.#nestedCancellation
  }
  get depth(): number {
    return this.#run.facts.depth
  }
  get session(): Session | undefined {
    return this.#run.session
  }
  get execution(): ExecutionContext {
    const { execution } = this.#run.host
    if (!this.#confinement && !this.#beforeCommands) return requireExecution(execution)
    this.#execution ??= this.#restricted(requireExecution(execution))
    return this.#execution
  }
  #restricted(execution: ExecutionContext): ExecutionContext {
    const checked = this.#beforeCommands ? checkedExecution(execution, this.#beforeCommands) : execution
    return this.#confinement ? confinedExecution(checked, this.#confinement) : checked
  }
  get handle(): ExecutionHandle {
    return requireExecution(this.#run.host.handle)
  }
  get interact(): Interact {
    const { session, cancellation } = this.#run
    const { interact } = this.#run.host
    const ask: Interact = async (request, signal) => {
      try {
        return await interact!(request, signal, { isDurable: session !== undefined })
      } catch (error) {
        // If the person closes the question, the host throws an error whose field `class` is 'Cancellation'. That cancels the run.
        if (error instanceof Error && 'class' in error && error.class === 'Cancellation') cancellation.cancel(error)
        throw error
      }
    }
    return (interact && ask) as Interact
  }

  // Getters that return functions: a tool may destructure them, and a function is only created if it does.
  get progress(): (text: string) => void {
    return (text) => {
      if (!this.#isOver) this.#lastProgress = String(text)
      if (this.#isOver || !this.#run.hooks.has('tool:progress')) return
      void this.#run.hooks.tell('tool:progress', { ...this.#callInfo, text: String(text) })
    }
  }
  get ifInterrupted(): NonNullable<ToolContext['ifInterrupted']> {
    return (read) => {
      this.#readOutputSoFar = read
    }
  }
  /** What a call printed before it was stopped, as told by the function that its tool gave to `ifInterrupted`; else its last progress. */
  get outputSoFar(): string {
    try {
      return String(this.#readOutputSoFar ? this.#readOutputSoFar() : this.#lastProgress)
        .slice(-maxOutputSoFar)
        .toWellFormed()
    } catch {
      return ''
    }
  }
  get call(): ToolContext['call'] {
    return async (name, input) => {
      this.#throwIfOver()
      const id = this.#nestedId()
      const call: ToolCallBlock = { type: 'tool_call', id, name, input: copyJson({ ...input }) }
      const { output, isError, suspendReason } = await this.#callNested(this.#run, this.#callInfo, call, this)
      if (suspendReason !== undefined) throw new Suspended(suspendReason)
      return { output, isError }
    }
  }
  get createChild(): ToolContext['createChild'] {
    return async (options) => {
      this.#throwIfOver()
      const n = ++this.#childCount
      const child = await this.#run.children.create(
        n === 1 ? this.callId : `${this.callId}~${n}`,
        this.nestedCancellation,
        options,
      )
      const run: typeof child.run = (options) => {
        const work = child.run(options)
        this.hasStartedChildren = true
        const noteStatus = ({ status }: AgentStats): void => {
          this.hasSuspendedChild ||= status === 'suspended'
        }
        work.then(noteStatus, () => {})
        return work
      }
      return { ...child, run }
    }
  }
  get suspend(): ToolContext['suspend'] {
    return (reason) => {
      throw new Suspended(reason)
    }
  }

  /** Nested calls are numbered, so that a call that runs again gives them the same ids. Skips ids of the model's own calls. */
  #nestedId(): string {
    for (;;) {
      const id = `${this.callId}.${++this.#nested}`
      if (!this.#run.log.transcript.hasCall(id)) return id
    }
  }

  /** Waits for a part of this call. At the limit, `toCancel` is cancelled; by default that is this call. */
  async within<T>(limitMs: number, work: PromiseLike<T>, toCancel: Cancellable = this): Promise<T> {
    const timer = new CallTimer(this.#run.clock, this.cancellation)
    try {
      return (await timer.wait(work, limitMs, toCancel)) as T
    } finally {
      timer.close()
    }
  }

  /** Called by the call timer: at the time limit, when the run is cancelled, or when a sibling call failed. */
  cancel(reason: unknown): void {
    this.#cancelledWith = { reason }
    this.#cancellation?.cancel(reason)
  }

  /**
   * Called when the call is over. Progress is ignored from now on, and nested calls and child agents that still run are cancelled.
   * After this, the tool's signal does not fire any more.
   */
  close(): void {
    this.#isOver = true
    this.#nestedCancellation?.cancel(new Error(`${this.#callInfo.name} is over`))
    this.#cancellation?.release()
  }

  #throwIfOver(): void {
    if (this.#isOver || this.cancellation.isCancelled)
      throw new Error(`This call of ${this.#callInfo.name} has ended and can start no more calls or child agents`)
  }
}

/** The limit of `outputSoFar` in characters: as much as the shell shows of a command's output. */
const maxOutputSoFar = 33_000

function requireExecution<T>(part: T | undefined): T {
  if (part === undefined) throw new Error('This agent has no execution context; pass one as `execution`')
  return part
}

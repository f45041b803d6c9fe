import type { ResolvedBehavior } from './behavior.ts'
import { CallTimer } from './call-timer.ts'
import { Cancellation } from './cancellation.ts'
import type { ExecutionContext, ExecutionHandle } from './execution.ts'
import type { ToolHookContext } from './hook-map.ts'
import type { Interact } from './interaction.ts'
import type { Log } from './log.ts'
import type { Run } from './run.ts'
import type { Session } from './store.ts'
import type { ToolContext } from './tool.ts'
import type { CallResult } from './tool-call.ts'
import { copyJson, type ToolCallBlock } from './turn.ts'
import type { AgentStats } from './usage.ts'

/** Thrown through a tool to leave its call open and end the run. */
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

/** What a tool gets. */
export class CallContext implements ToolContext {
  readonly callId: string
  readonly turnId: string
  readonly idempotencyKey: string
  readonly attempt: number
  readonly #run: Run
  readonly #about: ToolHookContext
  readonly #callNested: CallNested
  /** It started some. */
  hasChildren = false
  /** One of them was suspended. */
  hasWaitingChild = false
  #readSoFar: (() => string) | undefined
  #lastProgress = ''
  /** Where this call runs, with its time limit. */
  readonly timer: CallTimer
  #stop: Cancellation | undefined
  #started: Cancellation | undefined
  #cancelled: { readonly reason: unknown } | undefined
  #nested = 0
  #forks = 0
  #isOver = false

  constructor(
    run: Run,
    about: ToolHookContext,
    lane: CallTimer,
    start: { key: string; attempt: number },
    callNested: CallNested,
  ) {
    this.#run = run
    this.#about = about
    this.#callNested = callNested
    this.timer = lane
    this.callId = about.callId
    this.turnId = about.turnId
    this.idempotencyKey = start.key
    this.attempt = start.attempt
  }

  get runId(): string {
    return this.#run.id
  }
  get signal(): AbortSignal {
    return this.cancellation.signal
  }
  /** Made when somebody asks: most calls end without ever looking. */
  get cancellation(): Cancellation {
    if (!this.#stop) {
      this.#stop = new Cancellation(this.#run.cancellation)
      if (this.#cancelled) this.#stop.cancel(this.#cancelled.reason)
    }
    return this.#stop
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
  /** For the calls and children that this call starts: they end with it. */
  get startedWork(): Cancellation {
    this.#started ??= new Cancellation(this.cancellation)
    return this.#started
  }
  get depth(): number {
    return this.#run.facts.depth
  }
  get session(): Session | undefined {
    return this.#run.session
  }
  get execution(): ExecutionContext {
    return given(this.#run.host.execution)
  }
  get handle(): ExecutionHandle {
    return given(this.#run.host.handle)
  }
  get interact(): Interact {
    const { session, cancellation } = this.#run
    const { interact } = this.#run.host
    const ask: Interact = async (request, signal) => {
      try {
        return await interact!(request, signal, { isDurable: session !== undefined })
      } catch (error) {
        // Whoever closes a question calls off what is going on.
        if (error instanceof Error && 'class' in error && error.class === 'Cancellation') cancellation.cancel(error)
        throw error
      }
    }
    return (interact && ask) as Interact
  }

  // Getters give functions that a tool may take out by destructuring, and cost nothing where it does not.
  get progress(): (text: string) => void {
    return (text) => {
      if (!this.#isOver) this.#lastProgress = String(text)
      if (this.#isOver || !this.#run.hooks.has('tool:progress')) return
      void this.#run.hooks.tell('tool:progress', { ...this.#about, text: String(text) })
    }
  }
  get ifInterrupted(): NonNullable<ToolContext['ifInterrupted']> {
    return (read) => {
      this.#readSoFar = read
    }
  }
  /** What is known of a call that was stopped: what its tool says of it, else its last progress. */
  get soFar(): string {
    try {
      return String(this.#readSoFar ? this.#readSoFar() : this.#lastProgress)
        .slice(-mostSoFar)
        .toWellFormed()
    } catch {
      return ''
    }
  }
  get call(): ToolContext['call'] {
    return async (name, input) => {
      this.#checkAlive()
      const id = this.#nestedId()
      const call: ToolCallBlock = { type: 'tool_call', id, name, input: copyJson({ ...input }) }
      const { output, isError, suspended } = await this.#callNested(this.#run, this.#about, call, this)
      if (suspended !== undefined) throw new Suspended(suspended)
      return { output, isError }
    }
  }
  get fork(): ToolContext['fork'] {
    return async (options) => {
      this.#checkAlive()
      const n = ++this.#forks
      const child = await this.#run.children.fork(
        n === 1 ? this.callId : `${this.callId}~${n}`,
        this.startedWork,
        options,
      )
      const run: typeof child.run = (options) => {
        const work = child.run(options)
        this.hasChildren = true
        const look = ({ status }: AgentStats): void => {
          this.hasWaitingChild ||= status === 'suspended'
        }
        work.then(look, () => {})
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

  /** Counted, so that a call which runs again gives its inner calls the same keys; never the name of a model's call. */
  #nestedId(): string {
    for (;;) {
      const id = `${this.callId}.${++this.#nested}`
      if (!this.#run.log.transcript.hasCall(id)) return id
    }
  }

  /** Part of this call under a time limit of its own; for calls that also have to wait for people. */
  async within<T>(limitMs: number, work: PromiseLike<T>): Promise<T> {
    const lane = new CallTimer(this.#run.clock, this.cancellation)
    try {
      return (await lane.wait(work, limitMs, this)) as T
    } finally {
      lane.close()
    }
  }

  /** Nobody waits for this call any more. */
  cancel(reason: unknown): void {
    this.#cancelled = { reason }
    this.#stop?.cancel(reason)
  }

  /** After the call has its result nobody listens to it, and what it started and left running is stopped. */
  close(): void {
    this.#isOver = true
    this.#started?.cancel(new Error(`${this.#about.name} is over`))
    this.#stop?.release()
  }

  #checkAlive(): void {
    if (this.#isOver || this.cancellation.isCancelled)
      throw new Error(`${this.#about.name} is over and can start nothing any more`)
  }
}

/** In characters: as much as the shell shows of a command's output. */
const mostSoFar = 33_000

function given<T>(part: T | undefined): T {
  if (part === undefined) throw new Error('This agent has no execution context; pass one as `execution`')
  return part
}

import type { AgentEvent } from '../events/events.ts'
import type { ZotFrame } from './frames.ts'
import type { RpcHost, RunOutcome } from './host.ts'
import { type Envelope, readModel, readPrompt } from './read-command.ts'
import { tooManyCommands, type Work, WorkQueue, type WorkState } from './work-queue.ts'
import { messagesOf } from './zot-content.ts'
import { ZotProjection } from './zot-projection.ts'

interface ZotSessionOptions {
  readonly host: RpcHost
  readonly write: (frame: ZotFrame) => void
  readonly now?: (() => number) | undefined
  readonly report?: ((problem: string) => void) | undefined
}

/** Executes the commands of one client. Short commands are answered at once, long ones run one after the other. */
export class ZotSession {
  readonly #host: RpcHost
  readonly #write: (frame: ZotFrame) => void
  readonly #report: (problem: string) => void
  readonly #projection: ZotProjection
  readonly #work = new WorkQueue()
  /** Asynchronous short commands keep their order, and later long commands wait for them. */
  #shorts: Promise<unknown> = Promise.resolve()
  #shortsWaiting = 0
  #clearsWaiting = 0
  #isStopped = false

  constructor({ host, write, now, report = () => {} }: ZotSessionOptions) {
    this.#host = host
    this.#write = write
    this.#report = report
    this.#projection = new ZotProjection({ toolName: host.toolName && ((name) => host.toolName!(name)), now })
  }

  handleEvent(event: AgentEvent): void {
    for (const frame of this.#projection.framesFor(event)) this.#write(frame)
  }

  malformed(why: string): void {
    this.#write({ type: 'response', command: '', success: false, error: `malformed json: ${why}` })
  }

  refuse({ type, id }: Envelope, error: string): void {
    this.#write({ type: 'response', command: type, success: false, ...(id !== undefined && { id }), error })
  }

  command(command: Envelope): void {
    const { version, provider } = this.#host
    switch (command.type) {
      case 'ping':
        this.#respond(command, { pong: true })
        break
      case 'abort':
        this.#respond(command)
        this.#abort()
        break
      case 'prompt':
        this.#prompt(command)
        break
      case 'compact':
        this.#queue(command, 0, (state) => this.#runCompact(state))
        break
      case 'clear':
        this.#clear(command)
        break
      case 'hello':
        this.#answer(command, () => ({ protocol_version: 1, version, provider, model: this.#host.model }))
        break
      case 'get_state':
        this.#answer(command, () => this.#state())
        break
      case 'get_messages':
        this.#answer(command, () => ({ messages: this.#messages() }))
        break
      case 'get_models':
        this.#answer(command, async () => ({ models: (await this.#host.models()).map(shownModel) }))
        break
      case 'set_model':
        this.#answer(command, () => this.#setModel(readModel(command.fields)))
        break
      default:
        this.refuse(command, 'unknown command')
    }
  }

  /** Aborts the current work and drops the queue. */
  stop(): void {
    this.#isStopped = true
    this.#work.clear()
    this.#abort()
  }

  /** Resolves when all commands are done. */
  async idle(): Promise<void> {
    if (!this.#isStopped) await this.#shorts
    await this.#work.idle()
  }

  #respond({ type, id }: Envelope, data?: object): void {
    const more = { ...(id !== undefined && { id }), ...(data && { data }) }
    this.#write({ type: 'response', command: type, success: true, ...more })
  }

  #answer(command: Envelope, task: () => object | Promise<object>): void {
    if (this.#shortsWaiting >= mostShorts) {
      this.refuse(command, tooManyCommands)
      return
    }
    this.#shortsWaiting++
    this.#shorts = this.#shorts.then(async () => {
      try {
        this.#respond(command, await task())
      } catch (error) {
        this.refuse(command, messageOf(error))
      }
      this.#shortsWaiting--
    })
  }

  #queue(command: Envelope, size: number, run: Work['run']): void {
    const start: Work['run'] = (state) => {
      this.#respond(command, { started: true })
      return run(state)
    }
    const isTaken = this.#work.add({ size, after: this.#shorts, run: start })
    if (!isTaken) this.refuse(command, tooManyCommands)
  }

  #prompt(command: Envelope): void {
    let prompt: ReturnType<typeof readPrompt>
    try {
      prompt = readPrompt(command.fields)
    } catch (error) {
      this.refuse(command, messageOf(error))
      return
    }
    const { message, images } = prompt
    const size = images.reduce((sum, { data }) => sum + data.length, message.length)
    this.#queue(command, size, async (state) => {
      const outcome = await this.#outcomeOf(state, async () => this.#host.prompt(message, images))
      for (const frame of this.#projection.end(outcome)) this.#write(frame)
    })
  }

  /** A prompt that was aborted before it began does not reach the agent. */
  async #outcomeOf(state: WorkState, prompt: () => Promise<RunOutcome>): Promise<RunOutcome> {
    if (state.isAborted) return { status: 'aborted', stopReason: 'aborted' }
    try {
      return await prompt()
    } catch (error) {
      const status = state.isAborted ? 'aborted' : 'error'
      return { status, stopReason: status, error: messageOf(error) }
    }
  }

  /** Unlike zot, sends `done` after a failure or an abort, so that a client sees the end. */
  async #runCompact(state: WorkState): Promise<void> {
    try {
      if (state.isAborted) throw new Error('aborted')
      this.#write({ type: 'compact_done', summary: await this.#host.compact() })
    } catch (error) {
      if (!state.isAborted) this.#write({ type: 'error', message: messageOf(error) })
      this.#write({ type: 'done' })
    }
  }

  #abort(): void {
    if (this.#work.abort()) this.#host.abort()
  }

  /** During a run the conversation is cleared after the run; for the client it is empty at once. */
  #clear(command: Envelope): void {
    const waits = !this.#work.isIdle
    const cleared = Promise.withResolvers<void>()
    const run = async (): Promise<void> => {
      const problem = await this.#problemOf(() => this.#host.clear())
      this.#clearsWaiting--
      if (waits && problem !== undefined) this.#report(`The conversation could not be cleared: ${problem}`)
      if (!waits && problem !== undefined) this.refuse(command, problem)
      if (!waits && problem === undefined) this.#respond(command)
      cleared.resolve()
    }
    const isTaken = this.#work.addNext({ size: 0, isInternal: true, run, ...(!waits && { after: this.#shorts }) })
    if (!isTaken) {
      this.refuse(command, tooManyCommands)
      return
    }
    this.#clearsWaiting++
    if (waits) this.#respond(command)
    else this.#shorts = this.#shorts.then(() => cleared.promise)
  }

  async #problemOf(task: () => Promise<void>): Promise<string | undefined> {
    try {
      await task()
      return undefined
    } catch (error) {
      return messageOf(error)
    }
  }

  #messages(): object[] {
    return this.#clearsWaiting > 0 ? [] : messagesOf(this.#host.messages(), this.#projection.nameOf)
  }

  #state(): object {
    const { provider, model, cwd } = this.#host
    const { usage } = this.#projection
    return { provider, model, cwd, message_count: this.#messages().length, busy: this.#work.isBusy, usage }
  }

  async #setModel(model: string): Promise<object> {
    try {
      await this.#host.setModel(model)
    } catch {
      throw new Error(`unknown model "${model}" (provider="${this.#host.provider}")`)
    }
    return { model }
  }
}

const mostShorts = 1000

function shownModel(model: Awaited<ReturnType<RpcHost['models']>>[number]): object {
  const { id, provider, contextWindow, maxOutput, reasoning } = model
  return { id, provider, context_window: contextWindow, max_output: maxOutput, reasoning }
}

const messageOf = (error: unknown): string => (error instanceof Error && error.message) || String(error)

import { show } from '../../core/behavior.ts'
import type { Clock } from '../../core/clock.ts'
import {
  type AgentInstanceLatestStatus,
  type AgentInstanceMessage,
  agentStates,
  isAgentState,
} from '../../plugins/message.ts'

export interface HandlerRunOptions {
  readonly agentId: string
  readonly stop: AbortSignal
  readonly clock: Clock
}

/** How long a handler that was cancelled may take to end, not counting what the engine needs. */
const handlerGraceMs = 5_000

/** A handler at work. One that does not heed that it was cancelled is left to itself: nobody waits for it for ever. */
export class HandlerRun {
  readonly #options: HandlerRunOptions
  #executing = 0
  isGivenUp = false
  /** The engine got words, which stand for what was said. */
  hasSpoken = false
  /** What the engine said last, which is in the log. */
  #heard: AgentInstanceMessage | undefined

  constructor(options: HandlerRunOptions) {
    this.#options = options
  }

  get signal(): AbortSignal {
    return this.#options.stop
  }

  get isCancelled(): boolean {
    return this.#options.stop.aborted
  }

  /** The last status that it gives. */
  async follow(statuses: AsyncIterable<AgentInstanceLatestStatus>): Promise<AgentInstanceLatestStatus | undefined> {
    const { stop, clock, agentId } = this.#options
    if (!isFollowable(statuses)) {
      Promise.resolve(statuses).catch(() => {}) // nobody else hears of it
      throw new TypeError(noGenerator(agentId, statuses))
    }
    let callOff = (): void => {}
    let giveUp = (): void => {}
    const givenUp = new Promise<undefined>((resolve) => {
      giveUp = () => {
        this.isGivenUp = true
        resolve(undefined)
      }
    })
    const wait = (): void => {
      callOff = clock.timer(handlerGraceMs, () => (this.#executing > 0 ? wait() : giveUp()))
    }
    if (stop.aborted) wait()
    else stop.addEventListener('abort', wait, { once: true })
    try {
      const last = this.#lastOf(statuses)
      last.catch(() => {}) // it may fail long after nobody waits for it
      return await Promise.race([last, givenUp])
    } finally {
      stop.removeEventListener('abort', wait)
      callOff()
    }
  }

  async #lastOf(statuses: AsyncIterable<AgentInstanceLatestStatus>): Promise<AgentInstanceLatestStatus | undefined> {
    let last: AgentInstanceLatestStatus | undefined
    for await (const status of statuses) {
      if (!isAgentState(status?.state)) throw new TypeError(wrongState(this.#options.agentId, status?.state))
      last = status
      if (this.isGivenUp) break
    }
    return last
  }

  /** The engine's part: it ends by itself, and is waited for. */
  async *during(
    statuses: AsyncIterable<AgentInstanceLatestStatus>,
    { isSpeaking }: { readonly isSpeaking: boolean },
  ): AsyncGenerator<AgentInstanceLatestStatus> {
    if (this.isGivenUp)
      throw new Error(`agent ${this.#options.agentId} was cancelled, and its handler did not end; it cannot go on now`)
    const steps = statuses[Symbol.asyncIterator]()
    try {
      for (let step = await this.#count(steps.next()); !step.done; step = await this.#count(steps.next())) {
        this.#heard = step.value.message
        this.hasSpoken ||= isSpeaking
        yield step.value
      }
    } finally {
      await this.#count(Promise.resolve(steps.return?.()))
    }
  }

  /** Whether a handler says so by itself, and does not only pass on what the engine said. */
  isOwn({ id, content }: AgentInstanceMessage): boolean {
    return this.#heard?.id !== id || this.#heard.content !== content
  }

  /** Only while somebody waits for the engine: a handler may ask for a status and then do something else for ever. */
  async #count<Step>(step: Promise<Step>): Promise<Step> {
    this.#executing++
    try {
      return await step
    } finally {
      this.#executing--
    }
  }
}

/** What is not written in TypeScript may give anything. */
function isFollowable(given: unknown): boolean {
  if (typeof given !== 'object' || given === null) return false
  return Symbol.asyncIterator in given || Symbol.iterator in given
}

const noGenerator = (agentId: string, given: unknown): string =>
  `the handler of agent ${agentId} gave ${given instanceof Promise ? 'a promise' : show(given)}; a handler is an async function* that yields { state, modified, message? }, or returns what execute() gives`

const wrongState = (agentId: string, state: unknown): string =>
  `the handler of agent ${agentId} yielded the state ${show(state)}; yield { state, modified, message? } with one of ${agentStates.join(', ')}`

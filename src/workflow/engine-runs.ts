import { AgentAbortedError, messageOf, SessionBusyError } from '../core/errors.ts'
import type { Session } from '../core/store.ts'
import type { PromptPart } from '../core/turn.ts'
import type { LogViews } from '../plugins/log-views.ts'
import type { AgentInstanceLatestStatus, AgentInstanceMessage } from '../plugins/message.ts'
import { partialEntry } from '../plugins/partial-note.ts'
import { yieldOwner } from '../plugins/yield-note.ts'
import type { AgentMakings, Engine } from './agent-parts.ts'
import type { OneWriter } from './one-writer.ts'
import { StatusQueue } from './status-queue.ts'
import { StreamedMessage } from './streamed-message.ts'
import { said } from './unheard.ts'
import { unsavedMessages } from './unsaved-messages.ts'
import type { Updates } from './updates.ts'

export interface EngineRunsOptions {
  readonly agentId: string
  readonly session: Session
  readonly views: LogViews
  readonly makings: AgentMakings
  readonly writer: OneWriter
  readonly engine: () => Promise<Engine>
  readonly updates: Updates
}

/** What is said to an agent, under a key of its own; nothing where it goes on by itself. */
export interface Said {
  readonly prompt?: readonly PromptPart[]
  readonly clientKey?: string
}

/** Runs of the engine as a handler follows them, with every way in which one may fail to begin or to be written. */
export class EngineRuns {
  readonly #options: EngineRunsOptions
  readonly #streamed: StreamedMessage
  #queue: StatusQueue | undefined
  /** The run under way is in the log, which will say how it ends. */
  #hasBegun = false
  /** What went wrong where the log could not say so. */
  unwritten: AgentInstanceLatestStatus | undefined
  /** Another process is at work on the agent, as far as we know. */
  isElsewhere = false

  constructor(options: EngineRunsOptions) {
    this.#options = options
    const { agentId, makings } = options
    this.#streamed = new StreamedMessage({ agentId, clock: makings.clock, show: (message) => this.show(message) })
  }

  /** What the log says counts again. */
  forget(): void {
    this.unwritten = undefined
    this.isElsewhere = false
  }

  /** Listens to an engine that was just made. */
  attach({ agent: { hooks } }: Engine): void {
    const { messages } = this.#options.views
    hooks.hook('session:start', () => {
      this.#hasBegun = true
    })
    hooks.hook('stream:text', ({ turnId, text }) => this.#streamed.update(turnId, text, messages.rounds))
    hooks.hook('turn:after', ({ message }) => {
      if (message) this.#streamed.end()
    })
  }

  async *execute(
    prompt: string | readonly PromptPart[] | undefined,
    { clientKey, signal }: { readonly clientKey: string | undefined; readonly signal: AbortSignal },
  ): AsyncGenerator<AgentInstanceLatestStatus> {
    const { engine, makings } = this.#options
    const { agent } = await engine()
    const queue = new StatusQueue()
    this.#queue = queue
    this.#hasBegun = false
    // What was cancelled before it began is written down all the same: nothing that was said is lost.
    const run = agent.run({
      signal,
      ...(prompt !== undefined && { prompt }),
      ...(clientKey !== undefined && { clientKey }),
    })
    run.then(
      () => queue.close(),
      () => queue.close(),
    )
    yield { state: 'working', modified: makings.clock.now() }
    try {
      yield* queue
    } finally {
      this.#queue = undefined
      await run.catch((error) => this.#failed(error, prompt, clientKey))
      await this.#keepPartial()
    }
    yield this.status
  }

  get status(): AgentInstanceLatestStatus {
    return this.unwritten ?? this.#options.views.messages.status
  }

  show(message: AgentInstanceMessage): void {
    const { updates, agentId } = this.#options
    updates.emit({ type: 'message', agentId, message })
    if (message.role === 'assistant') this.#queue?.push({ state: 'working', modified: message.modified ?? 0, message })
  }

  /** The log knows how most runs ended. Where it could not be written, whoever looks is told all the same. */
  async #failed(
    error: unknown,
    prompt: string | readonly PromptPart[] | undefined,
    clientKey: string | undefined,
  ): Promise<void> {
    const { makings, updates, agentId, session, views } = this.#options
    const words: readonly PromptPart[] | undefined =
      typeof prompt === 'string' ? [{ type: 'text', text: prompt }] : prompt
    const start: Said = { ...(words && { prompt: words }), clientKey: clientKey ?? makings.newId() }
    if (error instanceof SessionBusyError) return this.#leaveElsewhere(start)
    const { rounds, status } = views.messages
    if (this.#hasBegun && !session.log.isBroken && status.state !== 'working') return
    if (error instanceof AgentAbortedError && !this.#hasBegun) return this.cancelUnheard(start)
    const { user, failure } = unsavedMessages(makings, { agentId, error, round: rounds, ...start })
    if (user) this.show(user)
    this.show(failure)
    this.unwritten = { state: 'failed', modified: failure.modified!, message: failure }
    updates.emit({ type: 'status', agentId, status: this.unwritten })
  }

  /** Another process works on this agent: it gets what was said, and says what becomes of it. */
  async #leaveElsewhere({ prompt: content = [], clientKey }: Said): Promise<void> {
    const { session, makings } = this.#options
    if (content.length > 0) await session.send({ mode: 'steer', clientKey: clientKey!, content })
    this.unwritten = { state: 'submitted', modified: makings.clock.now() }
    this.isElsewhere = true
  }

  /** Nothing had been done about it when it was cancelled: it is written down, and that it was cancelled. */
  async cancelUnheard({ prompt, clientKey = '' }: Said): Promise<void> {
    const { session, writer, makings } = this.#options
    const isKnown = !prompt || session.log.transcript.hasClientKey(clientKey)
    const turn = { id: makings.newId(), createdAt: makings.clock.now() }
    const entries = isKnown ? [] : [said(prompt, clientKey, turn)]
    await writer.note(...entries, { type: 'state', owner: yieldOwner, value: 'canceled' })
  }

  /** What had been streamed of an answer that did not become one stays to be seen. */
  async #keepPartial(): Promise<void> {
    const { views, writer, makings } = this.#options
    const partial = this.#streamed.end()
    if (!partial || views.messages.get(partial.id)) return
    await writer.note(partialEntry({ id: partial.id, text: partial.content })).catch((error) => {
      this.show({ ...partial, metadata: { ...partial.metadata, isComplete: true } })
      makings.onError(error instanceof Error ? error : new Error(messageOf(error)))
    })
  }
}

import { AgentAbortedError, SessionBusyError } from '../../core/errors.ts'
import type { EntryBody, LogEntry } from '../../core/log.ts'
import type { Session } from '../../core/store.ts'
import type { PromptPart } from '../../core/turn.ts'
import type { LogViews } from '../../plugins/log-views.ts'
import type { AgentInstanceLatestStatus, AgentInstanceMessage } from '../../plugins/message.ts'
import { yieldEntry } from '../../plugins/yield-note.ts'
import type { OneWriter } from '../agent/one-writer.ts'
import type { Updates } from '../updates.ts'
import type { Engine } from './make-engine.ts'
import { type Said, saidEntry } from './said.ts'
import { StatusQueue } from './status-queue.ts'
import { StreamedMessage } from './streamed-message.ts'
import { unsavedMessages } from './unsaved-messages.ts'
import { UnsavedResults } from './unsaved-results.ts'
import type { WorkflowDependencies } from './workflow-dependencies.ts'

type Unset<T> = { readonly [Field in keyof T]: T[Field] | undefined }

export interface EngineRunsOptions {
  readonly agentId: string
  readonly session: Session
  readonly views: LogViews
  readonly makings: WorkflowDependencies
  readonly writer: OneWriter
  readonly engine: () => Promise<Engine>
  readonly updates: Updates
}

/** Runs of the engine as a handler follows them, with every way in which one may fail to begin or to be written. */
export class EngineRuns {
  readonly #options: EngineRunsOptions
  readonly #streamed: StreamedMessage
  readonly #results = new UnsavedResults()
  /** Under which keys people were shown what they said, though the log did not have it. */
  readonly #shownUnsaved = new Set<string>()
  #queue: StatusQueue | undefined
  /** The run under way is in the log, which will say how it ends. */
  #hasBegun = false
  /** What went wrong where the log could not say so. */
  #unwritten: AgentInstanceLatestStatus | undefined
  /** Another process is at work on the agent, as far as we know. */
  isElsewhere = false

  constructor(options: EngineRunsOptions) {
    this.#options = options
    const { agentId, makings } = options
    this.#streamed = new StreamedMessage({ agentId, clock: makings.clock, show: (message) => this.show(message) })
  }

  /** What the log says counts again. */
  forget(): void {
    this.#unwritten = undefined
    this.isElsewhere = false
  }

  /** Listens to an engine that was just made. */
  attach(engine: Engine): void {
    const { hooks } = engine.agent
    this.#results.attach(engine)
    const { messages } = this.#options.views
    hooks.hook('session:start', () => {
      this.#hasBegun = true
    })
    hooks.hook('stream:text', ({ turnId, text }) => this.#streamed.update(turnId, text, messages.rounds))
    hooks.hook('turn:after', ({ message, interrupted }) => {
      if (message || interrupted) this.#streamed.end()
    })
  }

  async *execute(
    prompt: string | readonly PromptPart[] | undefined,
    { clientKey, meta, signal }: Pick<Unset<Said>, 'clientKey' | 'meta'> & { readonly signal: AbortSignal },
  ): AsyncGenerator<AgentInstanceLatestStatus> {
    const { engine, makings } = this.#options
    const { agent } = await engine()
    const { thinking } = makings.options
    const queue = new StatusQueue()
    this.#queue = queue
    this.#hasBegun = false
    // What was cancelled before it began is written down all the same: nothing that was said is lost.
    const run = agent.run({
      signal,
      ...(thinking && { thinking }),
      ...(prompt !== undefined && { prompt }),
      ...(clientKey !== undefined && { clientKey }),
      ...(meta && { meta }),
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
      await run.catch((error) => this.#failed(error, prompt, { clientKey, meta }))
      this.#showUnkept()
    }
    yield this.status
  }

  /** What became of the last run cannot be written down here; of one that never began it can. */
  get isUnwritten(): boolean {
    const isLost = this.isElsewhere || this.#hasBegun || this.#options.session.log.isBroken
    return this.#unwritten !== undefined && isLost
  }

  get status(): AgentInstanceLatestStatus {
    return this.#unwritten ?? this.#options.views.messages.status
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
    { clientKey, meta }: Pick<Unset<Said>, 'clientKey' | 'meta'>,
  ): Promise<void> {
    const { makings, session, views } = this.#options
    const words: readonly PromptPart[] | undefined =
      typeof prompt === 'string' ? [{ type: 'text', text: prompt }] : prompt
    const about = { clientKey: clientKey ?? makings.newId(), ...(meta && { meta }) }
    const start: Said = { ...(words && { prompt: words }), ...about }
    if (error instanceof SessionBusyError) return this.#leaveElsewhere(start)
    const { status } = views.messages
    if (this.#hasBegun && !session.log.isBroken && status.state !== 'working') return
    if (error instanceof AgentAbortedError && !this.#hasBegun) return this.#cancelUnheard(start)
    this.#showUnsaved(error, this.#hasBegun ? {} : start) // with its beginning the log has what was said
  }

  /** Where the log cannot be written, people see what it would have said. */
  #showUnsaved(error: unknown, start: Said): void {
    const { makings, updates, agentId, views } = this.#options
    const { user, failure } = unsavedMessages(makings, { agentId, error, round: views.messages.rounds, ...start })
    if (user) {
      this.#shownUnsaved.add(user.id)
      this.show(user)
    }
    for (const result of this.#results.take({ agentId, clock: makings.clock }, views.messages)) this.show(result)
    this.show(failure)
    this.#unwritten = { state: 'failed', modified: failure.modified!, message: failure }
    updates.emit({ type: 'status', agentId, status: this.#unwritten })
  }

  /** Before the log shows what was said under a key: it takes the place of what was shown without it. */
  takeBackUnsaved(entry: LogEntry): void {
    const { updates, agentId } = this.#options
    const { clientKey } = entry.type === 'turn' || entry.type === 'input' ? entry : {}
    if (clientKey !== undefined && this.#shownUnsaved.delete(clientKey))
      updates.emit({ type: 'removed', agentId, messageIds: [clientKey] })
  }

  /** Adds to the log when a handler has ended. What of it was said to the agent is shown where that fails. */
  async write(entries: readonly EntryBody[], start: Said): Promise<void> {
    try {
      await this.#options.writer.note(...entries)
      this.forget()
    } catch (error) {
      if (error instanceof SessionBusyError) await this.#leaveElsewhere(start)
      else if (!this.#unwritten) this.#showUnsaved(error, start)
    }
  }

  /** Another process works on this agent: it gets what was said, and says what becomes of it. */
  async #leaveElsewhere({ prompt: content = [], clientKey, meta }: Said): Promise<void> {
    const { session, makings } = this.#options
    const sender = meta && { meta }
    if (content.length > 0) await session.send({ mode: 'steer', clientKey: clientKey!, content, ...sender })
    this.#unwritten = { state: 'submitted', modified: makings.clock.now() }
    this.isElsewhere = true
  }

  /** Nothing had been done about it when it was cancelled: it is written down, and that it was cancelled. */
  async #cancelUnheard({ prompt, clientKey = '', ...more }: Said): Promise<void> {
    const { session, writer, makings } = this.#options
    const isKnown = !prompt || session.log.transcript.hasClientKey(clientKey)
    const words = isKnown ? [] : [saidEntry(prompt, makings, { clientKey, ...more })]
    await writer.note(...words, yieldEntry('canceled'))
  }

  /** What had been streamed of an answer stays to be seen, also where the log could not take it. */
  #showUnkept(): void {
    const partial = this.#streamed.end()
    if (!partial || this.#options.views.messages.get(partial.id)) return
    this.show({ ...partial, metadata: { ...partial.metadata, isComplete: true } })
  }
}

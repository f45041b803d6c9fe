import { AgentAbortedError, SessionBusyError } from '../../core/errors.ts'
import type { EntryBody, LogEntry } from '../../core/log.ts'
import type { Meta } from '../../core/meta.ts'
import type { Session } from '../../core/store.ts'
import type { PromptPart, SessionTurn } from '../../core/turn.ts'
import type { LogViews } from '../../plugins/log-views.ts'
import type { AgentInstanceLatestStatus, AgentInstanceMessage } from '../../plugins/message.ts'
import { type TokenBreakdown, tokenBreakdown, withReported } from '../../plugins/tokens/token-breakdown.ts'
import { yieldEntry } from '../../plugins/yield-note.ts'
import type { Updates } from '../listeners.ts'
import type { WorkflowDependencies } from '../workflow-contract.ts'
import type { Engine } from './engine.ts'
import type { SerialWriter } from './serial-writer.ts'
import { StreamedMessage, UnsavedResults, unsavedMessages } from './unsaved-messages.ts'

/** A message to an agent; empty if the agent continues by itself. */
export interface AgentInput {
  readonly prompt?: readonly PromptPart[]
  readonly clientKey?: string
  /** The sender, a trace, a reply address. */
  readonly meta?: Meta
}

type InputLabels = { readonly [Field in 'clientKey' | 'meta']: AgentInput[Field] | undefined }

interface EngineRunsOptions {
  readonly agentId: string
  readonly session: Session
  readonly views: LogViews
  readonly dependencies: WorkflowDependencies
  readonly writer: SerialWriter
  readonly engine: () => Promise<Engine>
  readonly updates: Updates
}

/** Runs of the engine as a handler follows them, with every way in which a run may fail to begin or to be logged. */
export class EngineRuns {
  /** What the tokens of the last request in this process were used for. */
  tokens: TokenBreakdown | undefined
  /** Another process is running the agent, as far as this process knows. */
  isRunningElsewhere = false
  readonly #options: EngineRunsOptions
  readonly #streamed: StreamedMessage
  readonly #results = new UnsavedResults()
  /** The keys of messages that were shown although the log did not have them. */
  readonly #shownUnsaved = new Set<string>()
  #queue: StatusQueue | undefined
  /** The log has the beginning of the current run, and will have its end. */
  #hasBegun = false
  /** The status of a failure that the log could not record. */
  #unsavedStatus: AgentInstanceLatestStatus | undefined

  constructor(options: EngineRunsOptions) {
    this.#options = options
    const { agentId, dependencies } = options
    this.#streamed = new StreamedMessage({
      ...{ agentId, clock: dependencies.clock },
      show: (message) => this.emitMessage(message),
    })
  }

  get status(): AgentInstanceLatestStatus {
    return this.#unsavedStatus ?? this.#options.views.messages.status
  }

  /** The status is the one of the log again. */
  useLoggedStatus(): void {
    this.#unsavedStatus = undefined
    this.isRunningElsewhere = false
  }

  /** Subscribes to a new engine. */
  attach(engine: Engine): void {
    const { hooks } = engine.agent
    const { messages } = this.#options.views
    this.#results.attach(engine)
    hooks.hook('session:start', () => {
      this.#hasBegun = true
    })
    hooks.hook('turn:before', async ({ options }) => {
      this.tokens = tokenBreakdown(options, await engine.contextWindow(options.model))
    })
    hooks.hook('stream:text', ({ turnId, text }) => this.#streamed.update(turnId, text, messages.rounds))
    hooks.hook('turn:after', ({ message, interrupted, usage }) => {
      if (message || interrupted) this.#streamed.end()
      if (this.tokens) this.tokens = withReported(this.tokens, usage)
    })
  }

  async *execute(
    prompt: string | readonly PromptPart[] | undefined,
    { clientKey, meta, signal }: InputLabels & { readonly signal: AbortSignal },
  ): AsyncGenerator<AgentInstanceLatestStatus> {
    const { engine, dependencies } = this.#options
    const { agent } = await engine()
    const { thinking } = dependencies.options
    const queue = new StatusQueue()
    this.#queue = queue
    this.#hasBegun = false
    // A prompt that was cancelled before its run began is logged all the same: no message is lost.
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
    yield { state: 'working', modified: dependencies.clock.now() }
    try {
      yield* queue
    } finally {
      this.#queue = undefined
      await run.catch((error) => this.#handleFailure(error, prompt, { clientKey, meta }))
      this.#emitUnloggedAnswer()
    }
    yield this.status
  }

  /** The outcome of the last run cannot be logged here; that of a run that never began can. */
  get isUnsaved(): boolean {
    const isUnknown = this.isRunningElsewhere || this.#hasBegun || this.#options.session.log.isBroken
    return this.#unsavedStatus !== undefined && isUnknown
  }

  /** The last run failed, and only this object knows. */
  get hasUnsavedFailure(): boolean {
    return this.#unsavedStatus !== undefined && !this.isRunningElsewhere
  }

  emitMessage(message: AgentInstanceMessage): void {
    const { updates, agentId } = this.#options
    updates.emit({ type: 'message', agentId, message })
    if (message.role === 'assistant') this.#queue?.push({ state: 'working', modified: message.modified ?? 0, message })
  }

  /** The log has the outcome of most runs. If it could not be written, listeners receive the failure all the same. */
  async #handleFailure(
    error: unknown,
    prompt: string | readonly PromptPart[] | undefined,
    { clientKey, meta }: InputLabels,
  ): Promise<void> {
    const { dependencies, session, views } = this.#options
    const parts: readonly PromptPart[] | undefined =
      typeof prompt === 'string' ? [{ type: 'text', text: prompt }] : prompt
    const labels = { clientKey: clientKey ?? dependencies.newId(), ...(meta && { meta }) }
    const input: AgentInput = { ...(parts && { prompt: parts }), ...labels }
    if (error instanceof SessionBusyError) return this.#sendElsewhere(input)
    const { status } = views.messages
    if (this.#hasBegun && !session.log.isBroken && status.state !== 'working') return
    if (error instanceof AgentAbortedError && !this.#hasBegun) return this.#logCancelled(input)
    this.#emitUnsaved(error, this.#hasBegun ? {} : input) // the beginning of a run contains its prompt
  }

  /** Emits the messages that the log would have had. */
  #emitUnsaved(error: unknown, input: AgentInput): void {
    const { dependencies, updates, agentId, views } = this.#options
    const { user, failure } = unsavedMessages(dependencies, { agentId, error, round: views.messages.rounds, ...input })
    if (user) {
      this.#shownUnsaved.add(user.id)
      this.emitMessage(user)
    }
    for (const result of this.#results.take({ agentId, clock: dependencies.clock }, views.messages))
      this.emitMessage(result)
    this.emitMessage(failure)
    this.#unsavedStatus = { state: 'failed', modified: failure.modified!, message: failure }
    updates.emit({ type: 'status', agentId, status: this.#unsavedStatus })
  }

  /** Removes a message that was shown unsaved, before the log shows the saved one. */
  retractUnsaved(entry: LogEntry): void {
    const { updates, agentId } = this.#options
    const { clientKey } = entry.type === 'turn' || entry.type === 'input' ? entry : {}
    if (clientKey !== undefined && this.#shownUnsaved.delete(clientKey))
      updates.emit({ type: 'removed', agentId, messageIds: [clientKey] })
  }

  /** Appends the entries of a handler that has ended. If that fails, the message among them is shown all the same. */
  async write(entries: readonly EntryBody[], input: AgentInput): Promise<void> {
    try {
      await this.#options.writer.append(...entries)
      this.useLoggedStatus()
    } catch (error) {
      if (error instanceof SessionBusyError) await this.#sendElsewhere(input)
      else if (!this.#unsavedStatus) this.#emitUnsaved(error, input)
    }
  }

  /** Another process is running this agent: it receives the message and logs the outcome. */
  async #sendElsewhere({ prompt: content = [], clientKey, meta }: AgentInput): Promise<void> {
    const { session, dependencies } = this.#options
    if (content.length > 0) await session.send({ mode: 'steer', clientKey: clientKey!, content, ...(meta && { meta }) })
    this.#unsavedStatus = { state: 'submitted', modified: dependencies.clock.now() }
    this.isRunningElsewhere = true
  }

  /** The run was cancelled before it began: the log gets its message and the cancellation. */
  async #logCancelled({ prompt, clientKey = '', ...more }: AgentInput): Promise<void> {
    const { session, writer, dependencies } = this.#options
    const isLogged = !prompt || session.log.transcript.hasClientKey(clientKey)
    const turns = isLogged ? [] : [userTurnEntry(prompt, dependencies, { clientKey, ...more })]
    await writer.append(...turns, yieldEntry('canceled'))
  }

  /** The streamed part of an answer stays visible even if the log could not take it. */
  #emitUnloggedAnswer(): void {
    const partial = this.#streamed.end()
    if (!partial || this.#options.views.messages.get(partial.id)) return
    this.emitMessage({ ...partial, metadata: { ...partial.metadata, isComplete: true } })
  }
}

/** A message as an entry of the log, outside of a run. */
export function userTurnEntry(
  content: SessionTurn['content'],
  { clock, newId }: Pick<WorkflowDependencies, 'clock' | 'newId'>,
  { clientKey, meta }: Omit<AgentInput, 'prompt'> = {},
): Extract<EntryBody, { type: 'turn' }> {
  const sender = meta && { meta }
  const turn: SessionTurn = { id: newId(), runId: '', role: 'user', content, createdAt: clock.now(), ...sender }
  return { type: 'turn', turn, ...(clientKey !== undefined && { clientKey }) }
}

/** Passes states from a run to its reader. Only the latest waits: a slow reader skips states. */
class StatusQueue {
  #latest: AgentInstanceLatestStatus | undefined
  #isClosed = false
  #wake: (() => void) | undefined

  push(status: AgentInstanceLatestStatus): void {
    this.#latest = status
    this.#wake?.()
  }

  close(): void {
    this.#isClosed = true
    this.#wake?.()
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<AgentInstanceLatestStatus> {
    for (;;) {
      const status = this.#latest
      this.#latest = undefined
      if (status) yield status
      else if (this.#isClosed) return
      else
        await new Promise<void>((wake) => {
          this.#wake = wake
        })
    }
  }
}

import type { Meta } from '../../core/meta.ts'
import { parsePrompt } from '../../core/run-options.ts'
import type { Session, SessionStore } from '../../core/store.ts'
import type { PromptPart } from '../../core/turn.ts'
import type { AgentInstanceLatestStatus } from '../../plugins/message.ts'
import type { PromptState } from '../../plugins/prompts/prompt.ts'
import { loadSession } from '../../sessions/session.ts'
import type { FileHistory } from '../../snapshots/file-history.ts'
import { agentLease } from '../agent-instance.ts'
import type { AgentInstance } from '../definitions/definition.ts'
import { EventListeners, type Updates } from '../listeners.ts'
import { AgentRollback } from '../rollback/agent-rollback.ts'
import { MessageFiles } from '../rollback/message-files.ts'
import type { AgentHandler, WorkflowDependencies } from '../workflow-contract.ts'
import { AgentLog, type AgentLogOptions } from './agent-log.ts'
import { type Engine, LazyEngine, makeEngine } from './engine.ts'
import { type AgentInput, EngineRuns } from './engine-runs.ts'
import { handlerOf, runHandler } from './handler-run.ts'
import { hasStoredMessage, hasWork } from './has-work.ts'
import { PendingCalls } from './pending-calls.ts'
import { previewPrompt } from './prompt-preview.ts'
import { SerialWriter } from './serial-writer.ts'
import { UndeliveredMessages } from './undelivered-messages.ts'

export interface LiveAgentOptions extends Pick<AgentLogOptions, 'tells'> {
  readonly instance: AgentInstance
  readonly session: Session
  /** The store that holds the session. */
  readonly store: SessionStore
  readonly dependencies: WorkflowDependencies
  readonly handlers: Readonly<Record<string, AgentHandler>>
  readonly updates: Updates
  /** Absent without the option `snapshots`. */
  readonly files: FileHistory | undefined
}

/** One agent in this process: its session, the state that its log describes, and its engine while it is needed. */
export class LiveAgent {
  readonly id: string
  readonly session: Session
  readonly store: SessionStore
  readonly dependencies: WorkflowDependencies
  readonly log: AgentLog
  readonly writer: SerialWriter
  readonly undelivered: UndeliveredMessages
  readonly runs: EngineRuns
  readonly engine = new LazyEngine(() => this.#makeEngine())
  readonly pending: PendingCalls
  readonly rollback: AgentRollback
  readonly events: EventListeners
  /** The work of the handler under way. */
  running: Promise<AgentInstanceLatestStatus> | undefined
  readonly #handlers: LiveAgentOptions['handlers']
  readonly #files: MessageFiles
  #stop = new AbortController()
  /** The run was stopped through its log, and not by this process. */
  #isStoppedByLog = false
  /** The engine has earlier settings than the agent. */
  #isEngineOutdated = false
  /** What the handler works on. */
  #input: AgentInput = {}

  constructor({ instance, session, store, dependencies, handlers, updates, files, tells }: LiveAgentOptions) {
    const { clock, onError } = dependencies
    this.id = instance.id
    this.session = session
    this.store = store
    this.dependencies = dependencies
    this.#handlers = handlers
    this.writer = new SerialWriter(session, clock)
    this.events = new EventListeners(onError)
    this.undelivered = new UndeliveredMessages({ session, writer: this.writer, dependencies })
    this.log = new AgentLog({
      ...{ instance, dependencies, updates, tells },
      onEntry: (entry) => {
        this.undelivered.apply(entry)
        this.runs.retractUnsaved(entry)
        this.events.emitEntry(entry)
      },
      onMessage: (message) => this.runs.emitMessage(message),
      onClosed: (reason) => this.#stop.abort(new Error(reason)), // another process closed it during a run of ours
      onChanged: () => {
        this.#isEngineOutdated = true
        // The run that is beginning may have the engine already, and would be cancelled with it.
        if (this.running) void this.#updateRules()
        else void this.#releaseOutdatedEngine()
      },
    })
    const { views } = this.log
    this.#files = new MessageFiles({ agentId: this.id, files, recorded: views.messages.files, onError })
    this.runs = new EngineRuns({
      ...{ agentId: this.id, session, views, dependencies, writer: this.writer, updates },
      engine: async () => {
        await this.#releaseOutdatedEngine()
        return this.engine.load()
      },
    })
    this.pending = new PendingCalls(this)
    this.rollback = new AgentRollback(this, this.#files)
    session.log.subscribe((entry) => this.log.apply(entry))
  }

  get instance(): AgentInstance {
    return this.log.instance
  }

  get status(): AgentInstanceLatestStatus {
    return this.runs.status
  }

  /** Nothing would be lost if this object were dropped: no work, no listener, and all that happened is in the store. */
  get isIdle(): boolean {
    return !this.running && !this.events.isFollowed && !this.runs.hasUnsavedFailure && !this.instance.volatile
  }

  /** Sends a message. An agent at work receives it between two calls. Resolves when the agent is idle again. */
  async send(
    content: readonly PromptPart[],
    { clientKey, meta }: { readonly clientKey: string; readonly meta?: Meta | undefined },
  ): Promise<AgentInstanceLatestStatus> {
    this.#checkUsable()
    const prompt = parsePrompt(content) as readonly PromptPart[]
    const labels = { clientKey, ...(meta && { meta }) }
    if (!this.running) return this.#untilIdle(await this.#begin({ prompt, ...labels }))
    // If the run ends meanwhile, the message waits in the store, and `#untilIdle` finds it there.
    await this.session.send({ mode: 'steer', content: prompt, ...labels })
    return this.#untilIdle((await this.running?.catch(() => undefined)) ?? this.status)
  }

  /** Continues with the open work, if any. Resolves when the agent is idle. */
  async resume(): Promise<AgentInstanceLatestStatus> {
    return this.#untilIdle(await this.#advance())
  }

  /**
   * Runs again while there is work: messages that arrived while a run was ending, and those that were sent after the
   * agent was cancelled.
   */
  async #untilIdle(status: AgentInstanceLatestStatus): Promise<AgentInstanceLatestStatus> {
    let latest = status
    const isFree = (): boolean => this.log.endReason === undefined && !this.running && mayContinue(latest)
    while (isFree() && (await this.hasMore()) && isFree()) {
      const wasElsewhere = this.runs.isRunningElsewhere
      const { turns, pending } = this.session
      latest = await this.#advance()
      if (wasElsewhere && this.runs.isRunningElsewhere) break // the other process checks for messages when it is done
      if (this.session.turns === turns && this.session.pending.length === pending.length) break // a call still waits
    }
    return latest
  }

  async #advance(): Promise<AgentInstanceLatestStatus> {
    if (this.running) return this.running
    this.#checkUsable()
    return this.#begin({})
  }

  #checkUsable(): void {
    if (this.log.endReason !== undefined) throw new Error(this.log.endReason)
  }

  /** Starts the handler; none may be running. */
  #begin(input: AgentInput): Promise<AgentInstanceLatestStatus> {
    this.#stop = new AbortController()
    this.#isStoppedByLog = false
    this.#input = input
    this.runs.useLoggedStatus()
    this.running = this.#work(input).finally(async () => {
      if (this.#isEngineOutdated) await this.#releaseOutdatedEngine()
      this.running = undefined
    })
    return this.running
  }

  /** A run with earlier rules must not go on. */
  async #updateRules(): Promise<void> {
    try {
      await this.engine.updateRules(this.instance)
    } catch (cause) {
      const what = `the rules of agent ${this.id} were changed and could not be applied; its run is cancelled`
      this.dependencies.onError(new Error(what, { cause }))
      await this.#releaseOutdatedEngine()
    }
  }

  /** Cancels a run that has the engine. The next one makes it with the new settings. */
  async #releaseOutdatedEngine(): Promise<void> {
    if (!this.#isEngineOutdated) return
    this.#isEngineOutdated = false
    const failed = (cause: unknown): void =>
      this.dependencies.onError(new Error(`the engine of agent ${this.id} could not be released`, { cause }))
    await this.engine.release().catch(failed)
  }

  async #work(input: AgentInput): Promise<AgentInstanceLatestStatus> {
    const { runs, writer, undelivered } = this
    const handler = handlerOf(this.instance, this.dependencies.definition(this.instance.definitionId), this.#handlers)
    await writer.idle
    await undelivered.recordCancelled() // those messages are older than the new one
    await this.rollback.finishInterrupted()
    if (input.prompt) await this.#files.takeBefore()
    await runHandler(this, { handler, input, signal: this.#stop.signal })
    if (!runs.isRunningElsewhere) await this.#files.recordAfter((entry) => writer.append(entry))
    if (this.#isStoppedByLog) await undelivered.recordCancelled()
    return runs.status
  }

  async #makeEngine(): Promise<Engine> {
    const engine = await makeEngine(this.dependencies, this.instance, this.session, this.log.views)
    const { hooks } = engine.agent
    this.runs.attach(engine)
    this.events.attach(engine.agent)
    hooks.hook('session:start', ({ runId }) => {
      if (this.#wasCancelledBefore(runId)) this.#stop.abort(new Error('the work of this run was cancelled'))
    })
    // The handler must not continue if its run was stopped from outside.
    hooks.hook('agent:abort', () => {
      this.#isStoppedByLog = !this.#stop.signal.aborted
      this.#stop.abort(new Error('the agent was cancelled'))
    })
    hooks.hook('session:turns', ({ turns }) =>
      this.#files.recordBefore(turns, (entry) => this.session.log.append(entry)),
    )
    return engine
  }

  /** Whether another process cancelled the work of a run before that run got the lease: then no model is called. */
  #wasCancelledBefore(runId: string): boolean {
    const { transcript } = this.session.log
    const { prompt, clientKey = '' } = this.#input
    if (this.log.stateBeforeRun !== 'canceled' || transcript.inbox.length > 0) return false
    return transcript.turns.at(-1)?.runId !== runId && (!prompt || transcript.hasClientKey(clientKey))
  }

  /** Stops the handler. Resolves when it has ended. */
  async stop(reason: Error): Promise<void> {
    this.#stop.abort(reason)
    await this.running?.catch(() => {})
  }

  /** The steps in which the next prompt would be built, with a message that has not been sent. */
  async *prompt(message: readonly PromptPart[] | undefined): AsyncGenerator<PromptState> {
    const { dependencies, instance } = this
    yield* previewPrompt({ dependencies, instance, views: this.log.views, session: await this.current(), message })
  }

  /** Whether a run would do something, by the log as it was last read. */
  get hasWork(): boolean {
    return this.#hasWork(this.session)
  }

  /** The same with the latest log, and whether a message waits in the store that the log does not have. */
  async hasMore(): Promise<boolean> {
    await this.undelivered.recordCancelled()
    const session = await this.current() // the process that cancelled it may have moved later messages into the log
    return this.#hasWork(session) || hasStoredMessage(this.store, session)
  }

  #hasWork(session: Session): boolean {
    return hasWork(session, this.log.views.messages, (message) => this.undelivered.isCancelled(message))
  }

  /** Whether a message waits that no run has received, here or in another process. */
  async hasUndelivered(isMeant: (clientKey: string) => boolean): Promise<boolean> {
    const session = await this.current()
    const isInLog = session.log.transcript.inbox.some(({ clientKey }) => isMeant(clientKey))
    return isInLog || hasStoredMessage(this.store, session, isMeant)
  }

  /** Moves messages that wait in the store into the log. False if another process holds the lease. */
  async importInbox(): Promise<boolean> {
    return this.running ? true : this.undelivered.importInboxUnlessBusy()
  }

  /** Reads entries that other processes wrote, unless a run is under way here, which has them all. */
  async refresh(): Promise<void> {
    if (!this.running) await this.catchUp()
  }

  /** Reads entries that other processes wrote. */
  async catchUp(): Promise<void> {
    const isNew = (await this.log.catchUp()) > 0
    if (isNew && this.runs.isRunningElsewhere) this.runs.useLoggedStatus()
  }

  /** The session with all entries that other processes wrote. */
  async current(): Promise<Session> {
    await this.refresh()
    if (this.running || this.log.views.head <= this.session.log.head) return this.session
    const { clock, newId } = this.dependencies
    return loadSession(this.store, this.id, { clock, newId, ...agentLease })
  }

  /** Stops without recording a cancellation: the process ends, and the next one continues the work. */
  async shutDown(reason: string): Promise<void> {
    this.log.endReason ??= reason
    this.log.isShuttingDown = !this.#stop.signal.aborted // what a person cancelled is not continued
    await this.stop(new Error('the process ends'))
    if (!this.running) await this.undelivered.recordCancelled()
    await this.writer.idle
    await this.engine.release()
  }
}

const mayContinue = ({ state }: AgentInstanceLatestStatus): boolean =>
  state === 'completed' || state === 'input-required' || state === 'submitted' || state === 'canceled'

import { SessionBusyError } from '../core/errors.ts'
import type { EntryBody, LogEntry } from '../core/log.ts'
import { readPrompt } from '../core/run-options.ts'
import type { Session, SessionStore } from '../core/store.ts'
import type { PromptPart } from '../core/turn.ts'
import { agentView } from '../plugins/agent-view.ts'
import { LogViews } from '../plugins/log-views.ts'
import type { AgentInstanceLatestStatus } from '../plugins/message.ts'
import type { PromptState } from '../plugins/prompts/prompt.ts'
import { yieldOwner } from '../plugins/yield-note.ts'
import { type AgentMakings, type Engine, makeAgent, resultDurationOf } from './agent-parts.ts'
import type { AgentInstance } from './definition.ts'
import { EngineRuns, type Said } from './engine-runs.ts'
import { EngineSlot } from './engine-slot.ts'
import type { FileHistory } from './file-history.ts'
import { GoingBack } from './going-back.ts'
import { type AgentHandler, type HandlerContext, handlerOf } from './handler.ts'
import { HandlerRun } from './handler-run.ts'
import { hasWork } from './has-work.ts'
import { closedWords, noteIn, unknownWords } from './instance-note.ts'
import { hasMail } from './mail.ts'
import { OneWriter } from './one-writer.ts'
import { promptSteps } from './prompt-steps.ts'
import { RequestTokens } from './request-tokens.ts'
import { stopElsewhere } from './stop-elsewhere.ts'
import { TurnFiles } from './turn-files.ts'
import { Unheard } from './unheard.ts'
import type { Updates } from './updates.ts'
import { WaitingCalls } from './waiting-calls.ts'

export interface LiveOptions {
  readonly instance: AgentInstance
  readonly session: Session
  /** Where its session is. */
  readonly store: SessionStore
  readonly makings: AgentMakings
  readonly handlers: Readonly<Record<string, AgentHandler>>
  readonly updates: Updates
  /** Absent where nobody wants to go back. */
  readonly files: FileHistory | undefined
}

/** One agent in this process: its session, what that amounts to, and the engine while it is needed. */
export class LiveAgent {
  readonly id: string
  readonly session: Session
  readonly views: LogViews
  readonly waiting: WaitingCalls
  readonly back: GoingBack
  instance: AgentInstance
  readonly tokens = new RequestTokens()
  /** Why it cannot be spoken to any more. */
  over: string | undefined
  /** Another process has deleted it. */
  isGone = false
  readonly #options: LiveOptions
  readonly #runs: EngineRuns
  readonly #files: TurnFiles
  readonly #unheard: Unheard
  readonly #engine = new EngineSlot(() => this.#make())
  readonly #writer: OneWriter
  #running: Promise<AgentInstanceLatestStatus> | undefined
  #stop = new AbortController()
  /** Somebody stopped a run through the log, and not through us. */
  #isStoppedByOthers = false
  /** By the log: of this process, of another one, or of one that died. */
  #activeRun: string | undefined

  constructor(options: LiveOptions) {
    const { instance, session, makings, updates, files, store } = options
    const { clock, onError } = makings
    this.id = instance.id
    this.session = session
    this.instance = instance
    this.#writer = new OneWriter(session, clock)
    this.#options = options
    this.views = new LogViews(instance.id, resultDurationOf(makings, instance))
    this.#files = new TurnFiles({ files, messages: this.views.messages, onError })
    const [writer, views] = [this.#writer, this.views]
    const isCancelled = (): boolean => views.messages.status.state === 'canceled'
    this.#unheard = new Unheard({ session, writer, makings, isCancelled })
    this.waiting = new WaitingCalls({
      ...{ agentId: instance.id, store, clock, isCancelled },
      session: () => this.#current(),
      engine: () => this.#engine.load(),
    })
    this.back = new GoingBack({
      ...{ agentId: instance.id, session, writer, messages: views.messages, files: this.#files },
      isRunning: () => this.isRunning,
      catchUp: () => this.#catchUp(),
    })
    this.#runs = new EngineRuns({
      ...{ agentId: instance.id, session, views, makings, writer, updates },
      engine: () => this.#engine.load(),
    })
    session.log.subscribe((entry) => this.#tellingStatus(() => this.#apply(entry)))
  }

  #tellingStatus(work: () => void): void {
    const before = this.views.messages.status.state
    work()
    const { status } = this.views.messages
    if (status.state !== before) this.#options.updates.emit({ type: 'status', agentId: this.id, status })
  }

  #apply(entry: LogEntry): void {
    this.#unheard.apply(entry)
    if (entry.seq > this.views.head) this.#applyOwn(entry)
    const { messages } = this.views
    const before = entry.type === 'rewind' ? messages.messages : []
    for (const message of this.views.apply(entry)) this.#runs.show(message)
    const messageIds = before.map(({ id }) => id).filter((id) => !messages.get(id))
    if (messageIds.length > 0) this.#options.updates.emit({ type: 'removed', agentId: this.id, messageIds })
  }

  /** What the log says of the agent itself, and of who works on it. */
  #applyOwn(entry: LogEntry): void {
    if (entry.type === 'run_started') this.#activeRun = entry.runId
    if (entry.type === 'run_ended') this.#activeRun = undefined
    const note = noteIn(entry)
    if (!note) return
    const before = this.instance
    this.instance = { id: this.id, modified: entry.at, ...note }
    if (note.closed) this.over ??= closedWords(this.id)
    if (note.closed) this.#stop.abort(new Error(closedWords(this.id))) // another process was faster than a run of ours
    if (before.closed === note.closed && before.name === note.name) return
    this.#options.updates.emit({ type: 'agent', agentId: this.id, agent: this.instance })
  }

  get isRunning(): boolean {
    return this.#running !== undefined
  }

  /** Another process is at work on it, as far as we know. */
  get isElsewhere(): boolean {
    return this.#runs.isElsewhere
  }

  get status(): AgentInstanceLatestStatus {
    return this.#runs.status
  }

  /** What is said to the agent. While it works it is heard between two calls; the promise is for the end of all. */
  async say(content: readonly PromptPart[], clientKey: string): Promise<AgentInstanceLatestStatus> {
    this.#refuseWhenOver()
    const prompt = readPrompt(content) as readonly PromptPart[]
    if (!this.#running) return this.#work({ prompt, clientKey })
    // Where the run ends meanwhile, it waits in the store, and whoever settles the agent finds it there.
    await this.session.send({ mode: 'steer', clientKey, content: prompt })
    return (await this.#running?.catch(() => undefined)) ?? this.status
  }

  /** How its next prompt would be put together, if this were said. */
  async *prompt(said: readonly PromptPart[] | undefined): AsyncGenerator<PromptState> {
    const { instance, views } = this
    yield* promptSteps({ makings: this.#options.makings, instance, views, session: await this.#current(), said })
  }

  /** Goes on with whatever there is to do. */
  async advance(): Promise<AgentInstanceLatestStatus> {
    if (this.#running) return this.#running
    this.#refuseWhenOver()
    return this.#work({})
  }

  #refuseWhenOver(): void {
    if (this.over !== undefined) throw new Error(this.over)
  }

  #work(start: Said): Promise<AgentInstanceLatestStatus> {
    this.#stop = new AbortController()
    this.#isStoppedByOthers = false
    this.#runs.forget()
    this.#running = this.#workOn(start).finally(() => {
      this.#running = undefined
    })
    return this.#running
  }

  async #workOn(start: Said): Promise<AgentInstanceLatestStatus> {
    const { makings, handlers } = this.#options
    const handler = handlerOf(this.instance, makings.definition(this.instance.definitionId), handlers)
    await this.#writer.isDone
    if (start.prompt) await this.#files.look()
    const run = new HandlerRun({ stop: this.#stop.signal, clock: makings.clock, agentId: this.id })
    const last = await run.follow(handler(this.#context(start, run)))
    if (run.isGivenUp) {
      makings.onError(
        new Error(`the handler of agent ${this.id} did not end when it was cancelled; it is left to itself`),
      )
      await this.#runs.cancelUnheard(start)
    }
    await this.#files.keepAfter((entry) => this.note(entry))
    if (this.#isStoppedByOthers && !this.#unheard.isEmpty) await this.#takeUp()
    return run.isGivenUp ? this.status : (last ?? this.status)
  }

  #context({ prompt, clientKey }: Said, run: HandlerRun): HandlerContext {
    const definition = this.#options.makings.definition(this.instance.definitionId)
    return {
      agent: agentView(this.instance, this.views.messages, this.session.log),
      agentDef: { ...definition },
      isCancelled: () => run.isCancelled,
      ...(prompt && { prompt }),
      // The key belongs to what was said, and not to what a handler makes of it.
      execute: ({ prompt: words } = {}) =>
        run.during(
          this.#runs.execute(words, { clientKey: words === prompt ? clientKey : undefined, signal: run.signal }),
        ),
    }
  }

  /** Adds to the log while nothing runs. */
  note(...entries: readonly EntryBody[]): Promise<void> {
    return this.#writer.note(...entries)
  }

  /** Stops what it does, here or in another process. */
  async cancel(): Promise<void> {
    if (this.#running) {
      this.#stop.abort(new Error('the agent was cancelled'))
      await this.#running.catch(() => {})
      if (!this.isElsewhere) return this.#keepUnheard()
    }
    await this.#cancelElsewhere()
    const waiting = await this.waiting.list()
    if (waiting.length > 0) await this.waiting.denyAll(waiting)
    if (this.#running) return this.cancel() // somebody answered or spoke meanwhile
    if (waiting.length > 0 || this.#isLeft) await this.note({ type: 'state', owner: yieldOwner, value: 'canceled' })
  }

  /** Its process ended in the middle, and the next one that starts would go on. */
  get #isLeft(): boolean {
    const { status, messages } = this.views.messages
    return status.state === 'submitted' && messages.length > 0
  }

  async #cancelElsewhere(): Promise<void> {
    const { store, makings } = this.#options
    const beginning = `beginning/${makings.newId()}`
    await stopElsewhere({
      ...{ agentId: this.id, session: this.session, store, clock: makings.clock },
      findRun: async () => {
        await this.refresh()
        if (this.isGone) throw new Error(unknownWords(this.id))
        if (this.#running) return undefined
        return this.#activeRun ?? (this.isElsewhere ? beginning : undefined)
      },
      head: () => this.views.head,
      settle: () => this.#takeUp(),
    })
    this.#runs.forget()
    if (!this.#unheard.isEmpty && !this.#running) await this.#takeUp()
  }

  /** An addition to be made whatever others do: who began to work on it meanwhile is stopped, too. */
  async noteOverRuns(entry: () => EntryBody, tries = 3): Promise<void> {
    try {
      await this.note(entry())
    } catch (error) {
      if (!(error instanceof SessionBusyError) || tries === 0) throw error
      await this.cancel()
      await this.noteOverRuns(entry, tries - 1)
    }
  }

  /** What was said to a run that was cancelled before it heard it stays to be seen. */
  async #keepUnheard(): Promise<void> {
    if (!this.#unheard.isEmpty && !this.#running) await this.#unheard.takeUp()
  }

  /** Allows or denies a call, and goes on. */
  async decide(
    callId: string,
    answer: { decision: 'allow' | 'deny'; by?: string; note?: string },
  ): Promise<AgentInstanceLatestStatus> {
    await this.waiting.decide(callId, answer)
    return this.advance()
  }

  /** Answers a question, and goes on: the answer is the result of the call that asked. */
  async answer(callId: string, content: string): Promise<AgentInstanceLatestStatus> {
    await this.waiting.answer(callId, content)
    return this.advance()
  }

  /** Whether a run would do something, as far as the log knows. */
  get hasWork(): boolean {
    return hasWork(this.session, this.views.messages)
  }

  /** The same, and whether something came while the last run was ending, which only the store knows. */
  async hasMore(): Promise<boolean> {
    await this.#unheard.sendAgain() // what went with a run that came to its limit is for the next one
    return this.hasWork || hasMail(this.#options.store, this.session)
  }

  /** Whether a message waits that no run has heard, here or in another process. */
  async hasUnheard(isMeant: (clientKey: string) => boolean): Promise<boolean> {
    const session = await this.#current()
    const isTaken = session.log.transcript.inbox.some(({ clientKey }) => isMeant(clientKey))
    return isTaken || hasMail(this.#options.store, session, isMeant)
  }

  /** Takes what waits in the store into the log. False where another process is at work. */
  async lookAround(): Promise<boolean> {
    return this.#running ? true : this.#takeUp()
  }

  async #takeUp(): Promise<boolean> {
    try {
      await this.#unheard.takeUp()
      return true
    } catch (error) {
      if (error instanceof SessionBusyError) return false // whoever works on it takes what waits
      throw error
    }
  }

  /** What others wrote meanwhile. */
  async refresh(): Promise<void> {
    if (!this.#running) await this.#catchUp()
  }

  async #catchUp(): Promise<void> {
    const { head } = this.views
    const read = await this.#options.makings.entries(this.id, Math.max(0, head - 1))
    this.isGone = read.length === 0 && head > 0 && !this.instance.volatile
    if (this.isGone) this.over ??= unknownWords(this.id)
    const entries = read.filter(({ seq }) => seq > head)
    const apply = (): void => {
      for (const entry of entries) this.#apply(entry)
    }
    if (head > 0) this.#tellingStatus(apply)
    else apply()
    if (entries.length > 0 && this.isElsewhere) this.#runs.forget() // the log says now what became of it
  }

  /** The session with all that others wrote. */
  async #current(): Promise<Session> {
    await this.refresh()
    if (this.#running || this.views.head <= this.session.log.head) return this.session
    const { store, makings } = this.#options
    const { loadSession } = await import('../sessions/session.ts')
    return loadSession(store, this.id, { clock: makings.clock, newId: makings.newId, owner: 'workflow' })
  }

  /** The rules of the authority as they are now. */
  retune(): Promise<void> {
    return this.#engine.retune()
  }

  /** Stops without a word: the process ends, and the work goes on with the next one. */
  async leave(why: string): Promise<void> {
    this.over ??= why
    const wasRunning = this.isRunning
    const wasCancelled = this.#stop.signal.aborted
    this.#stop.abort(new Error('the process ends'))
    const { state } = (await this.#running?.catch(() => undefined)) ?? this.status
    // What a person cancelled does not go on.
    if (wasRunning && !wasCancelled && state === 'canceled')
      await this.note({ type: 'state', owner: yieldOwner, value: 'interrupted' })
    await this.#keepUnheard()
    await this.#writer.isDone
    await this.rest()
  }

  /** Lets go of the engine and all it holds: servers, threads. It is made anew when it is needed. */
  rest(): Promise<void> {
    return this.#engine.rest()
  }

  async #make(): Promise<Engine> {
    const engine = await makeAgent(this.#options.makings, this.instance, this.session, this.views)
    this.#runs.attach(engine)
    this.tokens.attach(engine)
    // A handler must not go on where somebody stopped its run from outside.
    engine.agent.hooks.hook('agent:abort', () => {
      this.#isStoppedByOthers = !this.#stop.signal.aborted
      this.#stop.abort(new Error('the agent was cancelled'))
    })
    engine.agent.hooks.hook('session:turns', ({ turns }) =>
      this.#files.keepBefore(turns, (entry) => this.session.log.append(entry)),
    )
    return engine
  }
}

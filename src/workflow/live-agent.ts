import { SessionBusyError } from '../core/errors.ts'
import type { EntryBody, LogEntry } from '../core/log.ts'
import { readPrompt } from '../core/run-options.ts'
import type { Session, SessionStore } from '../core/store.ts'
import type { PromptPart } from '../core/turn.ts'
import { agentView } from '../plugins/agent-view.ts'
import { LogViews } from '../plugins/log-views.ts'
import type { AgentInstanceLatestStatus, UserContent } from '../plugins/message.ts'
import type { PromptState } from '../plugins/prompts/prompt.ts'
import { yieldOwner } from '../plugins/yield-note.ts'
import { type AgentMakings, type Engine, makeAgent, resultDurationOf } from './agent-parts.ts'
import type { AgentInstance } from './definition.ts'
import { EngineRuns, type Said } from './engine-runs.ts'
import { EngineSlot } from './engine-slot.ts'
import type { FileHistory } from './file-history.ts'
import { type AgentHandler, type HandlerContext, handlerOf } from './handler.ts'
import { HandlerRun } from './handler-run.ts'
import { hasWork } from './has-work.ts'
import { hasMail } from './mail.ts'
import { OneWriter } from './one-writer.ts'
import { promptSteps } from './prompt-steps.ts'
import { RequestTokens } from './request-tokens.ts'
import type { RollbackPlan, RollbackResult } from './rollback/file-snapshots.ts'
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
  instance: AgentInstance
  readonly tokens = new RequestTokens()
  /** Why it cannot be spoken to any more. */
  over: string | undefined
  readonly #options: LiveOptions
  readonly #runs: EngineRuns
  readonly #files: TurnFiles
  readonly #unheard: Unheard
  readonly #engine = new EngineSlot(() => this.#make())
  readonly #writer: OneWriter
  #running: Promise<AgentInstanceLatestStatus> | undefined
  #stop = new AbortController()

  constructor(options: LiveOptions) {
    const { instance, session, makings, updates, files, store } = options
    const { clock, onError } = makings
    this.id = instance.id
    this.session = session
    this.instance = instance
    this.#writer = new OneWriter(session)
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
    this.#runs = new EngineRuns({
      ...{ agentId: instance.id, session, views, makings, writer, updates },
      engine: () => this.#engine.load(),
    })
    session.log.subscribe((entry) => {
      const before = this.views.messages.status.state
      this.#apply(entry)
      const { status } = this.views.messages
      if (status.state !== before) updates.emit({ type: 'status', agentId: this.id, status })
    })
  }

  #apply(entry: LogEntry): void {
    this.#unheard.apply(entry)
    const { messages } = this.views
    const before = entry.type === 'rewind' ? messages.messages : []
    for (const message of this.views.apply(entry)) this.#runs.show(message)
    const messageIds = before.map(({ id }) => id).filter((id) => !messages.get(id))
    if (messageIds.length > 0) this.#options.updates.emit({ type: 'removed', agentId: this.id, messageIds })
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

  /** Takes a message of a person back, with all that came after it. */
  rewind(messageId: string): Promise<UserContent> {
    return this.#whileAtRest(async () => {
      const said = this.views.messages.saidBefore(messageId)
      if (!said)
        throw new Error(`agent ${this.id} has no message of a person "${messageId}"; getMessages lists what was said`)
      await this.session.rewind(said.toSeq)
      return said.content
    })
  }

  /** Puts the files back to what they were before a message. What somebody changed since is kept, and reported. */
  rollback(messageId: string, { force }: { readonly force: boolean }): Promise<RollbackResult> {
    const note = (entry: EntryBody): Promise<void> => this.#writer.add(entry)
    return this.#whileAtRest(() => this.#files.rollback(messageId, { force, note }))
  }

  /** Takes that back. */
  undoRollback(messageId: string, { force }: { readonly force: boolean }): Promise<RollbackResult> {
    const note = (entry: EntryBody): Promise<void> => this.#writer.add(entry)
    return this.#whileAtRest(() => this.#files.undo(messageId, { force, note }))
  }

  /** What `rollback` would do. */
  planRollback(messageId: string): Promise<RollbackPlan> {
    return this.#whileAtRest(() => this.#files.plan(messageId))
  }

  async #whileAtRest<Result>(goBack: () => Promise<Result>): Promise<Result> {
    if (this.#running) throw new Error(`agent ${this.id} is at work; cancel it before you go back`)
    return this.#writer.inTurn(async () => {
      await this.#catchUp()
      return goBack()
    })
  }

  async cancel(): Promise<void> {
    if (this.#running) {
      this.#stop.abort(new Error('the agent was cancelled'))
      await this.#running.catch(() => {})
      return this.#keepUnheard()
    }
    const waiting = await this.waiting.list()
    if (waiting.length > 0) await this.waiting.denyAll(waiting)
    if (this.#running) return this.cancel() // somebody answered or spoke meanwhile
    if (waiting.length > 0) await this.note({ type: 'state', owner: yieldOwner, value: 'canceled' })
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

  /** Takes what waits in the store into the log. False where another process is at work. */
  async lookAround(): Promise<boolean> {
    if (this.#running) return true
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
    const entries = await this.#options.makings.entries(this.id, this.views.head)
    for (const entry of entries) this.#apply(entry)
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
    engine.agent.hooks.hook('session:turns', ({ turns }) =>
      this.#files.keepBefore(turns, (entry) => this.session.log.append(entry)),
    )
    return engine
  }
}

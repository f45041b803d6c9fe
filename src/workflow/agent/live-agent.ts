import type { EntryBody } from '../../core/log.ts'
import type { Meta } from '../../core/meta.ts'
import { readPrompt } from '../../core/run-options.ts'
import type { Session } from '../../core/store.ts'
import type { PromptPart } from '../../core/turn.ts'
import type { LogViews } from '../../plugins/log-views.ts'
import type { AgentInstanceLatestStatus } from '../../plugins/message.ts'
import type { PromptState } from '../../plugins/prompts/prompt.ts'
import { loadSession } from '../../sessions/session.ts'
import type { AgentInstance } from '../definitions/definition.ts'
import { promptSteps } from '../engine/prompt-steps.ts'
import type { RequestTokens } from '../engine/request-tokens.ts'
import type { EventListener } from './event-followers.ts'
import type { GoingBack } from './going-back.ts'
import { hasMail } from './has-mail.ts'
import { hasWork } from './has-work.ts'
import { type LiveOptions, type LiveParts, liveParts } from './live-parts.ts'
import type { WaitingCalls } from './waiting-calls.ts'

/** One agent in this process: its session, what that amounts to, and the engine while it is needed. */
export class LiveAgent {
  readonly id: string
  readonly session: Session
  readonly waiting: WaitingCalls
  readonly back: GoingBack
  readonly #options: LiveOptions
  readonly #parts: LiveParts

  constructor(options: LiveOptions) {
    const parts = liveParts(options, {
      refresh: () => this.refresh(),
      catchUp: () => this.#catchUp(),
      current: () => this.#current(),
    })
    this.id = options.instance.id
    this.session = options.session
    this.waiting = parts.waiting
    this.back = parts.back
    this.#options = options
    this.#parts = parts
    options.session.log.subscribe((entry) => parts.log.apply(entry))
  }

  get views(): LogViews {
    return this.#parts.log.views
  }

  get instance(): AgentInstance {
    return this.#parts.log.instance
  }

  /** Why it cannot be spoken to any more. */
  get over(): string | undefined {
    return this.#parts.log.over
  }

  set over(why: string | undefined) {
    this.#parts.log.over = why
  }

  /** Another process has deleted it. */
  get isGone(): boolean {
    return this.#parts.log.isGone
  }

  get tokens(): RequestTokens {
    return this.#parts.work.tokens
  }

  get isRunning(): boolean {
    return this.#parts.work.running !== undefined
  }

  /** Another process is at work on it, as far as we know. */
  get isElsewhere(): boolean {
    return this.#parts.work.runs.isElsewhere
  }

  /** Tells what happens from now on. Returns how to stop. */
  follow(listener: EventListener): () => void {
    return this.#parts.followers.follow(listener)
  }

  get status(): AgentInstanceLatestStatus {
    return this.#parts.work.runs.status
  }

  /** What is said to the agent. While it works it is heard between two calls; the promise is for the end of all. */
  async say(
    content: readonly PromptPart[],
    { clientKey, meta }: { readonly clientKey: string; readonly meta?: Meta | undefined },
  ): Promise<AgentInstanceLatestStatus> {
    this.#refuseWhenOver()
    const prompt = readPrompt(content) as readonly PromptPart[]
    const about = { clientKey, ...(meta && { meta }) }
    if (!this.#parts.work.running) return this.#parts.work.begin({ prompt, ...about })
    // Where the run ends meanwhile, it waits in the store, and whoever settles the agent finds it there.
    await this.session.send({ mode: 'steer', content: prompt, ...about })
    return (await this.#parts.work.running?.catch(() => undefined)) ?? this.status
  }

  /** How its next prompt would be put together, if this were said. */
  async *prompt(said: readonly PromptPart[] | undefined): AsyncGenerator<PromptState> {
    const { instance, views } = this
    yield* promptSteps({ makings: this.#options.makings, instance, views, session: await this.#current(), said })
  }

  /** Goes on with whatever there is to do. */
  async advance(): Promise<AgentInstanceLatestStatus> {
    if (this.#parts.work.running) return this.#parts.work.running
    this.#refuseWhenOver()
    return this.#parts.work.begin({})
  }

  #refuseWhenOver(): void {
    if (this.over !== undefined) throw new Error(this.over)
  }

  /** Adds to the log while nothing runs. */
  note(...entries: readonly EntryBody[]): Promise<void> {
    return this.#parts.writer.note(...entries)
  }

  /** Stops what it does, here or in another process. */
  cancel(): Promise<void> {
    return this.#parts.cancelling.cancel()
  }

  /** An addition to be made whatever others do. */
  noteOverRuns(entry: () => EntryBody): Promise<void> {
    return this.#parts.cancelling.noteOverRuns(entry)
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
    return this.#hasWork(this.session)
  }

  /** The same, and whether something came while the last run was ending, which only the store knows. */
  async hasMore(): Promise<boolean> {
    await this.#parts.unheard.keepCancelled()
    const session = await this.#current() // who cancelled it may have taken what came later into the log
    return this.#hasWork(session) || hasMail(this.#options.store, session)
  }

  #hasWork(session: Session): boolean {
    return hasWork(session, this.views.messages, (message) => this.#parts.unheard.isCancelled(message))
  }

  /** Whether a message waits that no run has heard, here or in another process. */
  async hasUnheard(isMeant: (clientKey: string) => boolean): Promise<boolean> {
    const session = await this.#current()
    const isTaken = session.log.transcript.inbox.some(({ clientKey }) => isMeant(clientKey))
    return isTaken || hasMail(this.#options.store, session, isMeant)
  }

  /** Takes what waits in the store into the log. False where another process is at work. */
  async lookAround(): Promise<boolean> {
    return this.#parts.work.running ? true : this.#parts.unheard.takeUpUnlessBusy()
  }

  /** What others wrote meanwhile. */
  async refresh(): Promise<void> {
    if (!this.#parts.work.running) await this.#catchUp()
  }

  async #catchUp(): Promise<void> {
    const isNew = (await this.#parts.log.catchUp()) > 0
    if (isNew && this.isElsewhere) this.#parts.work.runs.forget() // the log says now what became of it
  }

  /** The session with all that others wrote. */
  async #current(): Promise<Session> {
    await this.refresh()
    if (this.#parts.work.running || this.views.head <= this.session.log.head) return this.session
    const { store, makings } = this.#options
    return loadSession(store, this.id, { clock: makings.clock, newId: makings.newId, owner: 'workflow' })
  }

  /** The rules of the authority as they are now. */
  retune(): Promise<void> {
    return this.#parts.work.engine.retune()
  }

  /** Stops without a word: the process ends, and the work goes on with the next one. */
  async leave(why: string): Promise<void> {
    this.over ??= why
    this.#parts.log.isLeaving = !this.#parts.work.isStopped // what a person cancelled does not go on
    await this.#parts.work.stop(new Error('the process ends'))
    await this.#parts.cancelling.keepUnheard()
    await this.#parts.writer.isDone
    await this.rest()
  }

  /** Lets go of the engine and all it holds: servers, threads. It is made anew when it is needed. */
  rest(): Promise<void> {
    return this.#parts.work.engine.rest()
  }
}

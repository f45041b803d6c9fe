import { messageOf, SessionBusyError } from '../core/errors.ts'
import type { EntryBody } from '../core/log.ts'
import type { PendingCall, Session } from '../core/store.ts'
import type { PromptPart, SessionTurn } from '../core/turn.ts'
import { LogViews } from '../plugins/log-views.ts'
import type { AgentInstanceLatestStatus, AgentInstanceMessage } from '../plugins/message.ts'
import { partialEntry } from '../plugins/partial-note.ts'
import { snapshotEntry } from '../plugins/snapshot-note.ts'
import { type TokenBreakdown, tokenBreakdown, withReported } from '../plugins/tokens/token-breakdown.ts'
import { yieldOwner } from '../plugins/yield-note.ts'
import { type AgentMakings, type Engine, makeAgent, resultDurationOf } from './agent-parts.ts'
import type { AgentInstance } from './definition.ts'
import type { FileHistory } from './file-history.ts'
import { type AgentHandler, basicPromptConcatHandler, defaultHandlerId, type HandlerContext } from './handler.ts'
import type { RollbackPlan, RollbackResult, Snapshot } from './rollback/file-snapshots.ts'
import { StatusQueue } from './status-queue.ts'
import { StreamedMessage } from './streamed-message.ts'
import type { Updates } from './updates.ts'

export interface LiveOptions {
  readonly instance: AgentInstance
  readonly session: Session
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
  instance: AgentInstance
  /** Of its last request in this process, exact where the provider says how many there were. */
  tokens: TokenBreakdown | undefined
  readonly #options: LiveOptions
  readonly #streamed: StreamedMessage
  #engine: Promise<Engine> | undefined
  #running: Promise<AgentInstanceLatestStatus> | undefined
  #queue: StatusQueue | undefined
  #stop = new AbortController()
  #noting: Promise<void> = Promise.resolve()
  #before: Snapshot | undefined
  /** What went wrong where the log could not say so. */
  #unwritten: AgentInstanceLatestStatus | undefined

  constructor(options: LiveOptions) {
    const { instance, session, makings, updates } = options
    this.id = instance.id
    this.session = session
    this.instance = instance
    this.#options = options
    this.views = new LogViews(instance.id, resultDurationOf(makings, instance))
    const show = (message: AgentInstanceMessage): void => this.#show(message)
    this.#streamed = new StreamedMessage({ agentId: instance.id, clock: makings.clock, show })
    session.log.subscribe((entry) => {
      const before = this.views.messages.status.state
      for (const message of this.views.apply(entry)) this.#show(message)
      const { status } = this.views.messages
      if (status.state !== before) updates.emit({ type: 'status', agentId: this.id, status })
    })
  }

  get isRunning(): boolean {
    return this.#running !== undefined
  }

  get status(): AgentInstanceLatestStatus {
    return this.#unwritten ?? this.views.messages.status
  }

  /** What is said to the agent. While it works it is heard between two calls; the promise is for the end of all. */
  async say(content: readonly PromptPart[], clientKey: string): Promise<AgentInstanceLatestStatus> {
    if (this.#running) {
      const { agent } = await this.#load()
      await agent.steer(content, { clientKey })
      return (await this.#running) ?? this.status
    }
    return this.#work({ prompt: content, clientKey })
  }

  /** Goes on with whatever there is to do. */
  advance(): Promise<AgentInstanceLatestStatus> {
    return this.#running ?? this.#work({})
  }

  #work(start: {
    readonly prompt?: readonly PromptPart[]
    readonly clientKey?: string
  }): Promise<AgentInstanceLatestStatus> {
    this.#stop = new AbortController()
    this.#unwritten = undefined
    this.#running = this.#workOn(start).finally(() => {
      this.#running = undefined
    })
    return this.#running
  }

  async #workOn({
    prompt,
    clientKey,
  }: {
    prompt?: readonly PromptPart[]
    clientKey?: string
  }): Promise<AgentInstanceLatestStatus> {
    const { handlers, makings, files } = this.#options
    const { handlerId = makings.definition(this.instance.definitionId).handlerId ?? defaultHandlerId } = this.instance
    const handler =
      handlerId === defaultHandlerId ? (handlers[handlerId] ?? basicPromptConcatHandler) : handlers[handlerId]
    if (!handler)
      throw new Error(
        `agent ${this.id} wants the handler "${handlerId}", which nobody registered; pass it to createWorkflow({ handlers })`,
      )
    await this.#noting
    if (prompt) this.#before = await files?.take()
    let last: AgentInstanceLatestStatus | undefined
    for await (const status of handler(this.#context(prompt, clientKey))) last = status
    await this.#keepFiles()
    return last ?? this.status
  }

  /** What the files are before a message, with the message itself: the log has it before anything is done about it. */
  async #keepBefore(turns: readonly SessionTurn[]): Promise<void> {
    const before = this.#before
    const [turn] = turns.filter(({ role }) => role === 'user')
    if (!before || !turn) return
    this.#before = undefined
    await this.session.log.append(snapshotEntry({ messageId: turn.id, folder: '.', before }))
  }

  async #keepFiles(): Promise<void> {
    const { files, makings } = this.#options
    const said = this.views.messages.messages.findLast(({ id }) => this.views.messages.filesBefore(id))
    const after = said && (await files?.take())
    if (said && after) await this.note(snapshotEntry({ messageId: said.id, folder: '.', after })).catch(makings.onError)
  }

  /** Puts the files back to what they were before a message. What somebody changed since is kept, and reported. */
  async rollback(messageId: string, { force = false, dryRun = false } = {}): Promise<RollbackPlan | RollbackResult> {
    const { files } = this.#options
    if (!files) throw new Error('files are not kept here; pass createWorkflow({ snapshots: {} })')
    if (this.#running) throw new Error(`agent ${this.id} is at work; cancel it before you go back`)
    await this.refresh()
    const { messages } = this.views
    const [before, after] = [messages.filesBefore(messageId), messages.filesAfter]
    if (!before || !after)
      throw new Error(
        `there is no way back to before the message "${messageId}": ${files.unavailable ?? 'its files were not kept'}`,
      )
    if (dryRun) return files.plan(before as Snapshot, after as Snapshot)
    const result = await files.rollback(before as Snapshot, after as Snapshot, force)
    const now = await files.take()
    await this.note(snapshotEntry({ messageId, folder: '.', isRolledBack: true, ...(now && { after: now }) }))
    return result
  }

  #context(prompt: readonly PromptPart[] | undefined, clientKey: string | undefined): HandlerContext {
    const { messages } = this.views
    const definition = this.#options.makings.definition(this.instance.definitionId)
    const { id, definitionId, name } = this.instance
    const { session } = this
    return {
      agent: {
        id,
        definitionId,
        ...(name !== undefined && { name }),
        get messages() {
          return messages.messages
        },
        get status() {
          return messages.status
        },
        get states() {
          return session.log.transcript.states
        },
      },
      agentDef: { ...definition },
      isCancelled: () => this.#stop.signal.aborted,
      ...(prompt && { prompt }),
      // The key belongs to what was said, and not to what a handler makes of it.
      execute: ({ prompt: words } = {}) => this.#execute(words, words === prompt ? clientKey : undefined),
    }
  }

  async *#execute(
    prompt: string | readonly PromptPart[] | undefined,
    clientKey: string | undefined,
  ): AsyncGenerator<AgentInstanceLatestStatus> {
    const { clock } = this.#options.makings
    const { agent } = await this.#load()
    const queue = new StatusQueue()
    this.#queue = queue
    // What was cancelled before it began is written down all the same: nothing that was said is lost.
    const run = agent.run({
      signal: this.#stop.signal,
      ...(prompt !== undefined && { prompt }),
      ...(clientKey !== undefined && { clientKey }),
    })
    run.then(
      () => queue.close(),
      () => queue.close(),
    )
    yield { state: 'working', modified: clock.now() }
    try {
      yield* queue
    } finally {
      this.#queue = undefined
      await run.catch((error) => this.#failed(error, prompt, clientKey))
      await this.#keepPartial()
    }
    yield this.status
  }

  /** The log knows how most runs ended. Where it could not be written, whoever looks is told all the same. */
  async #failed(
    error: unknown,
    prompt: string | readonly PromptPart[] | undefined,
    clientKey: string | undefined,
  ): Promise<void> {
    if (error instanceof SessionBusyError) return this.#leaveElsewhere(prompt, clientKey)
    if (!this.session.log.isBroken && this.views.messages.status.state !== 'working') return
    const { clock, newId } = this.#options.makings
    const now = clock.now()
    const unsaved = { agentId: this.id, created: now, modified: now }
    const metadata = { isComplete: true, isPersisted: false, round: this.views.messages.rounds }
    const said =
      typeof prompt === 'string' ? prompt : prompt?.map((part) => (part.type === 'text' ? part.text : '')).join('')
    if (said !== undefined) this.#show({ id: clientKey ?? newId(), role: 'user', content: said, ...unsaved, metadata })
    const failure = { name: error instanceof Error ? error.name : 'Error', message: messageOf(error) }
    const message: AgentInstanceMessage = {
      id: newId(),
      role: 'error',
      content: failure.message,
      ...unsaved,
      metadata: { ...metadata, isError: true, errorDetail: failure },
    }
    this.#show(message)
    this.#unwritten = { state: 'failed', modified: now, message }
    this.#options.updates.emit({ type: 'status', agentId: this.id, status: this.#unwritten })
  }

  /** Another process works on this agent: it gets what was said, and says what becomes of it. */
  async #leaveElsewhere(
    prompt: string | readonly PromptPart[] | undefined,
    clientKey: string | undefined,
  ): Promise<void> {
    const { clock, newId } = this.#options.makings
    const content: readonly PromptPart[] =
      typeof prompt === 'string' ? [{ type: 'text', text: prompt }] : (prompt ?? [])
    if (content.length > 0) await this.session.send({ mode: 'steer', clientKey: clientKey ?? newId(), content })
    this.#unwritten = { state: 'submitted', modified: clock.now() }
  }

  /** What had been streamed of an answer that did not become one stays to be seen. */
  async #keepPartial(): Promise<void> {
    const partial = this.#streamed.end()
    if (!partial || this.views.messages.get(partial.id)) return
    const text = partial.content
    await this.note(partialEntry({ id: partial.id, text })).catch((error) => {
      this.#show({ ...partial, metadata: { ...partial.metadata, isComplete: true } })
      this.#options.makings.onError(error instanceof Error ? error : new Error(messageOf(error)))
    })
  }

  /** Adds to the log while nothing runs. */
  note(...entries: readonly EntryBody[]): Promise<void> {
    return this.#whileOpen(() => this.session.log.append(...entries))
  }

  /** One after the other, and a run waits for them: there is one writer at a time, in this process too. */
  #whileOpen(work: () => Promise<void> | void): Promise<void> {
    const noting = this.#noting.then(async () => {
      await this.session.open()
      try {
        await work()
      } finally {
        await this.session.release()
      }
    })
    this.#noting = noting.catch(() => {})
    return noting
  }

  async cancel(): Promise<void> {
    if (this.#running) {
      this.#stop.abort(new Error('the agent was cancelled'))
      await this.#running.catch(() => {})
      return
    }
    const waiting = await this.pending()
    if (waiting.length === 0) return
    await this.#denyAll(waiting)
    await this.note({ type: 'state', owner: yieldOwner, value: 'canceled' })
  }

  async #denyAll(waiting: readonly Waiting[]): Promise<void> {
    const { authority } = await this.#load()
    for (const call of waiting) {
      if (call.isQuestion || call.sessionId !== this.id) continue
      await authority.answer(this.session, call.callId, { decision: 'deny', note: 'it was cancelled' }).catch(() => {})
    }
  }

  /** What waits for a person: permissions and questions, of sub-agents too. */
  async pending(): Promise<readonly Waiting[]> {
    await this.refresh()
    const all = await this.session.pendingInTree()
    return all
      .filter(({ decision }) => decision === undefined)
      .map((call) => ({ ...call, isQuestion: isQuestion(call) }))
  }

  /** Allows or denies a call, and goes on. */
  async decide(
    callId: string,
    answer: { decision: 'allow' | 'deny'; by?: string; note?: string },
  ): Promise<AgentInstanceLatestStatus> {
    const call = await this.#waiting(callId, 'permission')
    const { authority } = await this.#load()
    await authority.answer(await this.#sessionOf(call.sessionId), callId, answer)
    return this.advance()
  }

  /** Answers a question, and goes on: the answer is the result of the call that asked. */
  async answer(callId: string, content: string): Promise<AgentInstanceLatestStatus> {
    const call = await this.#waiting(callId, 'an answer')
    const session = await this.#sessionOf(call.sessionId)
    await session.answer(callId, { content })
    return this.advance()
  }

  async #waiting(callId: string, what: string): Promise<Waiting> {
    const all = await this.pending()
    const found = all.find((call) => call.callId === callId)
    if (found) return found
    const others = all.map((call) => `"${call.callId}" (${call.name})`).join(', ')
    throw new Error(
      `agent ${this.id} has no call "${callId}" that waits for ${what}; ${others === '' ? 'none waits' : `there is ${others}`}`,
    )
  }

  async #sessionOf(sessionId: string): Promise<Session> {
    if (sessionId === this.id) return this.session
    const { loadSession } = await import('../sessions/session.ts')
    return loadSession(this.#options.makings.store, sessionId, { clock: this.#options.makings.clock })
  }

  /** Whether a run would do something: messages wait, answers came, or a process died over it. */
  get hasWork(): boolean {
    const { transcript } = this.session.log
    if (transcript.inbox.some(({ mode }) => mode === 'steer')) return true
    if (transcript.openCalls.length > 0)
      return this.session.pending.every(({ callId, decision }) => decision ?? transcript.answers.has(callId))
    if (transcript.inbox.length > 0) return true
    const last = transcript.runs.at(-1)
    if (last === undefined || transcript.isAnswered) return false
    const { state } = this.views.messages.status
    return state === 'submitted' || (last.stop === 'crashed' && state === 'failed')
  }

  /** The same for what waits in the inbox, which only becomes part of the log once somebody works on it. */
  async lookAround(): Promise<void> {
    if (this.#running) return
    await this.#whileOpen(() => {}).catch((error) => {
      if (!(error instanceof SessionBusyError)) throw error // whoever works on it takes what waits
    })
  }

  /** What others wrote meanwhile. */
  async refresh(): Promise<void> {
    if (this.#running) return
    for (const entry of await this.#options.makings.entries(this.id, this.views.head))
      for (const message of this.views.apply(entry)) this.#show(message)
  }

  /** The rules of the authority as they are now. */
  async retune(): Promise<void> {
    ;(await this.#engine)?.retune()
  }

  /** Stops without a word: the process ends, and the work goes on with the next one. */
  async leave(): Promise<void> {
    if (this.#running) {
      const waiting = this.session.log.transcript.inbox
      this.#stop.abort(new Error('the process ends'))
      const { state } = await this.#running.catch(() => this.status)
      if (state === 'canceled') await this.note({ type: 'state', owner: yieldOwner, value: 'interrupted' })
      // What waited was dropped with the run; it is left for the next one.
      if (state === 'canceled')
        for (const { mode, content, clientKey } of waiting)
          await this.session.send({ mode, content, clientKey: `${clientKey}~again` })
    }
    await this.rest()
  }

  /** Lets go of the engine and all it holds: servers, threads. It is made anew when it is needed. */
  async rest(): Promise<void> {
    const engine = await this.#engine?.catch(() => undefined)
    this.#engine = undefined
    await engine?.agent.destroy()
    await engine?.authority.close()
  }

  #load(): Promise<Engine> {
    this.#engine ??= this.#make().catch((error) => {
      this.#engine = undefined
      throw error
    })
    return this.#engine
  }

  async #make(): Promise<Engine> {
    const engine = await makeAgent(this.#options.makings, this.instance, this.session, this.views)
    const { hooks } = engine.agent
    hooks.hook('session:turns', ({ turns }) => this.#keepBefore(turns))
    hooks.hook('stream:text', ({ turnId, text }) => this.#streamed.update(turnId, text, this.views.messages.rounds))
    hooks.hook('turn:before', async ({ options }) => {
      this.tokens = tokenBreakdown(options, await engine.contextWindow(options.model))
    })
    hooks.hook('turn:after', ({ message, usage }) => {
      if (message) this.#streamed.end()
      if (this.tokens) this.tokens = withReported(this.tokens, usage)
    })
    return engine
  }

  #show(message: AgentInstanceMessage): void {
    this.#options.updates.emit({ type: 'message', agentId: this.id, message })
    if (message.role === 'assistant') this.#queue?.push({ state: 'working', modified: message.modified ?? 0, message })
  }
}

/** A call that waits for a person. */
export interface Waiting extends PendingCall {
  readonly sessionId: string
  readonly isQuestion: boolean
}

/** Permissions are asked for by the authority, and carry its request; a question is put by the tool itself. */
const isQuestion = ({ request }: PendingCall): boolean => request === undefined

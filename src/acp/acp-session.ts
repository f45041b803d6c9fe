import type { Chat, ChatPrompt, ChatState, ModelChoice, OutgoingMessage } from '../chat/chat.ts'
import type { ChatCommand } from '../chat/command.ts'
import type { EntryOf } from '../core/log.ts'
import { visibleText } from '../platform/visible-text.ts'
import { AcpError } from './acp-error.ts'
import { type AskContext, askPerson } from './ask-person.ts'
import type { AcpHost } from './host.ts'
import type { PromptResponse, SessionUpdate, StopReason } from './protocol.ts'
import { type SettingsState, settingOf, settingsState } from './session-settings.ts'
import { commandIn, commandsUpdate, runSlashCommand } from './slash-commands.ts'
import { noticeUpdate, StateUpdates } from './state-updates.ts'
import { ViewUpdates } from './view-updates.ts'

interface AcpSessionOptions extends AskContext {
  readonly host: AcpHost
  /** Open. */
  readonly chat: Chat
  readonly terminalOf: (callId: string) => string | undefined
  readonly models: readonly ModelChoice[]
}

/** One session of a client: sends the chat's state as updates, its questions as requests, and takes prompts. */
export class AcpSession {
  readonly id: string
  readonly #options: AcpSessionOptions
  readonly #views: ViewUpdates
  readonly #states = new StateUpdates()
  readonly #asked = new WeakSet<ChatPrompt>()
  #models: readonly ModelChoice[]
  #commands: readonly ChatCommand[] = []
  readonly #begun = Promise.withResolvers<void>()
  #title = ''
  #lastNotice = 0
  /** The prompt under way and those that wait for it; aborted to cancel them. */
  readonly #prompts = new Set<AbortController>()
  /** Prompts one after the other. */
  #turns: Promise<unknown> = Promise.resolve()
  #sending: Promise<void> | undefined
  #isBehind = false
  /** Nothing is sent before the client knows the session. */
  #isQuiet = true
  #unsubscribe = (): void => {}

  constructor(options: AcpSessionOptions) {
    const { chat, cwd, terminalOf, capabilities, sessionId, models } = options
    this.id = sessionId
    this.#options = options
    this.#models = models
    this.#views = new ViewUpdates({ cwd, terminalOf, showsCompaction: Boolean(capabilities.session?.compaction) })
    this.#unsubscribe = chat.subscribe(() => this.#changed())
  }

  get isAtWork(): boolean {
    return this.#prompts.size > 0
  }

  get settings(): SettingsState {
    return settingsState(this.#chat.state.settings, this.#models)
  }

  get #chat(): Chat {
    return this.#options.chat
  }

  /** Sends the whole conversation so far, before the client gets its answer. */
  async replay(): Promise<void> {
    const view = await this.#chat.readAll()
    for (const update of this.#views.next(view, { isIdle: true, isReplay: true })) await this.#send(update)
  }

  /** From now on the client gets what changes. The answer that opened the session has its settings already. */
  async begin(): Promise<void> {
    const { host, cwd } = this.#options
    this.#views.goOn(this.#chat.state.view)
    const { modes, configOptions } = this.settings
    this.#states.skip({ sessionUpdate: 'current_mode_update', currentModeId: modes.currentModeId })
    this.#states.skip({ sessionUpdate: 'config_option_update', configOptions })
    this.#isQuiet = false
    await this.#findTitle()
    this.#changed()
    try {
      this.#commands = await host.commands(cwd)
      await this.#send(commandsUpdate(this.#commands))
    } finally {
      this.#begun.resolve()
    }
  }

  /** The models are known only now. */
  offerModels(models: readonly ModelChoice[]): void {
    this.#models = models
    this.#changed()
  }

  /** Sends what has changed outside of the chat. */
  refresh(): void {
    this.#changed()
  }

  async set(configId: string, value: string): Promise<SettingsState> {
    const { settings } = this.#chat.state
    await this.#chat.set(settingOf(configId, value, { settings, models: this.#models }))
    return this.settings
  }

  /** Sends a prompt, after those before it, and waits until the agent is done with it. */
  prompt(message: OutgoingMessage, signal: AbortSignal): Promise<PromptResponse> {
    const cancelling = new AbortController()
    this.#prompts.add(cancelling)
    const cancelled = AbortSignal.any([signal, cancelling.signal])
    const own = this.#turns.then(() => this.#take(message, cancelled)).finally(() => this.#prompts.delete(cancelling))
    this.#turns = own.catch(() => {})
    return own
  }

  /** Ends the prompts under way, which then are answered with `cancelled`. */
  cancel(): void {
    for (const prompt of this.#prompts) prompt.abort()
  }

  /** Cancels what is under way, and closes the session. */
  async close(): Promise<void> {
    this.cancel()
    await this.#turns
    await this.leave()
  }

  /** Closes the session; a run under way can be continued later. */
  async leave(): Promise<void> {
    this.#unsubscribe()
    this.#begun.resolve() // prompts that wait for it find the chat closed
    await this.#chat.close()
    await this.#turns
  }

  async #take(message: OutgoingMessage, cancelled: AbortSignal): Promise<PromptResponse> {
    await Promise.all([this.#begun.promise, this.#untilIdle()])
    if (cancelled.aborted) return { stopReason: 'cancelled' }
    const stopped = this.#stopWhen(cancelled)
    const ends = watchRuns(this.#chat)
    try {
      await this.#submit(message)
      await this.#untilIdle()
      await this.#findTitle()
      await this.#flush()
      return { stopReason: cancelled.aborted ? 'cancelled' : ends.stopReason() }
    } catch (error) {
      await this.#flush()
      if (cancelled.aborted) return { stopReason: 'cancelled' }
      throw error
    } finally {
      ends.close()
      stopped.close()
    }
  }

  async #submit(message: OutgoingMessage): Promise<void> {
    const { chat } = this.#options
    const command = commandIn(message, this.#commands)
    if (!command) return chat.send(message)
    const print = (text: string): void => void this.#print(text)
    await runSlashCommand(command, message, { chat, print, commands: this.#commands })
  }

  /** A text of a command is no part of the conversation. */
  #print(text: string): Promise<void> {
    return this.#send({ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: visibleText(text) } })
  }

  /** Stops the run when the prompt is cancelled, also one that begins only then. */
  #stopWhen(cancelled: AbortSignal): { close(): void } {
    const { chat } = this.#options
    const look = (): void => {
      if (cancelled.aborted && chat.state.phase === 'running') chat.stop()
    }
    const unsubscribe = chat.subscribe(look)
    cancelled.addEventListener('abort', look)
    return {
      close() {
        unsubscribe()
        cancelled.removeEventListener('abort', look)
      },
    }
  }

  #untilIdle(): Promise<void> {
    const { chat } = this.#options
    return new Promise((resolve) => {
      const look = (): void => {
        if (chat.state.phase !== 'idle' && chat.state.phase !== 'closed') return
        unsubscribe()
        resolve()
      }
      const unsubscribe = chat.subscribe(look)
      look()
    })
  }

  #changed(): void {
    this.#isBehind = true
    if (this.#isQuiet) return
    this.#answer(this.#chat.state)
    this.#sending ??= this.#sendChanges()
      .catch((error) => this.#options.host.report(String(error)))
      .finally(() => {
        this.#sending = undefined
        if (this.#isBehind) this.#changed()
      })
  }

  /** A slow client gets fewer and larger updates: each round sends what changed since the one before. */
  async #sendChanges(): Promise<void> {
    this.#isBehind = false
    for (const update of this.#updates()) await this.#send(update)
  }

  #updates(): SessionUpdate[] {
    const { state } = this.#chat
    return [
      ...this.#views.next(state.view, { isIdle: state.phase === 'idle' }),
      ...this.#states.next(state, { models: this.#models, title: this.#title }),
      ...this.#notices(state),
    ]
  }

  /** A client that has no notices cannot tell them from answers. */
  #notices({ notices }: ChatState): SessionUpdate[] {
    const { capabilities, host } = this.#options
    const fresh = notices.filter(({ id }) => id > this.#lastNotice)
    this.#lastNotice = fresh.at(-1)?.id ?? this.#lastNotice
    if (capabilities.session?.notices) return fresh.map(noticeUpdate)
    for (const { text } of fresh) host.report(text)
    return []
  }

  /** Resolves when the client has all that is true now; what changes meanwhile is not waited for. */
  async #flush(): Promise<void> {
    this.#changed()
    await this.#sending // a round that may have begun before
    await this.#sending
  }

  async #findTitle(): Promise<void> {
    this.#title = await this.#options.host.titleOfStored(this.id).catch(() => this.#title)
  }

  #send(update: SessionUpdate): Promise<void> {
    return this.#options.client.notify('session/update', { sessionId: this.id, update }).catch(() => {}) // it is gone
  }

  /** Each question is put once. The client must know the call before it is asked about it. */
  #answer({ prompts }: ChatState): void {
    for (const prompt of prompts) {
      if (this.#asked.has(prompt)) continue
      this.#asked.add(prompt)
      void this.#flush()
        .then(() => askPerson(prompt, { ...this.#options, callOf: (id) => this.#views.callOf(id) }))
        .then((answer) => {
          if (prompt.signal.aborted) return
          if (answer === 'cancelled') this.#chat.stop()
          else prompt.respond(answer)
        })
        .catch((error) => this.#options.host.report(String(error)))
    }
  }
}

/** The error for a session that is not open. */
export const notOpen = (id: string): AcpError =>
  new AcpError(
    'not found',
    `There is no open session ${JSON.stringify(id.slice(0, 100))}; open it with session/load or session/resume`,
  )

/** How the runs of one prompt ended. */
interface RunEnds {
  /** Why the last run stopped. Throws if it failed, or could not begin. */
  stopReason(): StopReason
  close(): void
}

/** Begins to watch the agent of a chat, before the prompt is sent. */
function watchRuns(chat: Pick<Chat, 'agent' | 'state'>): RunEnds {
  let ended: EntryOf<'run_ended'> | undefined
  let reply: EntryOf<'turn'>['stop']
  const seen = chat.state.notices.at(-1)?.id ?? 0
  const close = chat.agent?.agent.log.subscribe((entry) => {
    if (entry.type === 'run_ended') ended = entry
    if (entry.type === 'turn' && entry.turn.role === 'assistant') reply = entry.stop
  })
  return {
    close: () => close?.(),
    stopReason() {
      if (!ended) {
        const failure = chat.state.notices.find(({ id, kind }) => id > seen && kind === 'failure')
        if (failure) throw new AcpError('failed', failure.text)
        return 'end_turn' // a command that asked no model
      }
      const { status, stop, error } = ended
      if (status === 'error')
        throw new AcpError(error?.name === 'AgentAuthError' ? 'no login' : 'failed', error?.message ?? stop)
      if (status === 'aborted' || status === 'left') return 'cancelled'
      if (limits.has(stop)) return 'max_turn_requests'
      if (reply === 'length') return 'max_tokens'
      return reply === 'refusal' ? 'refusal' : 'end_turn'
    },
  }
}

/** The limits that end a run as completed. */
const limits: ReadonlySet<string> = new Set(['max_turns', 'budget'])

import type { SessionAnswer } from '../authority/answer-session.ts'
import type { Authority } from '../authority/authority.ts'
import type { Interactor, Prompt } from '../authority/interaction/interactor-queue.ts'
import type { SecurityMode } from '../authority/rules/settings.ts'
import type { Agent } from '../core/agent.ts'
import type { Clock } from '../core/clock.ts'
import type { Provider } from '../core/provider.ts'
import type { SessionPage, SessionQuery, SessionStore } from '../core/store.ts'
import type { ThinkingLevel } from '../core/thinking.ts'
import type { PromptPart } from '../core/turn.ts'
import type { JoinRun } from '../events/runs-elsewhere.ts'
import type { WorkInRun } from '../extensions/work-in-run.ts'
import type { SkillActions } from '../skills/lazy-skills.ts'
import type { Snapshots } from '../snapshots/snapshots.ts'
import type { SessionView } from '../view/session-view.ts'

/**
 * A person's conversation with agents: the open session, its settings, and what the person can do. It draws nothing;
 * the terminal and the web page show its `state` and call its methods.
 */
export interface Chat {
  /** Immutable: each change replaces it. */
  readonly state: ChatState
  /** Calls the listener after each change of `state`. Returns a function that stops it. */
  subscribe(listener: () => void): () => void
  /** Opens a session in place of the one that is open. A run under way here is left, so that it can be continued. */
  open(request: OpenRequest): Promise<void>
  /**
   * Sends a message. Without a run it starts one. During a run, `steer` delivers it before the next model call, and
   * `queue` keeps it here until the run has ended. Resolves once the message is stored.
   */
  send(message: OutgoingMessage, delivery?: 'steer' | 'queue'): Promise<void>
  /** The cost of the next model call with this text, as `state.forecast` has it without. */
  forecast(draft: string): Promise<ChatState['forecast']>
  /** Takes a queued message back: the last one, or the one with this id. `undefined` if it is on its way to the model. */
  takeBack(id?: string): OutgoingMessage | undefined
  /**
   * Continues the session without a message: an interrupted run, or one whose questions were answered. If there is nothing
   * to continue, the first message of the queue is sent.
   */
  resume(): Promise<void>
  /** Stops the run under way. `state.phase` is `stopping` at once. */
  stop(): void
  /** Changes model, thinking, profile or mode: from the next model call on, the mode from the next tool call on. */
  set(settings: Partial<ChatSettings>): Promise<void>
  /** The view of the whole session, for a viewer that scrolls: `state.view` of a long one has its end only. */
  readAll(): Promise<SessionView>
  /** Looks again which other sessions wait, if the last look is older than five seconds: when the screen gets the focus. */
  lookElsewhere(): void
  /** Answers a call that waits in another session of the store, signed by the authority. */
  answerElsewhere(sessionId: string, callId: string, answer: ElsewhereAnswer): Promise<void>
  /** Summaries of sessions, for a picker. */
  sessions(query?: SessionQuery): Promise<SessionPage>
  /** The models that can be chosen; empty if the host lists none. */
  models(): Promise<readonly ModelChoice[]>
  /** The profiles that can be chosen; empty if the host has none. */
  readonly profiles: readonly string[]
  /**
   * Does the work of a command on the agent, such as a compaction, while no run of the conversation is under way; rejects
   * during one. Meanwhile `phase` is `running`, and `stop` aborts the signal.
   */
  withAgent<Result>(work: (agent: ChatAgent, signal: AbortSignal) => Promise<Result>): Promise<Result>
  /** The agent of the open session, for commands that need more than this interface. */
  readonly agent: ChatAgent | undefined
  close(): Promise<void>
}

export interface ChatState {
  readonly phase: 'opening' | 'idle' | 'running' | 'stopping' | 'closed'
  /** What the open session shows. */
  readonly view: SessionView
  /** Absent until the first session is open, and for one that is not stored. */
  readonly sessionId?: string
  /** How many turns the session has before those in `view`. Absent if it has none. */
  readonly earlierTurns?: number
  /** The session has work that `resume()` continues: its run was interrupted, or its questions wait for answers. */
  readonly isResumable?: true
  /** The session runs in another process, which this chat only follows and writes to. */
  readonly isAttached?: true
  readonly settings: ChatSettings
  /** Messages that are sent when the run has ended, oldest first. */
  readonly queue: readonly QueuedDraft[]
  /** Questions to the person about this session, oldest first. */
  readonly prompts: readonly ChatPrompt[]
  /** Other sessions on this store that wait for a person. */
  readonly waitingElsewhere: readonly WaitingSession[]
  /** What is worth telling and is in no log: ignored settings, a failed send, a server that does not answer. Newest last. */
  readonly notices: readonly ChatNotice[]
  /** A warning that stays visible, such as `no sandbox`. */
  readonly warning?: string
  /** The most and the likely cost of the next model call in dollars, without what is typed, if prices are known. */
  readonly forecast?: { readonly likely: number; readonly most: number }
}

/** What the next run uses. */
export interface ChatSettings {
  readonly model: ModelChoice
  readonly thinking?: ThinkingLevel
  readonly profile?: string
  /** Absent if the agent has no authority. */
  readonly mode?: SecurityMode
  /** The folder in which tools work. */
  readonly folder?: string
}

export interface ModelChoice {
  readonly provider: string
  readonly model: string
  /** Tokens that a request may have. */
  readonly contextWindow?: number
}

/** `resume` names a session; `attach` follows one that runs in another process; `fork` copies one, up to an entry. Without any a new session begins. */
export interface OpenRequest {
  readonly resume?: string
  readonly attach?: string
  readonly fork?: { readonly id: string; readonly at?: number }
}

export interface OutgoingMessage {
  /** As the person typed it. */
  readonly text: string
  /** What the model gets, if that is more than the text: images, attached pastes, files. */
  readonly parts?: readonly PromptPart[]
}

export interface QueuedDraft extends OutgoingMessage {
  readonly id: string
}

/** A question of the authority or of a tool. It is withdrawn when `signal` aborts. */
export type ChatPrompt = Prompt

export interface WaitingSession {
  readonly id: string
  readonly title: string
  readonly folder?: string
  readonly calls: readonly WaitingCall[]
}

/** A call that waits in another session. */
export interface WaitingCall {
  readonly callId: string
  /** The session of the call: the one that waits, or one of its sub-agents. */
  readonly sessionId: string
  /** In words: `shell: npm publish`. */
  readonly text: string
  /** A question of its tool, which is answered with a text. Else it waits for a decision. */
  readonly isQuestion?: true
  readonly name: string
  readonly input: Readonly<Record<string, unknown>>
  /** The prompt that was shown about it. */
  readonly request?: unknown
}

/** `text` answers a question. */
export type ElsewhereAnswer = SessionAnswer | { readonly text: string; readonly by?: string }

export interface ChatNotice {
  readonly id: number
  readonly kind: 'info' | 'warning' | 'failure'
  readonly text: string
}

/** Where a chat gets agents, sessions and models from: the command line, or an embedder's program. */
export interface ChatHost {
  /** Opens an agent. The chat closes it, and opens another one when the session or the model changes. */
  openAgent(request: AgentRequest): Promise<ChatAgent>
  /** For the list of sessions and what waits elsewhere. */
  readonly store?: SessionStore
  /** The models that can be chosen. */
  models?(): Promise<readonly ModelChoice[]>
  readonly profiles?: readonly string[]
  /** Keeps queued messages, so that a crash loses none. Default: in memory. */
  readonly drafts?: DraftStore
  /** Joins runs of other processes, so that `attach` shows what they stream: `joinLocalRuns` of `libero/rpc`. */
  readonly joinRuns?: JoinRun
  /** Signs answers to other sessions while no agent with an authority is open. */
  authority?(): Promise<Authority>
  /** Default: the system's. */
  readonly clock?: Clock
}

/** Keeps the queued messages of each session. */
export interface DraftStore {
  load(sessionId: string): Promise<readonly QueuedDraft[]>
  /** Replaces what is kept for the session; an empty list removes it. */
  save(sessionId: string, queue: readonly QueuedDraft[]): Promise<void>
}

export interface AgentRequest extends OpenRequest {
  /** What the person has changed; the host completes the rest. */
  readonly settings: Partial<ChatSettings>
  /** Gives the agent's questions to the person. */
  readonly interactor: Interactor
  /** Tells the person what happens to this agent and is in no log, such as a server that stops answering. */
  notify(notice: Omit<ChatNotice, 'id'>): void
}

/** An agent with what belongs to it. */
export interface ChatAgent {
  readonly agent: Agent & Partial<SkillActions>
  /** One of the agent's extensions, the last one: for `/compact`, `!` lines and attached files. */
  readonly work?: WorkInRun
  readonly authority?: Authority
  readonly snapshots?: Snapshots
  readonly settings: ChatSettings
  /** The prices of its provider, for the forecast. */
  readonly costOf?: Provider['costOf']
  readonly notices?: readonly string[]
  /** Stays visible while this agent is used. */
  readonly warning?: string
  close(): Promise<void>
}

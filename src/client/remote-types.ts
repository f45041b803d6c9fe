import type { ApprovalExtent } from '../core/authority.ts'
import type { LogEntry } from '../core/log.ts'
import type { SessionPage, SessionQuery, SessionStatus, SessionSummary } from '../core/store.ts'
import type { PromptPart } from '../core/turn.ts'

/** What a store knows about a session, as the server shows it to its tenant. */
export type RemoteSession = Omit<SessionSummary, 'tenant'>

export type RemoteSessionPage = Omit<SessionPage, 'sessions'> & { readonly sessions: readonly RemoteSession[] }

/** Which sessions to list. */
export interface RemoteSessionQuery extends Pick<SessionQuery, 'kind' | 'folder' | 'attention' | 'limit' | 'cursor'> {
  readonly state?: SessionStatus | readonly SessionStatus[]
  readonly tag?: string | readonly string[]
  /** Only sub-agents of this session. Default: sessions that are none. */
  readonly parent?: string
}

export type RemoteContent = string | readonly PromptPart[]

export interface NewRemoteSession {
  /** Default: a random one. With an id of your own nothing is tried again after a lost connection. */
  readonly id?: string
  readonly kind?: string
  readonly folder?: string
  readonly title?: string
  readonly tags?: readonly string[]
  /** The first message. */
  readonly message?: RemoteContent
}

export interface RemoteMessage {
  readonly content: RemoteContent
  /** Default `prompt`, which is answered after the run that is under way. */
  readonly mode?: 'prompt' | 'steer' | 'followUp'
  /** Attaches the small text files that the text names with `@`. */
  readonly files?: boolean
  /** Messages with the same key are one. Default: a random one. */
  readonly key?: string
  /** How long the server may wait for the end of the run. Default: not at all. */
  readonly waitSeconds?: number
  readonly signal?: AbortSignal
}

/** A message that the server has stored. */
export interface SentMessage {
  readonly clientKey: string
  /** Of the session, before or after the message: what follows has higher numbers, unless the request was repeated. */
  readonly head: number
  /** Which files are not attached, and why. */
  readonly notices?: readonly string[]
  /** If the run ended while the server waited. */
  readonly run?: { readonly status: string; readonly stop: string; readonly text: string; readonly error?: string }
}

/** A call that waits for a person. */
export interface RemotePendingCall {
  /** The session of the call: the one that waits, or one of its sub-agents. */
  readonly session: string
  /** The session that waits. */
  readonly root: string
  readonly title?: string
  readonly callId: string
  readonly name: string
  readonly input: Readonly<Record<string, unknown>>
  readonly reason: string
  /** Identifies what was shown; it is sent back with the answer. */
  readonly digest: string
  /** It is answered with content; otherwise with a decision. */
  readonly isQuestion: boolean
  /** The prompt: what would run, its effects, the choices. */
  readonly request?: unknown
}

/** A decision about a call, or the answer to its question. */
export interface RemoteAnswer extends ApprovalExtent {
  readonly decision?: 'allow' | 'deny'
  /** The answer to a question, or a note for the model. */
  readonly content?: string
}

export interface RemoteEntryRange {
  readonly after?: number
  readonly before?: number
  readonly limit?: number
  /** With `limit`: the last ones. */
  readonly fromEnd?: boolean
}

/** What usage is added up by. */
export type UsageDimension = 'day' | 'model' | 'agent' | 'kind' | 'folder' | 'tool'

export interface RemoteUsage {
  /** The first day, such as `2026-10-20`, in UTC. */
  readonly since: string
  readonly total: UsageSum
  /** Sorted by their names. By tool they have other numbers. */
  readonly rows: readonly UsageRow[]
}

/** The names of its group, and its numbers. */
export type UsageRow = { readonly [Name in UsageDimension]?: string } & Partial<UsageSum & ToolUsageSum>

export interface UsageSum {
  readonly sessions: number
  /** Replies of models. */
  readonly turns: number
  readonly calls: number
  /** In tokens, without those of a cache. */
  readonly input: number
  readonly output: number
  readonly cacheRead: number
  readonly cacheWrite: number
  /** Input and output. */
  readonly tokens: number
  /** In dollars, as far as prices are known. */
  readonly cost: number
}

/** What the calls of a tool came to. */
export interface ToolUsageSum {
  readonly sessions: number
  readonly calls: number
  readonly errors: number
  /** The estimated size of the results. */
  readonly resultTokens: number
  readonly ms: number
}

/** A change of any session. After `connected`, changes before it may have been missed: list the sessions. */
export type RemoteChange =
  | { readonly type: 'connected' }
  | { readonly type: 'session'; readonly session: RemoteSession }
  /** A client has changed the draft of a session. The text is absent if it is long: read it then. */
  | { readonly type: 'draft'; readonly session: string; readonly version: number; readonly text?: string }

/** A text that a client has not sent yet. */
export interface RemoteDraft {
  readonly text: string
  /** Rises with each write. */
  readonly version: number
}

export type RemoteEntries = { readonly entries: readonly LogEntry[]; readonly head: number }

/** Entries as number, type and size. */
export type RemoteIndex = { readonly rows: readonly (readonly [number, string, number])[]; readonly head: number }

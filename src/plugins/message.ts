import type { Meta } from '../core/meta.ts'

/** What a conversation looks like to screens and plugins. A projection of the log: nothing of it is stored by itself. */
export interface AgentInstanceMessage {
  readonly id: string
  readonly agentId: string
  readonly role: 'user' | 'assistant' | 'agent' | 'tool' | 'error'
  readonly content: string
  readonly reasoning_content?: string
  /** As a media type; absent for plain text. */
  readonly contentType?: string
  /** In ms since the epoch. */
  readonly created?: number
  readonly modified?: number
  readonly metadata?: MessageMetadata
  /** Not for people: what keeps the conversation going. */
  readonly hidden?: boolean
  /** How many model calls it is sent with: absent means all, 0 none. It is shown in any case. */
  readonly duration?: number
}

export interface MessageMetadata {
  readonly isToolResult?: boolean
  readonly isError?: boolean
  /** The tool that was called. */
  readonly toolId?: string
  /** The call that a result answers, or the first one that a message made. */
  readonly callId?: string
  /** Model calls before it; with `duration` it tells whether it is still sent. */
  readonly round?: number
  readonly toolParameters?: Readonly<Record<string, unknown>>
  /** It is in the log. False while it is streamed, and where the log could not be written. */
  readonly isPersisted?: boolean
  /** False while it is streamed. */
  readonly isComplete?: boolean
  /** The agent was stopped, or its answer broke off, while it said this. */
  readonly interrupted?: boolean
  readonly containsToolCall?: boolean
  readonly calls?: readonly MessageCall[]
  readonly errorDetail?: { readonly name: string; readonly message: string; readonly code?: string }
  readonly file?: AttachedFile
  readonly wikiTiddlers?: readonly AttachedTiddler[]
  /** Snapshots of folders before this message was worked on; see `rollback`. */
  readonly beforeCommitMap?: Readonly<Record<string, string>>
  readonly rolledBack?: boolean
  /** What came with a message from outside: who sent it, a trace, a reply address. */
  readonly meta?: Meta
  readonly askQuestionAnswered?: boolean
  /** What the tool says for screens. */
  readonly details?: unknown
}

export interface MessageCall {
  readonly callId: string
  readonly toolId: string
  readonly parameters: Readonly<Record<string, unknown>>
  /** Absent while it has no result. */
  readonly outcome?: string
  /** A person has to say something before it can have one. */
  readonly waitsFor?: 'permission' | 'answer'
}

/** An image or a document that comes with a message, in base64. */
export interface AttachedFile {
  readonly name?: string
  readonly mediaType: string
  readonly data: string
}

/** A page of a wiki that comes with a message. */
export interface AttachedTiddler {
  readonly workspaceName: string
  readonly tiddlerTitle: string
}

/** What `sendMsgToAgent` takes. */
export interface UserContent {
  readonly text: string
  readonly file?: AttachedFile
  readonly wikiTiddlers?: readonly AttachedTiddler[]
}

export type AgentState = (typeof agentStates)[number]

export const agentStates = [
  'submitted',
  'working',
  'input-required',
  'completed',
  'canceled',
  'failed',
  'unknown',
] as const

/** Handlers and logs may say anything. */
export const isAgentState = (value: unknown): value is AgentState => agentStates.includes(value as AgentState)

export interface AgentInstanceLatestStatus {
  readonly state: AgentState
  /** In ms since the epoch. */
  readonly modified: number
  /** What there is to show with it: the answer, a piece of it, or what went wrong. */
  readonly message?: AgentInstanceMessage
}

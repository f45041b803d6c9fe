import type { Meta } from '../core/meta.ts'

/** A message as screens and plugins see it. Computed from the log, and not stored itself. */
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
  /** Not shown to people: a note of a plugin or of the engine. */
  readonly hidden?: boolean
  /** With how many model calls it is sent: absent means all, 0 none. It is shown in any case. */
  readonly duration?: number
}

export interface MessageMetadata {
  readonly isToolResult?: boolean
  readonly isError?: boolean
  /** The tool that was called. */
  readonly toolId?: string
  /** The call that a result answers, or the first one that a message made. */
  readonly callId?: string
  /** The number of model calls before it; with `duration` it tells whether it is still sent. */
  readonly round?: number
  readonly toolParameters?: Readonly<Record<string, unknown>>
  /** It is in the log. False while it is streamed, and if the log could not be written. */
  readonly isPersisted?: boolean
  /** False while it is streamed. */
  readonly isComplete?: boolean
  /** The answer was cut off because the agent was stopped or the stream failed. */
  readonly interrupted?: boolean
  readonly containsToolCall?: boolean
  readonly calls?: readonly MessageCall[]
  readonly errorDetail?: { readonly name: string; readonly message: string; readonly code?: string }
  readonly file?: AttachedFile
  readonly wikiTiddlers?: readonly AttachedTiddler[]
  /** Snapshots of folders before the work on this message; see `rollback`. */
  readonly beforeCommitMap?: Readonly<Record<string, string>>
  readonly rolledBack?: boolean
  /** The sender, a trace, a reply address, as given with the message. */
  readonly meta?: Meta
  readonly askQuestionAnswered?: boolean
  /** The details of a tool result, for screens. */
  readonly details?: unknown
}

export interface MessageCall {
  readonly callId: string
  readonly toolId: string
  readonly parameters: Readonly<Record<string, unknown>>
  /** Absent until it has a result. */
  readonly outcome?: string
  /** It waits for a person. */
  readonly waitsFor?: 'permission' | 'answer'
}

/** An image or a document that is attached to a message, in base64. */
export interface AttachedFile {
  readonly name?: string
  readonly mediaType: string
  readonly data: string
}

/** A page of a wiki that is attached to a message. */
export interface AttachedTiddler {
  readonly workspaceName: string
  readonly tiddlerTitle: string
}

/** The content of a message for `sendMsgToAgent`. */
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

export const isAgentState = (value: unknown): value is AgentState => agentStates.includes(value as AgentState)

export interface AgentInstanceLatestStatus {
  readonly state: AgentState
  /** In ms since the epoch. */
  readonly modified: number
  /** The message to show with it: the answer, a part of it, or an error. */
  readonly message?: AgentInstanceMessage
}

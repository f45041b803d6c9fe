/** A message as the AI SDK's `useChat` holds it: the part of `UIMessage` of the package `ai` that sessions need. */
export interface UIMessage {
  id: string
  role: 'user' | 'assistant'
  metadata?: UIMetadata
  parts: UIPart[]
}

/** What is known about a reply beside its content. */
export interface UIMetadata {
  /** The model of the last model call. */
  model?: string
  /** Of all model calls of the message. Tokens that the service had in its cache count as input. */
  usage?: UIUsage
}

export interface UIUsage {
  inputTokens: number
  outputTokens: number
  totalTokens: number
  cachedInputTokens?: number
  /** In dollars; absent if no price is known. */
  cost?: number
}

export type UIPart =
  | { type: 'step-start' }
  | UITextPart
  | { type: 'reasoning'; id: string; text: string; state: 'streaming' | 'done' }
  | UIFilePart
  | { type: 'steering-message'; id: string; parts: (UITextPart | UIFilePart)[] }
  | UIToolPart

export interface UITextPart {
  type: 'text'
  text: string
  state?: 'streaming' | 'done'
}

/** `url` is a data URL. */
export interface UIFilePart {
  type: 'file'
  mediaType: string
  url: string
  filename?: string
}

/** A call: tools are dynamic parts, because a page does not know them when it is built. */
export type UIToolPart = { type: 'dynamic-tool'; toolName: string; toolCallId: string } & (
  | { state: 'input-streaming'; input?: unknown; rawInput?: string }
  | { state: 'input-available'; input: unknown }
  | { state: 'approval-requested'; input: unknown; approval: UIApproval }
  | { state: 'approval-responded'; input: unknown; approval: UIApproval & { approved: boolean; reason?: string } }
  | { state: 'output-available'; input: unknown; output: unknown; approval?: UIApproval & { approved: true } }
  | { state: 'output-error'; input: unknown; errorText: string; approval?: UIApproval & { approved: true } }
  | { state: 'output-denied'; input: unknown; approval: UIApproval & { approved: false; reason?: string } }
)

/** `id` names the call and what was shown of it, so that an answer counts for nothing else. */
export interface UIApproval {
  id: string
  requestReason?: string
  /** The call that is asked about, if the tool of the part made it. */
  descriptor?: { toolName: string; input: unknown }
}

/** One event of the UI message stream. */
export type UIChunk =
  | { type: 'start'; messageId: string }
  | { type: 'start-step' | 'finish-step' | 'reset-step' }
  | { type: 'text-start' | 'text-end' | 'reasoning-start' | 'reasoning-end'; id: string }
  | { type: 'text-delta' | 'reasoning-delta'; id: string; delta: string }
  | { type: 'file'; url: string; mediaType: string }
  | { type: 'steering-message'; id: string; parts: (UITextPart | UIFilePart)[] }
  | { type: 'tool-input-start'; toolCallId: string; toolName: string; dynamic: true }
  | { type: 'tool-input-delta'; toolCallId: string; inputTextDelta: string }
  | { type: 'tool-input-available'; toolCallId: string; toolName: string; input: unknown; dynamic: true }
  | {
      type: 'tool-approval-request'
      approvalId: string
      toolCallId: string
      reason?: string
      approvalDescriptor?: unknown
    }
  | { type: 'tool-approval-response'; approvalId: string; approved: boolean; reason?: string }
  | { type: 'tool-output-available'; toolCallId: string; output: unknown; dynamic: true }
  | { type: 'tool-output-error'; toolCallId: string; errorText: string; dynamic: true }
  | { type: 'tool-output-denied'; toolCallId: string }
  | { type: 'error'; errorText: string }
  | { type: 'abort'; reason?: string }
  | { type: 'finish'; finishReason: UIFinishReason; messageMetadata: UIMetadata }

export type UIFinishReason = 'stop' | 'length' | 'content-filter' | 'tool-calls' | 'interrupted' | 'other'

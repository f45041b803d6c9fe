import type { TextFragment } from './write-lines.ts'
/** A line of output: the response to a command, or an event. */
export type ZotFrame = ZotResponse | ZotEvent

/** The response to one command, with its `id` if it had one. */
export interface ZotResponse {
  readonly type: 'response'
  readonly command: string
  readonly success: boolean
  readonly id?: string
  readonly data?: object
  readonly error?: string
}

/** An event. It never carries the id of a command; the `id` of tool events is that of the call. */
export type ZotEvent =
  | {
      readonly type: 'user_message'
      readonly content: readonly ZotContent[]
      readonly time: string
      /** Ours, not zot's: why commands run without a question and without a sandbox. */
      readonly unconfined?: string
    }
  | { readonly type: 'turn_start'; readonly step: number }
  | { readonly type: 'assistant_start' }
  | { readonly type: 'text_delta'; readonly delta: string }
  | { readonly type: 'tool_use_start'; readonly id: string; readonly name: string }
  | { readonly type: 'tool_use_args'; readonly id: string; readonly delta: string }
  | { readonly type: 'tool_use_end'; readonly id: string }
  | ({ readonly type: 'usage'; readonly cumulative: ZotUsage } & ZotUsage)
  | { readonly type: 'assistant_message'; readonly content: readonly ZotContent[]; readonly time: string }
  | ZotToolCall
  | { readonly type: 'turn_end'; readonly stop: ZotStop; readonly error?: string }
  | { readonly type: 'tool_progress'; readonly id: string; readonly text: string }
  | {
      readonly type: 'tool_result'
      readonly id: string
      readonly is_error: boolean
      readonly content: readonly ZotContent[]
    }
  | { readonly type: 'error'; readonly message: string }
  | { readonly type: 'done' }
  | { readonly type: 'compact_done'; readonly summary: string }

export type ZotStop = 'end' | 'tool_use' | 'length' | 'error' | 'aborted'

/** Tokens and dollars. */
export interface ZotUsage {
  readonly input: number
  readonly output: number
  readonly cache_read: number
  readonly cache_write: number
  readonly cost_usd: number
}

/** A block of a message. An image is represented by its size; reasoning is left out. */
export type ZotContent =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'image'; readonly mime_type: string; readonly bytes: number }
  | ZotToolCall
  | {
      readonly type: 'tool_result'
      readonly call_id: string
      readonly is_error: boolean
      readonly content: readonly ZotContent[]
    }

/** `args` is null if the model's arguments are no JSON object. */
export interface ZotToolCall {
  readonly type: 'tool_call'
  readonly id: string
  readonly name: string
  readonly args: Readonly<Record<string, unknown>> | null
}

/** A message as `get_messages` shows it. */
export interface ZotMessage {
  readonly role: 'user' | 'assistant' | 'tool'
  readonly content: readonly ZotContent[]
  readonly time: string
}

/** `data` is base64. */
export interface ZotImage {
  readonly mime_type: string
  readonly data: string
}

/** The text in a frame that may be joined with neighbouring frames: a slow reader gets fewer and longer ones. */
export function zotFragment(given: object): TextFragment | undefined {
  const frame = given as ZotFrame
  switch (frame.type) {
    case 'text_delta':
      return { key: frame.type, text: frame.delta, with: (delta) => ({ ...frame, delta }) }
    case 'tool_use_args':
      return { key: `${frame.type} ${frame.id}`, text: frame.delta, with: (delta) => ({ ...frame, delta }) }
    case 'tool_progress':
      return { key: `${frame.type} ${frame.id}`, text: frame.text, with: (text) => ({ ...frame, text }) }
    default:
      return undefined
  }
}

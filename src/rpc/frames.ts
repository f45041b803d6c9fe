/** A line that we write: the answer to a command, or something that happened. */
export type ZotFrame = ZotResponse | ZotEvent

/** The answer to one command. `id` is there only if the command had one. */
export interface ZotResponse {
  readonly type: 'response'
  readonly command: string
  readonly success: boolean
  readonly id?: string
  readonly data?: object
  readonly error?: string
}

/** Something that happened. None of these carries the id of a command; the `id` of tool events is the call's. */
export type ZotEvent =
  | { readonly type: 'user_message'; readonly content: readonly ZotContent[]; readonly time: string }
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

/** A piece of a message. Of an image only its size is told; reasoning is not shown at all. */
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

/** `args` is null where the model wrote something that is no JSON object. */
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

/** A line that a client writes. */
export type ZotCommand = { readonly id?: string } & (
  | { readonly type: 'hello'; readonly token?: string }
  | { readonly type: 'prompt'; readonly message: string; readonly images?: readonly ZotImage[] }
  | { readonly type: 'set_model'; readonly model: string }
  | { readonly type: 'abort' | 'compact' | 'get_state' | 'get_messages' | 'clear' | 'get_models' | 'ping' }
)

/** `data` is base64. */
export interface ZotImage {
  readonly mime_type: string
  readonly data: string
}

/** What a pane that watches agents understands, whichever agent it is. */
export interface NormalizedEvent {
  readonly type: NormalizedType
  /** Of the call, for `tool_execution_*`. */
  readonly id?: string
  readonly isError?: boolean
  /** Why a turn ended; after `tool_use` the agent goes on. */
  readonly stop?: string
  readonly message?: string
}

export type NormalizedType =
  | 'turn_start'
  | 'turn_end'
  | 'message_start'
  | 'message_update'
  | 'message_end'
  | 'tool_execution_start'
  | 'tool_execution_update'
  | 'tool_execution_end'
  | 'queue_update'
  | 'error'
  | 'agent_end'

/**
 * A frame in Glasspane's words; nothing for frames that change nothing there, or that nobody knows. `tool_call` is left out
 * because `tool_use_start` has begun the call already.
 */
export function normalizeEvent(frame: unknown): NormalizedEvent | undefined {
  if (typeof frame !== 'object' || frame === null) return undefined
  const { type, id, is_error, stop, success, error, message } = frame as Record<string, unknown>
  if (type === 'response') return success === false ? { type: 'error', ...text('message', error) } : undefined
  const known = typeof type === 'string' ? types.get(type) : undefined
  if (!known) return undefined
  switch (known) {
    case 'tool_execution_end':
      return { type: known, ...text('id', id), isError: is_error === true }
    case 'tool_execution_start':
    case 'tool_execution_update':
      return { type: known, ...text('id', id) }
    case 'turn_end':
      return { type: known, ...text('stop', stop), ...text('message', error) }
    case 'error':
      return { type: known, ...text('message', message) }
    default:
      return { type: known }
  }
}

const types = new Map<string, NormalizedType>([
  ['user_message', 'message_update'],
  ['turn_start', 'turn_start'],
  ['assistant_start', 'message_start'],
  ['text_delta', 'message_update'],
  ['tool_use_start', 'tool_execution_start'],
  ['tool_use_args', 'tool_execution_update'],
  ['tool_use_end', 'tool_execution_update'],
  ['tool_progress', 'tool_execution_update'],
  ['assistant_message', 'message_end'],
  ['turn_end', 'turn_end'],
  ['tool_result', 'tool_execution_end'],
  ['queue_update', 'queue_update'],
  ['error', 'error'],
  ['done', 'agent_end'],
])

function text<Key extends string>(key: Key, value: unknown): { readonly [K in Key]?: string } {
  return typeof value === 'string' ? ({ [key]: value } as { readonly [K in Key]?: string }) : {}
}

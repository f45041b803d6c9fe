import { isRecord } from '../core/is-record.ts'
import type { EntryOf } from '../core/log.ts'
import { toolResultToText } from '../core/tool-output.ts'
import { type SessionContentBlock, type SessionTurn, type ToolCallBlock, textOf, toolCallsOf } from '../core/turn.ts'
import { readAttachments } from './attachments.ts'
import type { AgentInstanceMessage, MessageMetadata } from './message.ts'
import type { HandlerMessage } from './yield-note.ts'

/** The fields of a message that do not depend on its place in the list. */
type MessageBody = Pick<AgentInstanceMessage, 'role' | 'content'> & Partial<AgentInstanceMessage>

/** The messages of one agent by their ids, in their order. */
export class MessageList {
  readonly #agentId: string
  readonly #messages = new Map<string, AgentInstanceMessage>()
  #list: readonly AgentInstanceMessage[] | undefined

  constructor(agentId: string) {
    this.#agentId = agentId
  }

  /** The same list as long as nothing changes. */
  get list(): readonly AgentInstanceMessage[] {
    this.#list ??= [...this.#messages.values()]
    return this.#list
  }

  get(id: string): AgentInstanceMessage | undefined {
    return this.#messages.get(id)
  }

  put(
    { id, createdAt, round }: { readonly id: string; readonly createdAt: number; readonly round: number },
    body: MessageBody,
  ): AgentInstanceMessage {
    const metadata: MessageMetadata = { ...body.metadata, round, isComplete: true, isPersisted: true }
    return this.#set({ id, agentId: this.#agentId, created: createdAt, modified: createdAt, ...body, metadata })
  }

  /** Changes the metadata of a message; `undefined` if there is none of that id. */
  change(id: string, change: (metadata: MessageMetadata) => MessageMetadata): AgentInstanceMessage | undefined {
    const message = this.#messages.get(id)
    if (!message) return undefined
    const { metadata = {} } = message
    return this.#set({ ...message, metadata: { ...metadata, ...change(metadata) } })
  }

  #set(message: AgentInstanceMessage): AgentInstanceMessage {
    this.#messages.set(message.id, message)
    this.#list = undefined
    return message
  }

  clear(): void {
    this.#messages.clear()
    this.#list = undefined
  }
}

export function userMessage(
  content: readonly SessionContentBlock[],
  { meta, isHidden }: Pick<SessionTurn, 'meta'> & { readonly isHidden: boolean },
): MessageBody {
  const { text, ...attached } = readAttachments(content)
  const metadata = { ...attached, ...(meta && { meta }) }
  return { role: 'user', content: text, metadata, ...(isHidden && { hidden: true }) }
}

export function modelMessage(turn: SessionTurn): MessageBody {
  const calls = toolCallsOf(turn)
  const reasoning = turn.content.map((block) => (block.type === 'thinking' ? block.text : '')).join('')
  const [first] = calls
  const called = first && {
    containsToolCall: true,
    callId: first.id,
    toolId: first.name,
    toolParameters: first.input,
    calls: calls.map(({ id, name, input }) => ({ callId: id, toolId: name, parameters: input })),
  }
  return {
    role: 'assistant',
    content: textOf(turn),
    ...(reasoning !== '' && { reasoning_content: reasoning }),
    metadata: { ...called, ...(turn.interrupted && { interrupted: true }) },
    ...(called && { duration: 1 }),
  }
}

export function resultMessage(
  { callId, output, details, isError }: EntryOf<'call_result'>,
  { name, input }: ToolCallBlock,
  duration: number | null,
): MessageBody {
  return {
    role: 'tool',
    content: toolResultToText(output),
    metadata: {
      isToolResult: true,
      ...(isError && { isError }),
      toolId: name,
      callId,
      toolParameters: input,
      ...(details !== undefined && { details }),
      ...(isRecord(details) && 'questionId' in details && { askQuestionAnswered: true }),
    },
    ...(duration !== null && { duration }),
  }
}

export function handlerMessage({ role, content, errorDetail }: HandlerMessage): MessageBody {
  const failed = errorDetail && { metadata: { isError: true, errorDetail } }
  return { role, content, ...failed, duration: role === 'error' ? 1 : 0 }
}

/** The message with which a run ends that was stopped by a limit or failed; undefined for other runs. */
export function endMessage(
  { status, stop, error }: EntryOf<'run_ended'>,
  { rounds }: { readonly rounds: number },
): MessageBody | undefined {
  const limit = status === 'completed' ? reachedLimit(stop, rounds) : undefined
  if (limit !== undefined) {
    const content = `Stopped: ${limit}, and it was not done. Send a message to go on.`
    return { role: 'agent', content, metadata: {} }
  }
  if (status !== 'error' || stop === 'crashed') return undefined
  const { name = 'Error', message = 'the run failed', providerCode: code } = error ?? {}
  const errorDetail = { name, message, ...(code !== undefined && { code }) }
  return { role: 'error', content: message, metadata: { isError: true, errorDetail }, duration: 1 }
}

function reachedLimit(stop: string, rounds: number): string | undefined {
  if (stop === 'max_turns') return `it took ${rounds} rounds, as many as maxIterations allows`
  return stop === 'budget' ? 'a limit of what it may use up is reached' : undefined
}

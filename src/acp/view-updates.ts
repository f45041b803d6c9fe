import { basename } from 'node:path'
import { pathToFileURL } from 'node:url'
import { attachedPath } from '../chat/attached-text.ts'
import { type SessionContentBlock, textOf } from '../core/turn.ts'
import type { AnswerRow, CallRow, CompactionRow, MessageRow, Row } from '../view/rows.ts'
import type { SessionView } from '../view/session-view.ts'
import type { ContentBlock, SessionUpdate, ToolCall } from './protocol.ts'
import { type CallContext, toolCallOf } from './tool-call.ts'

interface ViewUpdatesOptions extends Omit<CallContext, 'isIdle'> {
  /** The client shows summaries of what was taken out of the context. */
  readonly showsCompaction: boolean
}

/**
 * Turns views of one session into updates: each call of `next` gives those that bring a client from what it has to the view
 * as it is now. A client can only be given more: what was streamed and then void is not taken back.
 */
export class ViewUpdates {
  readonly #options: ViewUpdatesOptions
  /** The rows before this index are complete, and the client has them. */
  #settled = 0
  #answers = new Map<string, SentAnswer>()
  #calls = new Map<string, ToolCall>()
  #known = new WeakSet<Row>()

  constructor(options: ViewUpdatesOptions) {
    this.#options = options
  }

  /** The updates from what the client has to this view. The client knows the prompts that it sent itself. */
  next(view: SessionView, { isIdle, isReplay }: { readonly isIdle: boolean; readonly isReplay?: true }) {
    const { rows } = view
    const updates: SessionUpdate[] = []
    this.#settled = Math.min(this.#settled, rows.length) // a rewind took rows away
    let isSettled = true
    for (let at = this.#settled; at < rows.length; at++) {
      const row = rows.at(at)!
      // A call also changes when it gets a terminal, and when its run ends without its result.
      const isOpenCall = row.kind === 'call' && this.#calls.has(row.id)
      if (isOpenCall || !this.#known.has(row)) updates.push(...this.#updatesOf(row, { isIdle, isReplay }))
      this.#known.add(row)
      isSettled &&= isComplete(row)
      if (isSettled) this.#settle(at, row)
    }
    return updates
  }

  /** A call without a result, as it was last sent. */
  callOf(callId: string): ToolCall | undefined {
    return this.#calls.get(callId)
  }

  /** Goes on with this view, of which the client has the committed rows: after a replay of the whole session, or without one. */
  goOn({ rows, fold }: SessionView): void {
    this.#settled = 0
    for (let at = 0; at < fold.committed; at++) this.#known.add(rows.at(at)!)
  }

  #settle(at: number, { id }: Row): void {
    this.#settled = at + 1
    this.#answers.delete(id)
    this.#calls.delete(id)
  }

  #updatesOf(row: Row, how: { readonly isIdle: boolean; readonly isReplay: true | undefined }): SessionUpdate[] {
    switch (row.kind) {
      case 'message':
        return isShown(row, how.isReplay) ? messageUpdates(row) : []
      case 'answer':
        return this.#answerUpdates(row)
      case 'call':
        return row.state === 'streaming' ? [] : this.#callUpdates(row, how.isIdle)
      case 'compaction':
        return this.#options.showsCompaction ? [compactionUpdate(row)] : []
      case 'notice':
        return []
    }
  }

  #answerUpdates(row: AnswerRow): SessionUpdate[] {
    const sent = this.#answers.get(row.id) ?? { thinking: newText(`${row.id}-thought`), text: newText(row.id) }
    this.#answers.set(row.id, sent)
    return [
      ...grow(sent.thinking, row.thinking, 'agent_thought_chunk'),
      ...grow(sent.text, row.text, 'agent_message_chunk'),
      ...row.content.flatMap((block) => imageUpdates(block, row.id)),
    ]
  }

  /** The first time the whole call, later the fields that changed. */
  #callUpdates(row: CallRow, isIdle: boolean): SessionUpdate[] {
    const { cwd, terminalOf } = this.#options
    const call = toolCallOf(row, { cwd, terminalOf, isIdle })
    const before = this.#calls.get(row.id)
    this.#calls.set(row.id, call)
    if (!before) return [{ sessionUpdate: 'tool_call', ...call }]
    const changed = Object.entries(call).filter(([field, value]) => !isSame(before[field as keyof ToolCall], value))
    if (changed.length === 0) return []
    return [{ sessionUpdate: 'tool_call_update', toolCallId: row.id, ...Object.fromEntries(changed) }]
  }
}

const isSame = (one: unknown, other: unknown): boolean =>
  one === other || (typeof one === 'object' && JSON.stringify(one) === JSON.stringify(other))

const isComplete = (row: Row): boolean =>
  row.kind === 'answer' ? row.isOpen !== true : row.kind !== 'call' || row.state === 'over'

/** The client shows its own prompts itself; a message that another program sent to the session is new to it. */
const isShown = ({ isNote, mode }: MessageRow, isReplay: true | undefined): boolean =>
  !isNote && (isReplay === true || (mode !== undefined && mode !== 'prompt'))

interface SentAnswer {
  readonly thinking: SentText
  readonly text: SentText
}

interface SentText {
  readonly id: string
  /** A text that was begun anew is another message. */
  attempt: number
  sent: string
}

const newText = (id: string): SentText => ({ id, attempt: 1, sent: '' })

type ChunkKind = 'agent_thought_chunk' | 'agent_message_chunk'

/** Sends what is new. A second attempt of a reply that begins like the first is not repeated. */
function grow(state: SentText, text: string, sessionUpdate: ChunkKind): SessionUpdate[] {
  if (state.sent.startsWith(text)) return []
  if (!text.startsWith(state.sent)) {
    state.attempt++
    state.sent = ''
  }
  const messageId = state.attempt === 1 ? state.id : `${state.id}.${state.attempt}`
  const delta = text.slice(state.sent.length)
  state.sent = text
  return [{ sessionUpdate, messageId, content: { type: 'text', text: delta } }]
}

function imageUpdates(block: SessionContentBlock, messageId: string): SessionUpdate[] {
  if (block.type !== 'image') return []
  const content = { type: 'image', mimeType: block.mediaType, data: block.data } as const
  return [{ sessionUpdate: 'agent_message_chunk', messageId, content }]
}

function messageUpdates({ id, content }: MessageRow): SessionUpdate[] {
  return content.flatMap(contentBlock).map((block) => {
    return { sessionUpdate: 'user_message_chunk', messageId: id, content: block }
  })
}

/** A part of a message; a file whose text was attached is shown by its name. */
function contentBlock(block: SessionContentBlock): ContentBlock[] {
  if (block.type === 'image') return [{ type: 'image', mimeType: block.mediaType, data: block.data }]
  if (block.type === 'document') return [{ type: 'text', text: `[${block.name ?? block.mediaType}]` }]
  if (block.type !== 'text') return []
  const path = attachedPath(block.text)
  if (path === undefined) return [{ type: 'text', text: block.text }]
  const uri = path.startsWith('/') ? pathToFileURL(path).href : path
  return [{ type: 'resource_link', uri, name: basename(path) || path }]
}

function compactionUpdate({ id, summary }: CompactionRow): SessionUpdate {
  const text = textOf({ role: 'user', content: summary })
  return {
    sessionUpdate: 'compaction_update',
    compactionId: id,
    status: 'completed',
    summary: [{ type: 'text', text }],
  }
}

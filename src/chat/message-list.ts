import { isRecord } from '../core/is-record.ts'
import type { AgentInstanceMessage, MessageCall } from '../plugins/message.ts'
import { messagesOfRow } from '../plugins/row-messages.ts'
import { emptyView, type SessionView } from '../view/session-view.ts'

/** A message of a person and all messages after it. Messages before the first one form a turn without `user`. */
export interface ChatTurn {
  /** The id of the first message. */
  readonly id: string
  readonly user?: AgentInstanceMessage
  /** All messages, including that of the person. */
  readonly messages: readonly AgentInstanceMessage[]
}

/** The messages of a conversation, for a screen. Unchanged parts, lists included, keep their identity. */
export interface MessageList {
  /** Adds a message, or replaces the one with its id. Returns false if nothing changed. */
  apply(message: AgentInstanceMessage): boolean
  /** Shows the messages of a session, as its view has them: those that it had before and has not now are removed. */
  show(view: SessionView, agentId?: string): void
  /** Returns false if there is none. Later stream updates do not add it again. */
  remove(id: string): boolean
  /** The person cancelled: streamed messages stay unchanged until their final form arrives. */
  cancel(): void
  /** Also finds hidden messages. */
  get(id: string): AgentInstanceMessage | undefined
  /** In the order of arrival, without hidden messages. */
  readonly ids: readonly string[]
  readonly turns: readonly ChatTurn[]
  /** Whether there are so many messages that a screen should draw only the visible ones. */
  readonly isVirtualised: boolean
  /** Whether the next model call leaves it out. Such messages are shown faded. */
  isFaded(id: string): boolean
}

/** With more messages a screen should draw only the visible ones. */
export const virtualisedAbove = 50

export function createMessageList(): MessageList {
  const messages = new Map<string, AgentInstanceMessage>()
  /** Removed or cancelled: later stream updates are ignored. */
  const closed = new Set<string>()
  let ids: readonly string[] | undefined
  let turns: readonly ChatTurn[] = []
  let hasStaleTurns = false
  let answeredBefore: ReadonlyMap<string, number> | undefined
  let answered = 0
  /** Model calls so far, as counted in the messages; removed ones count too. */
  let rounds = 0
  /** Result messages by call id. */
  const results = new Map<string, string>()

  const currentIds = (): readonly string[] =>
    (ids ??= Object.freeze([...messages.values()].flatMap(({ id, hidden }) => (hidden ? [] : [id]))))

  const currentTurns = (): readonly ChatTurn[] => {
    if (hasStaleTurns) turns = grouped(messages.values(), turns)
    hasStaleTurns = false
    return turns
  }

  const countAnswers = (): ReadonlyMap<string, number> => {
    if (answeredBefore) return answeredBefore
    const counts = new Map<string, number>()
    answered = 0
    for (const message of messages.values()) {
      if (isAnswer(message)) answered++
      counts.set(message.id, answered)
    }
    return (answeredBefore = counts)
  }

  const answeredSince = ({ id, metadata }: AgentInstanceMessage): number => {
    if (metadata?.round !== undefined) return rounds - metadata.round
    const before = countAnswers().get(id) ?? answered
    return answered - before
  }

  /** Whether a call is still sent: as long as its result is sent or missing. */
  const isToSend = ({ callId }: MessageCall): boolean => {
    const result = messages.get(results.get(callId) ?? '')
    return !result || isFinalAnswer(result) || !isFaded(result, answeredSince(result))
  }

  let shown: SessionView['rows'] = emptyView.rows
  /** Unlike `remove`: the answer may be streamed once more, under the same id. */
  const drop = (id: string): boolean => {
    if (!messages.delete(id)) return false
    ids = answeredBefore = undefined
    return (hasStaleTurns = true)
  }

  const list: MessageList = {
    show({ rows }, agentId = 'session') {
      const before = shown
      shown = rows
      const changed = rows.changesSince(before)
      // Results may come in another order than their calls.
      const now = changed.flatMap((at) => messagesOfRow(rows, at)).sort((a, b) => a.seq - b.seq)
      const known = new Set(now.map(({ message }) => message.id))
      for (let at = rows.length; at < before.length; at++) changed.push(at)
      for (const { message } of changed.flatMap((at) => messagesOfRow(before, at)))
        if (!known.has(message.id)) drop(message.id)
      for (const { message } of now) list.apply({ agentId, ...message })
    },
    apply(message) {
      const { id } = message
      const known = messages.get(id)
      const isLate = isStreamed(message) && (closed.has(id) || (known !== undefined && !isStreamed(known)))
      if (isLate || (known && isSame(known, message))) return false
      messages.set(id, message)
      const { round = 0, isToolResult, callId } = message.metadata ?? {}
      rounds = Math.max(rounds, round)
      if (isToolResult && callId !== undefined) results.set(callId, id)
      const patched = known && !hasStaleTurns ? withLastTurn(turns, known, message) : undefined
      if (patched) turns = patched
      else hasStaleTurns = true
      if (!isStreamed(message)) closed.delete(id)
      if (!known || known.hidden !== message.hidden) ids = undefined
      if (!known || isAnswer(known) !== isAnswer(message)) answeredBefore = undefined
      return true
    },
    remove(id) {
      closed.add(id)
      return drop(id)
    },
    cancel() {
      for (const message of messages.values()) if (isStreamed(message)) closed.add(message.id)
    },
    get: (id) => messages.get(id),
    get ids() {
      return currentIds()
    },
    get turns() {
      return currentTurns()
    },
    get isVirtualised() {
      return currentIds().length > virtualisedAbove
    },
    isFaded(id) {
      const message = messages.get(id)
      if (!message || typeof message.duration !== 'number' || isFinalAnswer(message)) return false
      const { calls = [] } = message.metadata ?? {}
      return calls.length > 0 ? !calls.some(isToSend) : isFaded(message, answeredSince(message))
    },
  }
  return list
}

/** Whether the next model call leaves out a message, after `answeredSince` answers. */
export function isFaded({ duration }: Pick<AgentInstanceMessage, 'duration'>, answeredSince: number): boolean {
  // A log may hold null, which means undefined.
  return typeof duration === 'number' && answeredSince >= duration
}

const isStreamed = ({ metadata }: AgentInstanceMessage): boolean => metadata?.isComplete === false

/** The result of a call that was the final answer: it is sent as the agent's message. */
const isFinalAnswer = ({ duration, content, metadata }: AgentInstanceMessage): boolean =>
  duration === 0 && content !== '' && isRecord(metadata?.details) && metadata.details.leavesTo === 'end'

/** Counts model calls if messages have no `round`. */
const isAnswer = (message: AgentInstanceMessage): boolean => message.role === 'assistant' && !isStreamed(message)

/** Fast path for streams, which change the last turn many times a second; undefined if other turns changed. */
function withLastTurn(
  turns: readonly ChatTurn[],
  before: AgentInstanceMessage,
  after: AgentInstanceMessage,
): readonly ChatTurn[] | undefined {
  const last = turns.at(-1)
  const place = last?.messages.indexOf(before) ?? -1
  if (!last || place < 0 || after.hidden || before.role !== after.role) return undefined
  return Object.freeze([...turns.slice(0, -1), turnOf(last.messages.with(place, after))])
}

/** Turns with unchanged messages keep their identity. */
function grouped(messages: Iterable<AgentInstanceMessage>, before: readonly ChatTurn[]): readonly ChatTurn[] {
  const groups: AgentInstanceMessage[][] = []
  for (const message of messages) {
    if (message.hidden) continue
    const last = groups.at(-1)
    if (last && message.role !== 'user') last.push(message)
    else groups.push([message])
  }
  const known = new Map(before.map((turn) => [turn.id, turn]))
  const turns = groups.map((group) => {
    const same = known.get(group[0]!.id)
    return same && isSameList(same.messages, group) ? same : turnOf(group)
  })
  return isSameList(before, turns) ? before : Object.freeze(turns)
}

function turnOf(messages: readonly AgentInstanceMessage[]): ChatTurn {
  const first = messages[0]!
  return Object.freeze({
    id: first.id,
    ...(first.role === 'user' && { user: first }),
    messages: Object.freeze(messages),
  })
}

function isSameList(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a.length === b.length && a.every((one, i) => one === b[i])
}

/** Deeper values count as changed. */
const deepest = 50

function isSame(a: unknown, b: unknown, depth = 0): boolean {
  if (Object.is(a, b)) return true
  if (depth > deepest) return false
  if (Array.isArray(a) && Array.isArray(b))
    return a.length === b.length && a.every((one, i) => isSame(one, b[i], depth + 1))
  if (!isRecord(a) || !isRecord(b)) return false
  const names = Object.keys(a)
  if (names.length !== Object.keys(b).length) return false
  return names.every((name) => Object.hasOwn(b, name) && isSame(a[name], b[name], depth + 1))
}

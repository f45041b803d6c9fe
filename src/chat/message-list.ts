import { isRecord } from '../core/is-record.ts'
import type { AgentInstanceMessage, MessageCall } from '../plugins/message.ts'

/** A message of a person and all that follows it. What comes before the first one is a turn without `user`. */
export interface ChatTurn {
  /** The id of its first message. */
  readonly id: string
  readonly user?: AgentInstanceMessage
  /** All of them, that of the person included. */
  readonly messages: readonly AgentInstanceMessage[]
}

/** The messages of a conversation, for a screen. What did not change is the same object as before, lists included. */
export interface MessageList {
  /** Adds a message, or puts it in the place of the one with its id. False where nothing changed. */
  apply(message: AgentInstanceMessage): boolean
  /** False where there is none. A stream that goes on does not bring it back. */
  remove(id: string): boolean
  /** The person stopped: whatever is streamed stays as it is until its final form comes. */
  cancel(): void
  /** Hidden ones are found too. */
  get(id: string): AgentInstanceMessage | undefined
  /** In the order in which they came, hidden ones left out. */
  readonly ids: readonly string[]
  readonly turns: readonly ChatTurn[]
  /** Whether there are so many messages that a screen should draw only those it shows. */
  readonly isVirtualised: boolean
  /** Whether the next model call is without it. Such messages are shown faded. */
  isFaded(id: string): boolean
}

/** With more messages than this, a screen should draw only what it shows. */
export const virtualisedAbove = 50

/** A list without messages. */
export function createMessageList(): MessageList {
  const messages = new Map<string, AgentInstanceMessage>()
  /** Removed or cancelled: what is still streamed of them comes too late. */
  const closed = new Set<string>()
  let ids: readonly string[] | undefined
  let turns: readonly ChatTurn[] = []
  let hasStaleTurns = false
  let answeredBefore: ReadonlyMap<string, number> | undefined
  let answered = 0
  /** Model calls so far, as the messages themselves count them: those that were removed count, too. */
  let rounds = 0
  /** The results, by their calls. */
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

  /** Whether a call is still sent: for as long as its result is, or there is none. */
  const isToSend = ({ callId }: MessageCall): boolean => {
    const result = messages.get(results.get(callId) ?? '')
    return !result || isSaying(result) || !isFaded(result, answeredSince(result))
  }

  return {
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
      if (!messages.delete(id)) return false
      ids = answeredBefore = undefined
      hasStaleTurns = true
      return true
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
      if (!message || typeof message.duration !== 'number' || isSaying(message)) return false
      const { calls = [] } = message.metadata ?? {}
      return calls.length > 0 ? !calls.some(isToSend) : isFaded(message, answeredSince(message))
    },
  }
}

/** Whether the next model call is without a message, after which so many were answered. */
export function isFaded({ duration }: Pick<AgentInstanceMessage, 'duration'>, answeredSince: number): boolean {
  // A log may hold null, which means the same as nothing.
  return typeof duration === 'number' && answeredSince >= duration
}

const isStreamed = ({ metadata }: AgentInstanceMessage): boolean => metadata?.isComplete === false

/** The result of a call that was the answer: it is sent as what the agent said. */
const isSaying = ({ duration, content, metadata }: AgentInstanceMessage): boolean =>
  duration === 0 && content !== '' && isRecord(metadata?.details) && metadata.details.leavesTo === 'end'

/** One for each model call, where messages do not say themselves how many there were. */
const isAnswer = (message: AgentInstanceMessage): boolean => message.role === 'assistant' && !isStreamed(message)

/** A stream changes the last turn many times a second, so the others are not looked at; undefined where they must be. */
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

/** Turns whose messages are all the same objects as before are the same objects, too. */
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

/** Deeper than this nobody looks: a message may carry anything, and what cannot be compared counts as changed. */
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

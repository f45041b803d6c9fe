import type { LogEntry } from '../core/log.ts'
import type { Message, SessionTurn } from '../core/turn.ts'
import type { AgentInstanceMessage } from './message.ts'
import { MessageProjection } from './message-projection.ts'
import { marksOf } from './tool-marks.ts'

/** The views of a log: the messages for people, and the messages for the model. An entry that comes twice counts once. */
export class LogViews {
  readonly messages: MessageProjection
  readonly durations: DurationView
  #head = 0

  constructor(agentId: string, resultDuration: number | null) {
    this.messages = new MessageProjection({ agentId, resultDuration })
    this.durations = new DurationView(this.messages)
  }

  get head(): number {
    return this.#head
  }

  /** Returns the messages that changed. */
  apply(entry: LogEntry): readonly AgentInstanceMessage[] {
    if (entry.seq <= this.#head) return []
    this.#head = entry.seq
    if (entry.type === 'rewind') this.durations.rewind()
    return this.messages.apply(entry)
  }
}

/** How long a result is sent. */
interface SentResult {
  /** The number of model calls when it came. */
  readonly round: number
  readonly duration: number | null
  /** The result was the answer of the agent, and stays as its text. */
  readonly answer?: string
}

/**
 * The part of a conversation that is still sent. A call and its result are sent with as many model calls as the message of
 * the result says, and are then left out together; texts of people and of the agent stay.
 */
class DurationView {
  readonly #messages: MessageProjection
  readonly #shown = new WeakMap<Message, { readonly key: string; readonly message: Message | undefined }>()
  #final: { readonly seen: Message[]; readonly parts: Message[] } = { seen: [], parts: [] }

  constructor(messages: MessageProjection) {
    this.#messages = messages
  }

  /** Results that were over may be sent again. */
  rewind(): void {
    this.#final = { seen: [], parts: [] }
  }

  #resultOf(callId: string): SentResult | undefined {
    const message = this.#messages.get(`${callId}.result`)
    if (!message) return undefined
    const { duration = null, content, metadata = {} } = message
    const isAnswer = duration === 0 && content !== '' && marksOf(metadata.details).leavesTo === 'end'
    return { round: metadata.round ?? 0, duration, ...(isAnswer && { answer: content }) }
  }

  /** The messages of the next model call. A message that is sent whole is the same object. */
  of(messages: readonly Message[]): readonly Message[] {
    if (this.#final.seen.some((message, i) => message !== messages[i])) this.#final = { seen: [], parts: [] }
    this.#extendFinal(messages)
    const rest = messages.slice(this.#final.seen.length).flatMap((message) => this.#part(message) ?? [])
    return [...this.#final.parts, ...rest]
  }

  /** Messages that cannot change any more are computed once. */
  #extendFinal(messages: readonly Message[]): void {
    const { seen, parts } = this.#final
    for (let i = seen.length; i < messages.length && this.#isFinal(messages[i]!); i++) {
      seen.push(messages[i]!)
      const part = this.#part(messages[i]!)
      if (part) parts.push(part)
    }
  }

  #isFinal({ content }: Message): boolean {
    return content.every((block) => {
      const callId = callIdOf(block)
      const result = callId === undefined ? undefined : this.#resultOf(callId)
      return callId === undefined || (result && (result.duration === null || this.#isOver(result)))
    })
  }

  #part(message: Message): Message | undefined {
    const ids = message.content.flatMap((block) => callIdOf(block) ?? [])
    if (ids.length === 0) return message
    const key = ids.map((id) => (this.#isSent(id) ? '1' : '0')).join('')
    if (!key.includes('0')) return message
    const known = this.#shown.get(message)
    if (known?.key === key) return known.message
    const part = this.#without(message)
    this.#shown.set(message, { key, message: part })
    return part
  }

  #without(message: Message): Message | undefined {
    const answers =
      message.role === 'assistant' ? message.content.flatMap((block) => this.#answerOf(callIdOf(block))) : []
    const kept = message.content.filter((block) => {
      const id = callIdOf(block)
      return id === undefined || this.#isSent(id)
    })
    const isNeeded = answers.length > 0 || kept.some((block) => callIdOf(block) !== undefined)
    // A text that only introduced calls is left out with them.
    if (!isNeeded) return message.role === 'user' && kept.length > 0 ? { ...message, content: kept } : undefined
    const texts = answers.map((text) => ({ type: 'text', text }) as const)
    return { ...(message as SessionTurn), content: [...kept, ...texts] }
  }

  #answerOf(callId: string | undefined): readonly string[] {
    const answer = callId === undefined ? undefined : this.#resultOf(callId)?.answer
    return answer === undefined ? [] : [answer]
  }

  /** A call without a result is sent. */
  #isSent(callId: string): boolean {
    const result = this.#resultOf(callId)
    return !result || !this.#isOver(result)
  }

  #isOver({ round, duration }: SentResult): boolean {
    return duration !== null && this.#messages.rounds - round >= duration
  }
}

function callIdOf(block: Message['content'][number]): string | undefined {
  if (block.type === 'tool_call') return block.id
  return block.type === 'tool_result' ? block.callId : undefined
}

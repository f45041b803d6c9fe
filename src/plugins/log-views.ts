import type { LogEntry } from '../core/log.ts'
import { toolResultToText } from '../core/tool-output.ts'
import { type Message, type SessionTurn, toolCallsOf } from '../core/turn.ts'
import type { AgentInstanceMessage } from './message.ts'
import { MessageProjection } from './message-projection.ts'
import { errorResultDuration, marksOf } from './tool-marks.ts'

/** The views of a log: the messages for people, and the messages for the model. An entry that comes twice counts once. */
export class LogViews {
  readonly messages: MessageProjection
  readonly durations: DurationView
  #head = 0

  constructor(agentId: string, resultDuration: number | null) {
    this.messages = new MessageProjection({ agentId, resultDuration })
    this.durations = new DurationView(resultDuration)
  }

  get head(): number {
    return this.#head
  }

  /** Returns the messages that changed. */
  apply(entry: LogEntry): readonly AgentInstanceMessage[] {
    if (entry.seq <= this.#head) return []
    this.#head = entry.seq
    this.durations.apply(entry)
    return this.messages.apply(entry)
  }
}

interface Pair {
  readonly seq: number
  /** The number of model calls when the result came. */
  readonly round: number
  readonly duration: number | null
  /** The result was the answer of the agent, and stays as its text. */
  readonly answer?: string
}

/**
 * The part of a conversation that is still sent. A call and its result are sent with as many model calls as the result
 * says, and are then left out together; texts of people and of the agent stay. Fed with log entries, in order.
 */
export class DurationView {
  readonly #resultDuration: number | null
  readonly #pairs = new Map<string, Pair>()
  readonly #shown = new WeakMap<Message, { readonly key: string; readonly message: Message | undefined }>()
  #final: { readonly seen: Message[]; readonly parts: Message[] } = { seen: [], parts: [] }
  /** The model calls so far, and their tool calls. */
  #turns: { readonly seq: number; readonly calls: readonly string[] }[] = []

  constructor(resultDuration: number | null) {
    this.#resultDuration = resultDuration
  }

  apply(entry: LogEntry): void {
    if (entry.type === 'rewind') this.#rewind(entry.toSeq)
    if (entry.type === 'turn' && entry.turn.role === 'assistant')
      this.#turns.push({ seq: entry.seq, calls: toolCallsOf(entry.turn).map(({ id }) => id) })
    if (entry.type !== 'call_result') return
    const { seq, callId, output, isError, details } = entry
    const { duration = isError ? errorResultDuration : this.#resultDuration, leavesTo } = marksOf(details)
    const said = duration === 0 && leavesTo === 'end' ? toolResultToText(output) : ''
    this.#pairs.set(callId, { seq, round: this.#rounds, duration, ...(said !== '' && { answer: said }) })
  }

  get #rounds(): number {
    return this.#turns.length
  }

  /** Removes what came later, and the last turn if not all its calls have results. */
  #rewind(toSeq: number): void {
    for (const [callId, { seq }] of this.#pairs) if (seq > toSeq) this.#pairs.delete(callId)
    this.#turns = this.#turns.filter(({ seq }) => seq <= toSeq)
    if (this.#turns.at(-1)?.calls.some((callId) => !this.#pairs.has(callId)))
      for (const callId of this.#turns.pop()!.calls) this.#pairs.delete(callId)
    this.#final = { seen: [], parts: [] }
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
      const pair = this.#pairs.get(callIdOf(block) ?? '')
      return (
        callIdOf(block) === undefined || (pair && (pair.duration === null || this.#isOver(pair.round, pair.duration)))
      )
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
    const answer = callId === undefined ? undefined : this.#pairs.get(callId)?.answer
    return answer === undefined ? [] : [answer]
  }

  /** A call without a result is sent. */
  #isSent(callId: string): boolean {
    const pair = this.#pairs.get(callId)
    if (!pair || pair.duration === null) return true
    return !this.#isOver(pair.round, pair.duration)
  }

  #isOver(round: number, duration: number): boolean {
    return this.#rounds - round >= duration
  }
}

function callIdOf(block: Message['content'][number]): string | undefined {
  if (block.type === 'tool_call') return block.id
  return block.type === 'tool_result' ? block.callId : undefined
}

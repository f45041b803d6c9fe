import type { LogEntry } from '../core/log.ts'
import { toolResultToText } from '../core/tool-output.ts'
import { type Message, type SessionTurn, toolCallsOf } from '../core/turn.ts'
import type { AgentInstanceMessage } from './message.ts'
import { MessageProjection } from './message-projection.ts'
import { errorResultDuration, marksOf } from './tool-marks.ts'

/** What a log amounts to for people and for the model; fed with its entries, each counted once however often it comes. */
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

  /** The messages that changed. */
  apply(entry: LogEntry): readonly AgentInstanceMessage[] {
    if (entry.seq <= this.#head) return []
    this.#head = entry.seq
    this.durations.apply(entry)
    return this.messages.apply(entry)
  }
}

interface Pair {
  readonly seq: number
  /** Model calls there had been when it was answered. */
  readonly round: number
  readonly duration: number | null
  /** The call was the answer: it stays as what the agent said. */
  readonly saying?: string
}

/**
 * What is still sent of a conversation. A call and its result are sent for as many model calls as the result says, and
 * are then left out together; what people and the agent said stays. Learns from log entries, in order.
 */
export class DurationView {
  readonly #resultDuration: number | null
  readonly #pairs = new Map<string, Pair>()
  readonly #shown = new WeakMap<Message, { readonly key: string; readonly message: Message | undefined }>()
  #settled: { readonly seen: Message[]; readonly parts: Message[] } = { seen: [], parts: [] }
  /** The model calls so far: where they stand, and what they asked for. */
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
    this.#pairs.set(callId, { seq, round: this.#rounds, duration, ...(said !== '' && { saying: said }) })
  }

  get #rounds(): number {
    return this.#turns.length
  }

  /** What came later is not counted any more; a call whose results are not all there goes too. */
  #rewind(toSeq: number): void {
    for (const [callId, { seq }] of this.#pairs) if (seq > toSeq) this.#pairs.delete(callId)
    this.#turns = this.#turns.filter(({ seq }) => seq <= toSeq)
    if (this.#turns.at(-1)?.calls.some((callId) => !this.#pairs.has(callId)))
      for (const callId of this.#turns.pop()!.calls) this.#pairs.delete(callId)
    this.#settled = { seen: [], parts: [] }
  }

  /** The messages of the next model call. What is sent whole is the very same object. */
  of(messages: readonly Message[]): readonly Message[] {
    if (this.#settled.seen.some((message, i) => message !== messages[i])) this.#settled = { seen: [], parts: [] }
    this.#settle(messages)
    const rest = messages.slice(this.#settled.seen.length).flatMap((message) => this.#part(message) ?? [])
    return [...this.#settled.parts, ...rest]
  }

  /** What cannot change any more is not looked into again. */
  #settle(messages: readonly Message[]): void {
    const { seen, parts } = this.#settled
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
    const sayings =
      message.role === 'assistant' ? message.content.flatMap((block) => this.#saying(callIdOf(block))) : []
    const kept = message.content.filter((block) => {
      const id = callIdOf(block)
      return id === undefined || this.#isSent(id)
    })
    const isNeeded = sayings.length > 0 || kept.some((block) => callIdOf(block) !== undefined)
    // Words that only led to calls go with them.
    if (!isNeeded) return message.role === 'user' && kept.length > 0 ? { ...message, content: kept } : undefined
    const said = sayings.map((text) => ({ type: 'text', text }) as const)
    return { ...(message as SessionTurn), content: [...kept, ...said] }
  }

  #saying(callId: string | undefined): readonly string[] {
    const saying = callId === undefined ? undefined : this.#pairs.get(callId)?.saying
    return saying === undefined ? [] : [saying]
  }

  /** A call that nobody has answered yet is sent. */
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

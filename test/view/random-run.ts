import type { EntryBody, LogEntry } from '../../src/core/log.ts'
import type { OpenReply } from '../../src/core/run.ts'
import type { StreamedEvent } from '../../src/events/event-queue.ts'
import type { Provisional } from '../../src/events/events.ts'
import type { Row } from '../../src/view/rows.ts'
import type { SessionView } from '../../src/view/session-view.ts'

/** A session that a run writes, step by step: replies that stream, and entries that come in the middle of them. */
export class RandomRun {
  readonly log: LogEntry[] = []
  #open: Streaming | undefined
  #n = 0

  /** What is streamed with a step, and what is logged after that. */
  step(choice: number): { readonly streamed: readonly StreamedEvent[]; readonly logged?: LogEntry } {
    const pick = choice >> 4
    const open = this.#open
    const word = `${++this.#n} `
    if (choice % 16 === 0 || (!open && pick % 2 === 0)) return this.#begin(word)
    if (!open) return { streamed: [], logged: this.#append(besides[pick % besides.length]!(this.#n)) }
    const { turnId, attempt } = open
    switch (choice % 16) {
      case 1:
        this.#open = { ...open, attempt: attempt + 1, text: '', thinking: '', calls: [] }
        return {
          streamed: [
            this.#event({ type: 'stream_void', turnId, attempt, reason: 'lost' }),
            this.#event({ type: 'stream_started', turnId, attempt: attempt + 1 }),
          ],
        }
      case 2:
        open.thinking += word
        return { streamed: [this.#event({ type: 'thinking', turnId, attempt, delta: word })] }
      case 3: {
        const call = { callId: `c${this.#n}`, name: 'look', args: '' }
        open.calls.push(call)
        return { streamed: [this.#event({ type: 'tool_start', turnId, displayName: 'Look', ...call })] }
      }
      case 4:
      case 5: {
        const call = open.calls.at(-1)
        if (!call) break
        call.args += word
        return { streamed: [this.#event({ type: 'tool_args', turnId, callId: call.callId, delta: word })] }
      }
      case 6:
      case 7:
      case 8:
      case 9:
        return { streamed: [], logged: this.#append(besides[pick % besides.length]!(this.#n)) }
      case 10:
        this.#open = undefined
        return { streamed: [], logged: this.#append(turnOf(open)) }
      case 11:
        if (pick % 2 > 0) break
        this.#open = undefined
        return { streamed: [], logged: this.#append({ type: 'run_ended', runId: 'r', status: 'error', stop: 'error' }) }
    }
    open.text += word
    return { streamed: [this.#event({ type: 'text', turnId, attempt, delta: word })] }
  }

  /** For a reader that joins, or that has lost something. */
  snapshot(): StreamedEvent | undefined {
    const open = this.#open
    if (!open) return undefined
    const reply = { ...open, calls: open.calls.map((call) => ({ ...call })) }
    return { durable: false, type: 'snapshot', after: this.log.length, reply }
  }

  #begin(word: string): { streamed: StreamedEvent[] } {
    const turnId = `t${word.trim()}`
    this.#open = { turnId, attempt: 1, text: '', thinking: '', calls: [] }
    return { streamed: [this.#event({ type: 'turn_started', turnId, step: 1 })] }
  }

  #event(body: Provisional): StreamedEvent {
    return { durable: false, after: this.log.length, n: this.#n, ...body }
  }

  #append(body: EntryBody): LogEntry {
    const seq = this.log.length + 1
    const entry = { ...body, seq, id: `e${seq}`, at: seq }
    this.log.push(entry)
    return entry
  }
}

interface Streaming extends OpenReply {
  text: string
  thinking: string
  readonly calls: { callId: string; name: string; args: string }[]
}

const besides: readonly ((n: number) => EntryBody)[] = [
  (n) => ({ type: 'input', mode: 'steer', clientKey: `k${n}`, content: [{ type: 'text', text: `steer ${n}` }] }),
  (n) => ({ type: 'state', owner: 'notes', value: n }),
  (n) => ({ type: 'label', text: `label ${n}` }),
]

function turnOf({ turnId: id, text, calls }: OpenReply): EntryBody {
  const blocks = calls.map(({ callId, name }) => ({ type: 'tool_call', id: callId, name, input: {} }) as const)
  const content = [{ type: 'text' as const, text }, ...blocks]
  return { type: 'turn', turn: { id, runId: 'r', role: 'assistant', createdAt: 0, content } }
}

/** The rows, without the numbers that those which only stream have meanwhile; an answer that has not begun is none. */
export function shownRows({ rows, fold }: SessionView): readonly object[] {
  const streaming = rows.slice(fold.committed).map((row) => ({ ...row, seq: 0 }))
  const isEmpty = (row: Row): boolean => row.kind === 'answer' && row.text === '' && row.thinking === ''
  return [...rows.slice(0, fold.committed), ...(streaming.every(isEmpty) ? [] : streaming)]
}

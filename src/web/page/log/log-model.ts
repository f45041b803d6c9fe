import type { LogEntry, RemoteEvent } from '../libero.ts'
import { backOff } from '../model/back-off.ts'
import { Cell, type Model } from '../model/model.ts'
import { entryWords } from './entry-words.ts'

/** Where entries come from: a session of the server, or a file. */
export interface LogSource {
  /** The entries above `after`, at most 500; none at the end. */
  read(after: number, to?: number): Promise<readonly LogEntry[]>
  /** What is added from then on. Absent for a file. */
  follow?(after: number, signal: AbortSignal): AsyncIterable<RemoteEvent>
}

/** What the inspector keeps of an entry; the rest is read when it is looked at. */
export interface EntryFact {
  readonly seq: number
  readonly type: LogEntry['type']
  readonly at: number
  readonly words: string
  /** The person's turn, the model's, or the call that it is about. */
  readonly about?: string
}

/** Something that lasts from one entry to another. */
export interface Span {
  readonly lane: 'runs' | 'calls'
  readonly id: string
  readonly label: string
  readonly from: number
  /** Absent while it is open. */
  readonly to?: number
  readonly outcome?: 'good' | 'bad' | 'waits'
}

export interface LogState {
  readonly facts: readonly EntryFact[]
  readonly spans: readonly Span[]
  readonly isWhole: boolean
  readonly problem?: unknown
}

export interface LogModel extends Model<LogState> {
  start(): void
  stop(): void
}

/** Reads a whole log, page by page, and follows it from then on. */
export function createLogModel(source: LogSource): LogModel {
  const cell = new Cell<LogState>({ facts: [], spans: [], isWhole: false })
  let stopping = new AbortController()
  async function readAll(signal: AbortSignal): Promise<void> {
    const facts: EntryFact[] = []
    const lanes = createSpans()
    const add = (entries: readonly LogEntry[], isWhole: boolean): void => {
      for (const entry of entries) {
        facts.push(factOf(entry))
        lanes.add(entry)
      }
      cell.set({ facts: [...facts], spans: lanes.all(), isWhole })
    }
    const head = (): number => facts.at(-1)?.seq ?? 0
    for (let tries = 0; !signal.aborted; tries++) {
      try {
        while (!cell.state.isWhole && !signal.aborted) {
          const entries = await source.read(head())
          add(entries, entries.length === 0)
        }
        if (!source.follow) return
        for await (const event of source.follow(head(), signal)) {
          tries = 0
          if (event.durable) add([event.entry], true)
        }
      } catch (problem) {
        if (signal.aborted) return
        if (!cell.state.isWhole) return cell.change({ problem })
      }
      await backOff(tries) // what was read stays, and goes on from there
    }
  }
  return {
    get state() {
      return cell.state
    },
    subscribe: (listener) => cell.subscribe(listener),
    start() {
      stopping = new AbortController()
      cell.set({ facts: [], spans: [], isWhole: false })
      void readAll(stopping.signal)
    },
    stop() {
      stopping.abort()
    },
  }
}

function factOf(entry: LogEntry): EntryFact {
  const { seq, type, at } = entry
  const about = entry.type === 'turn' ? entry.turn.role : 'callId' in entry ? entry.callId : undefined
  return { seq, type, at, words: entryWords(entry), ...(about !== undefined && { about }) }
}

/** Runs and calls, as their entries tell when they began and ended. */
export function createSpans() {
  const spans = new Map<string, Span>()
  const begin = (span: Span): void => void spans.set(`${span.lane} ${span.id}`, span)
  const change = (lane: Span['lane'], id: string, more: Partial<Span>): void => {
    const known = spans.get(`${lane} ${id}`)
    if (known) spans.set(`${lane} ${id}`, { ...known, ...more })
  }
  return {
    add(entry: LogEntry): void {
      const { seq } = entry
      if (entry.type === 'run_started') begin({ lane: 'runs', id: entry.runId, label: entry.model, from: seq })
      if (entry.type === 'run_ended')
        change('runs', entry.runId, { to: seq, outcome: entry.status === 'error' ? 'bad' : 'good' })
      if (entry.type === 'turn')
        for (const block of entry.turn.content)
          if (block.type === 'tool_call') begin({ lane: 'calls', id: block.id, label: block.name, from: seq })
      if (entry.type === 'approval_requested') change('calls', entry.callId, { outcome: 'waits' })
      if (entry.type === 'call_result')
        change('calls', entry.callId, { to: seq, outcome: entry.isError ? 'bad' : 'good' })
    },
    all: (): readonly Span[] => [...spans.values()],
  }
}

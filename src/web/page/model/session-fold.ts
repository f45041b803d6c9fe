import {
  type CallResultView,
  callOutcome,
  emptyView,
  foldEvent,
  foldOnwards,
  type LogEntry,
  type RemoteEvent,
  replacesReply,
  type SessionView,
} from '../libero.ts'
import { cutEntry, resultIn } from './cut-entry.ts'

export type CallEnd = ReturnType<typeof callOutcome>

/**
 * The view of a session that is shown before all of it is read: first its end, which then goes on live, and behind it the
 * whole from the beginning, until that one has caught up and takes its place.
 */
export interface SessionFold {
  readonly view: SessionView
  /** The view has all entries. */
  readonly isWhole: boolean
  /** The last entry that was read from the beginning: what follows it is to be read next. */
  readonly readTo: number
  /** Begins with the last entries. */
  begin(entries: readonly LogEntry[]): void
  /** Goes on with what comes live. */
  apply(event: RemoteEvent): void
  /** Adds the entries after `readTo`. Returns whether the whole has just taken its place. */
  addRead(entries: readonly LogEntry[]): boolean
  /** Whether an entry is longer in the log than in the view. */
  isCut(seq: number): boolean
  /** How a call ended, as its whole result tells it. */
  endOf(result: CallResultView): CallEnd
}

export function createSessionFold(): SessionFold {
  let view = emptyView
  let whole = emptyView
  let isWhole = false
  /** What was streamed of the open reply: the log does not have it. */
  let streamed: RemoteEvent[] = []
  const cut = new Set<number>()
  const ends = new Map<number, CallEnd>()

  const kept = (entry: LogEntry): LogEntry => {
    const { entry: shorter, isCut } = cutEntry(entry)
    if (!isCut || cut.has(entry.seq)) return shorter
    cut.add(entry.seq)
    // The facts beside a call count lines, so they are found before the lines go.
    if (entry.type === 'call_result') ends.set(entry.seq, withoutDiff(callOutcome(resultIn(entry)!)))
    return shorter
  }

  const fold = (to: SessionView, entry: LogEntry): SessionView =>
    foldEvent(to, { durable: true, seq: entry.seq, entry: kept(entry) })

  return {
    get view() {
      return view
    },
    get isWhole() {
      return isWhole
    },
    get readTo() {
      return whole.head
    },
    begin(entries) {
      const before = (entries[0]?.seq ?? 1) - 1
      view = entries.reduce(fold, { ...emptyView, head: before })
      isWhole = before === 0
    },
    apply(event) {
      if (event.durable) {
        if (replacesReply(event.entry)) streamed = []
        view = foldOnwards(view, { ...event, entry: kept(event.entry) })
      } else if (event.type === 'child') {
        const { event: told } = event
        view = foldEvent(
          view,
          told.durable ? { ...event, event: { ...told, entry: cutEntry(told.entry).entry } } : event,
        )
      } else {
        if (!isWhole) streamed.push(event)
        view = foldEvent(view, event)
      }
    },
    addRead(entries) {
      if (isWhole) return false
      for (const entry of entries) if (entry.seq <= view.head) whole = fold(whole, entry)
      if (whole.head < view.head) return false
      view = streamed.reduce(foldEvent, { ...whole, children: view.children })
      whole = emptyView
      streamed = []
      isWhole = true
      return true
    },
    isCut: (seq) => cut.has(seq),
    endOf: (result) => ends.get(result.seq) ?? callOutcome(result),
  }
}

const withoutDiff = ({ diff: _, ...end }: CallEnd): CallEnd => end

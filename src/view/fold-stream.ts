import type { ProvisionalEvent } from '../events/events.ts'
import type { SnapshotEvent } from '../events/live-feed.ts'
import { changeCall, dropStreaming } from './change-rows.ts'
import type { AnswerRow, CallRow, Row } from './rows.ts'
import type { SessionView } from './session-view.ts'

/** The view after an event that is not in the log: what the model streams, and what a call that runs tells. */
export function foldStream(view: SessionView, event: ProvisionalEvent): SessionView {
  switch (event.type) {
    case 'turn_started':
    case 'stream_started':
      return withoutRetry(dropStreaming(view))
    case 'text':
      return changeAnswer(view, event.turnId, (row) => ({ ...row, text: row.text + event.delta }))
    case 'thinking':
      return changeAnswer(view, event.turnId, (row) => ({ ...row, thinking: row.thinking + event.delta }))
    case 'stream_void': {
      const { attempt, reason, delayMs } = event
      return { ...dropStreaming(view), retry: { attempt, reason, ...(delayMs !== undefined && { delayMs }) } }
    }
    case 'tool_start': {
      const { callId, turnId, name, origin } = event
      // The calls of an answer come after it, also if it has no text.
      return pushStreaming(changeAnswer(view, turnId, same), {
        ...streamingCall(view, { callId, turnId, name }),
        ...(origin && { origin }),
      })
    }
    case 'tool_args':
      return changeStreaming(view, event.callId, (row) => withLive(row, { args: (row.live?.args ?? '') + event.delta }))
    case 'tool_end':
      return view
    case 'call_decided': {
      const { callId, decision, approver, parentCallId } = event
      if (parentCallId !== undefined) return view
      return changeCall(view, callId, (row) => withLive(row, { decision, ...(approver !== undefined && { approver }) }))
    }
    case 'tool_progress':
      return changeCall(view, event.callId, (row) => withLive(row, { progress: event.text }))
    case 'turn_failed':
      if (isCommitted(view, event.turnId)) return view
      return changeAnswer(withoutStreamingCalls(view), event.turnId, ({ isOpen: _, ...row }) => ({
        ...row,
        ...(event.stop === 'aborted' ? { isInterrupted: true } : { error: event.error }),
        ...(event.partial !== undefined && { text: event.partial }),
      }))
    default:
      return view // a sub-agent's, which `foldEvent` handles, or of a later version
  }
}

/** The answer that streams. */
export function openAnswer({ rows, fold }: SessionView): AnswerRow | undefined {
  const row = rows.at(fold.committed)
  return row?.kind === 'answer' && row.isOpen ? row : undefined
}

/** The view with all that was streamed of a reply. */
export function foldSnapshot(view: SessionView, { reply }: SnapshotEvent): SessionView {
  const { turnId, text, thinking, calls } = reply
  let now = changeAnswer(dropStreaming(view), turnId, (row) => ({ ...row, text, thinking }))
  for (const { callId, name, args } of calls)
    now = pushStreaming(now, streamingCall(now, { callId, turnId, name, args }))
  return now
}

const withLive = (row: CallRow, live: NonNullable<CallRow['live']>): CallRow => ({
  ...row,
  live: { ...row.live, ...live },
})

function streamingCall(
  { head }: SessionView,
  { callId: id, turnId, name, args }: { callId: string; turnId: string; name: string; args?: string },
): CallRow {
  const base = { kind: 'call', id, seq: head + 1, at: 0, turnId, name, input: {}, state: 'streaming' } as const
  return args ? { ...base, live: { args } } : base
}

const pushStreaming = (view: SessionView, row: Row): SessionView => ({ ...view, rows: view.rows.push(row) })

const same = (row: AnswerRow): AnswerRow => row

/** Whether an answer is in the log, as what an interrupted one had said. */
function isCommitted({ rows, fold }: SessionView, turnId: string): boolean {
  let at = fold.committed - 1
  while (rows.at(at)?.kind === 'call') at--
  return at >= 0 && rows.at(at)?.id === turnId
}

function withoutRetry(view: SessionView): SessionView {
  if (!view.retry) return view
  const { retry: _, ...rest } = view
  return rest
}

/** The answer that streams is the first row after the committed ones. */
function changeAnswer(before: SessionView, turnId: string, change: (row: AnswerRow) => AnswerRow): SessionView {
  const view = withoutRetry(before)
  const at = view.fold.committed
  const row = view.rows.at(at)
  if (row?.kind === 'answer' && row.id === turnId) return { ...view, rows: view.rows.with(at, change(row)) }
  const base = {
    kind: 'answer',
    id: turnId,
    seq: view.head + 1,
    at: 0,
    text: '',
    thinking: '',
    content: [],
    isOpen: true,
  } as const
  return pushStreaming(dropStreaming(view), change(base))
}

function withoutStreamingCalls(view: SessionView): SessionView {
  const { rows, fold } = view
  const hasAnswer = rows.at(fold.committed)?.kind === 'answer'
  return { ...view, rows: rows.take(fold.committed + (hasAnswer ? 1 : 0)) }
}

/** Searches from the end: the call that streams is the last one. */
function changeStreaming(view: SessionView, callId: string, change: (row: CallRow) => CallRow): SessionView {
  for (let at = view.rows.length - 1; at >= view.fold.committed; at--) {
    const row = view.rows.at(at)
    if (row?.kind === 'call' && row.id === callId) return { ...view, rows: view.rows.with(at, change(row)) }
  }
  return view
}

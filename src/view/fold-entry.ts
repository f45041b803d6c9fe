import { continueNote } from '../core/interruption-note.ts'
import { isRecord } from '../core/is-record.ts'
import type { EntryOf, LogEntry } from '../core/log.ts'
import { concernsStatus, foldStatus } from '../core/session-status.ts'
import { type SessionContentBlock, type TurnUsage, textOf } from '../core/turn.ts'
import { readable } from '../core/turn-list.ts'
import { addRow, dropStreaming } from './change-rows.ts'
import {
  answerApproval,
  answerQuestion,
  callRow,
  endCall,
  pauseCalls,
  requestApproval,
  resultOf,
  startCall,
} from './fold-call.ts'
import type { AnswerRow, MessageRow, NoticeRow, Row } from './rows.ts'
import type { SessionView, TodoView, UsageView } from './session-view.ts'
import { forgetUnlessBack, resultBefore, rowsBefore, takeBack } from './taken-back.ts'

/** The view after a log entry, except its `head`. */
export function foldEntry(view: SessionView, entry: LogEntry): SessionView {
  const notice = noticeOf(entry)
  const changed = withStatus(foldBody(view, entry), entry)
  if (!notice) return changed
  return addRow(changed, { kind: 'notice', id: entry.id, seq: entry.seq, at: entry.at, ...notice })
}

function withStatus(view: SessionView, entry: LogEntry): SessionView {
  if (!concernsStatus(entry)) return view
  const before = view.fold.status
  const facts = { ...before }
  foldStatus(facts, entry)
  // Most entries change none of them, and a copy of the view costs more.
  for (const name of statusFacts)
    if (facts[name] !== before[name]) return { ...view, status: facts.status, fold: { ...view.fold, status: facts } }
  return view
}

const statusFacts = ['status', 'openCalls', 'asked', 'isActive', 'runId', 'isAnswered', 'statusBeneath'] as const

function foldBody(view: SessionView, entry: LogEntry): SessionView {
  switch (entry.type) {
    case 'run_started':
      return beginRun(view, entry)
    case 'details': {
      const { type: _, seq: __, id: ___, at: ____, ...details } = entry
      return { ...view, details: { ...view.details, ...details } }
    }
    case 'input':
      return entry.mode === 'answer' ? answerQuestion(view, entry) : queueMessage(view, entry)
    case 'withdrawn':
      return { ...view, queue: view.queue.filter(({ id }) => id !== entry.input) }
    case 'turn':
      return addTurn(view, { ...entry, turn: readable(entry.turn) })
    case 'call_started':
      return startCall(view, entry)
    case 'call_result':
      return endCall(view, entry.callId, resultOf(entry))
    case 'approval_requested':
      return requestApproval(view, entry)
    case 'approval_answered':
      return answerApproval(view, entry)
    case 'usage':
      return { ...view, usage: added(view.usage, entry.usage) }
    case 'state':
      return entry.owner === 'todo' ? { ...view, todos: todosOf(entry.value) } : view
    case 'compaction': {
      const { id, seq, at, toSeq, summary } = entry
      return addRow(view, { kind: 'compaction', id, seq, at, toSeq, summary })
    }
    case 'rewind':
      return rewind(view, entry.toSeq)
    case 'run_ended':
      return endRun(view, entry)
    default:
      return view
  }
}

function beginRun(view: SessionView, entry: EntryOf<'run_started'>): SessionView {
  const { runId: id, model, at, seq, agent, processId } = entry
  const { fold, jobs } = view
  const isSameProcess = processId !== undefined && processId === fold.processId
  return {
    ...view,
    run: { id, model, startedAt: at, ...(agent !== undefined && { agent }) },
    jobs: isSameProcess ? jobs : [],
    fold: { ...fold, beganAt: seq, isBeginning: true, ...(processId !== undefined && { processId }) },
  }
}

function endRun(view: SessionView, { status, stop, dropsTo }: EntryOf<'run_ended'>): SessionView {
  const { run: _, retry: __, ...rest } = pauseCalls(dropStreaming(view), { status, stop })
  const queue = dropsTo === undefined ? view.queue : view.queue.filter(({ seq }) => seq > dropsTo)
  return { ...rest, queue }
}

/** A stop is no message to the model. */
function queueMessage(view: SessionView, { type: _, callId: __, ...message }: EntryOf<'input'>): SessionView {
  if (message.mode === 'stop') return view
  return { ...view, queue: [...view.queue, message] }
}

function addTurn(view: SessionView, entry: EntryOf<'turn'>): SessionView {
  return entry.turn.role === 'user' ? addMessages(view, entry) : addAnswer(view, entry)
}

/** A turn of the user: messages that waited, a prompt, a note of the program, or results of an imported log. */
function addMessages(view: SessionView, entry: EntryOf<'turn'>): SessionView {
  const { turn, consumed = [], clientKey, seq } = entry
  const results = turn.content.filter((block) => block.type === 'tool_result')
  let now = view
  for (const { callId, output, isError } of results) {
    const result = { at: turn.createdAt, output, outcome: 'done', ...(isError && { isError }) } as const
    now = endCall(now, callId, { ...(resultBefore(now, callId) ?? result), seq })
  }
  if (results.length > 0 && results.length === turn.content.length) return now
  now = forgetUnlessBack(now, turn.id)
  const isBare = consumed.length === 0 && clientKey === undefined
  const { beganAt, isBeginning } = view.fold
  const isPrompt = isBeginning || (!view.run && beginsRun(view, turn.runId))
  const isNote = isBare && (!isPrompt || textOf(turn) === continueNote)
  const queued = view.queue.filter(({ id }) => consumed.includes(id))
  now = {
    ...now,
    queue: consumed.length === 0 ? now.queue : now.queue.filter(({ id }) => !consumed.includes(id)),
  }
  // Messages that an earlier run left come before the prompt.
  now = { ...now, fold: withoutBegin(now.fold, { isBeginning: isBeginning && consumed.length > 0 }) }
  const { id: turnId, runId, createdAt: at } = turn
  const base = { kind: 'message', turnId, runId, seq, at, from: beganAt ?? seq } as const
  const back = rowsBefore(now, turnId, 'message').map((row) => ({ ...row, ...base }))
  const rows = back.length > 0 ? back : messagesOf(entry, queued, isNote).map((row) => ({ ...base, ...row }))
  for (const row of rows) now = addRow(now, row)
  return now
}

/** For turns without a run under way, of an import or brought back by an undo: only the first one of a run is its prompt. */
function beginsRun({ rows, fold }: SessionView, runId: string): boolean {
  let at = fold.committed - 1
  while (at >= 0 && !isTurn(rows.at(at)!)) at--
  const last = rows.at(at)
  const lastRun = at >= 0 && last && 'runId' in last ? last.runId : undefined
  return runId === '' || lastRun !== runId
}

/** A run has a turn, and may have no prompt yet. */
function withoutBegin(
  { beganAt: _, ...fold }: SessionView['fold'],
  { isBeginning }: { readonly isBeginning: boolean },
): SessionView['fold'] {
  return { ...fold, isBeginning }
}

type MessagePart = Pick<MessageRow, 'id' | 'content' | 'mode' | 'clientKey' | 'meta' | 'isNote'>

function messagesOf(
  { turn, consumed = [], clientKey }: EntryOf<'turn'>,
  queued: SessionView['queue'],
  isNote: boolean,
) {
  const more = { ...(clientKey !== undefined && { clientKey }), ...(turn.meta && { meta: turn.meta }) }
  // An imported log may lack the messages that a turn delivers.
  if (queued.length === 0 || queued.length < consumed.length)
    return [{ id: turn.id, content: turn.content, ...more, ...(isNote && { isNote: true as const }) }]
  const rows: MessagePart[] = queued.map(({ content, mode, clientKey, meta }, at) => ({
    id: at === 0 ? turn.id : `${turn.id}.${at + 1}`,
    content,
    mode,
    clientKey,
    ...(meta && { meta }),
  }))
  // Extensions may have added to the same turn.
  const rest = turn.content.slice(queued.reduce((sum, { content }) => sum + content.length, 0))
  return rest.length === 0 ? rows : [...rows, { id: `${turn.id}.note`, content: rest, isNote: true as const }]
}

function addAnswer(view: SessionView, { turn, seq, at: loggedAt }: EntryOf<'turn'>): SessionView {
  const { id, runId, createdAt: at, interrupted, model, provider, usage } = turn
  const calls = turn.content.filter((block) => block.type === 'tool_call')
  const content = turn.content.filter((block) => block.type !== 'tool_call' && block.type !== 'tool_result')
  const row: AnswerRow = {
    ...{ kind: 'answer', id, seq, at, runId, text: textOf(turn), thinking: thinkingOf(content), content },
    ...(interrupted && { isInterrupted: true }),
    ...(model !== undefined && { model }),
    ...(provider !== undefined && { provider }),
    ...(usage && { usage }),
  }
  const { retry: _, ...rest } = dropStreaming(view)
  let now = forgetUnlessBack(rest, id)
  const [answer] = rowsBefore(now, id, 'answer')
  const back = rowsBefore(now, id, 'call')
  now = addRow(now, answer ? { ...answer, seq } : row)
  const open = new Map<string, number>()
  for (const call of calls) {
    open.set(call.id, now.rows.length)
    const { result: _, ...known } =
      back.find((one) => one.id === call.id) ?? callRow(call, { seq, at: loggedAt, turnId: id })
    now = addRow(now, { ...known, seq, state: 'open' })
  }
  const used = usage ? { ...added(now.usage, usage), last: usage } : now.usage
  return { ...now, usage: used, fold: { ...withoutBegin(now.fold, { isBeginning: false }), open } }
}

function thinkingOf(content: readonly SessionContentBlock[]): string {
  let text = ''
  for (const block of content) if (block.type === 'thinking') text += block.text
  return text
}

/** Rows that began later go. A rewind to between a call and its results removes the call too, with the reply that made it. */
function rewind(view: SessionView, toSeq: number): SessionView {
  const before = dropStreaming(view).rows
  let length = before.length
  while (length > 0 && before.at(length - 1)!.seq > toSeq) length--
  let rows = before.take(length)
  let from = length - 1
  while (from >= 0 && !isTurn(rows.at(from)!)) from--
  const last = rows.slice(Math.max(0, from))
  if (last.some((row) => row.kind === 'call' && !(row.result && row.result.seq <= toSeq))) {
    rows = rows.take(from)
    length = from
    for (const row of last) if (row.kind === 'notice' || row.kind === 'compaction') rows = rows.push(row)
  }
  const queue = view.queue.filter(({ seq }) => seq <= toSeq)
  const fold = { ...view.fold, committed: rows.length, open: new Map() }
  return takeBack({ ...view, rows, queue, fold }, before.slice(length))
}

const isTurn = ({ kind }: Row): boolean => kind === 'message' || kind === 'answer'

function added(sum: UsageView, usage: TurnUsage): UsageView {
  const { cost } = usage
  return {
    ...sum,
    calls: sum.calls + 1,
    input: sum.input + number(usage.input),
    output: sum.output + number(usage.output),
    cacheRead: sum.cacheRead + number(usage.cacheRead),
    cacheCreation: sum.cacheCreation + number(usage.cacheCreation),
    ...(cost !== undefined && { cost: (sum.cost ?? 0) + number(cost) }),
  }
}

/** An imported log may hold anything. */
const number = (value: unknown): number => (typeof value === 'number' && Number.isFinite(value) ? value : 0)

const todoStatuses: readonly unknown[] = ['pending', 'in_progress', 'completed'] satisfies TodoView['status'][]

function todosOf(value: unknown): readonly TodoView[] {
  if (!Array.isArray(value)) return []
  return value.filter((one): one is TodoView => typeof one?.content === 'string' && todoStatuses.includes(one?.status))
}

type Notice = Pick<NoticeRow, 'about' | 'text' | 'run'>

/** What an entry tells a person about the session itself; `undefined` for all other entries. */
function noticeOf(entry: LogEntry): Notice | undefined {
  switch (entry.type) {
    case 'run_started':
      return entry.unconfined === undefined ? undefined : { about: 'sandbox', text: entry.unconfined }
    case 'run_ended': {
      const text = endingOf(entry)
      const { runId, status, stop, error } = entry
      const run = { runId, status, stop, ...(error && { error }) }
      return text === undefined ? undefined : { about: 'run', text, run }
    }
    case 'rewind': {
      const text = `Went back to entry ${entry.toSeq}; what came after it is no longer part of the conversation`
      return { about: 'rewind', text }
    }
    case 'label':
      return { about: 'label', text: `Label: ${entry.text}` }
    case 'parked':
      return { about: 'parked', text: `Parked: ${entry.reason}` }
    case 'unparked':
      return { about: 'unparked', text: 'Runs may be started again' }
    case 'state':
      if (entry.owner === 'snapshot') return rolledBack(entry.value)
      return entry.owner === 'fork' ? forkedFrom(entry.value) : undefined
    default:
      return undefined
  }
}

function endingOf({ status, stop, error }: EntryOf<'run_ended'>): string | undefined {
  if (status === 'completed') return limits.get(stop)
  if (status === 'suspended') return 'The run ended here, to wait for an answer'
  if (status === 'left') return 'The process left the run here, for another one to continue it'
  if (status === 'aborted') return stop === 'forked' ? undefined : 'Stopped'
  if (stop === 'crashed') return 'The process ended during this run'
  return `The run failed: ${error?.message ?? stop}`
}

function forkedFrom(value: unknown): Notice | undefined {
  if (typeof value !== 'object' || value === null || !('session' in value)) return undefined
  return { about: 'fork', text: `A copy of session ${String(value.session)} up to here` }
}

/** A rollback that rewinds has the notice of its rewind. */
function rolledBack(value: unknown): Notice | undefined {
  const begun = isRecord(value) ? value.rollback : undefined
  if (!isRecord(begun)) return undefined
  if (begun.added !== undefined)
    return { about: 'rewind', text: 'What was taken back is part of the conversation again' }
  if (begun.scope !== 'files') return undefined
  return { about: 'files', text: `The files were restored to how they were after entry ${String(begun.to)}` }
}

/** The limits that end a run as completed. */
const limits = new Map([
  ['max_turns', 'The run ended at its limit of model calls; the task may be unfinished'],
  ['budget', 'The run ended because its budget is used up; the task may be unfinished'],
])

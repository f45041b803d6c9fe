import { editOutcomesIn } from '../core/edit-outcomes.ts'
import { questionAbout } from '../core/interaction.ts'
import { isRecord } from '../core/is-record.ts'
import type { EntryOf } from '../core/log.ts'
import { parsePreview } from '../core/tool.ts'
import type { ToolCallBlock } from '../core/turn.ts'
import { addRow, changeCall } from './change-rows.ts'
import type { ApprovalView, CallResultView, CallRow } from './rows.ts'
import type { JobView, SessionView } from './session-view.ts'

/** The calls without a result, those included that the model still writes. */
export function openCalls({ rows, fold }: SessionView): readonly CallRow[] {
  const committed = [...fold.open.values()].map((at) => rows.at(at))
  return [...committed, ...rows.slice(fold.committed)].filter((row) => row?.kind === 'call')
}

/** For a view that does not begin with the log: with the calls that earlier entries left open. */
export function expectCalls(view: SessionView, calls: readonly ToolCallBlock[]): SessionView {
  let now = view
  for (const call of calls) {
    const open = new Map(now.fold.open).set(call.id, now.fold.committed)
    const added = addRow(now, callRow(call, { seq: now.head, at: 0, turnId: '' }))
    now = { ...added, fold: { ...added.fold, open } }
  }
  const status = { ...now.fold.status, ...(calls.length > 0 && { openCalls: calls.map(({ id }) => id) }) }
  return { ...now, fold: { ...now.fold, status } }
}

/** The row of a call that the model made. */
export function callRow(
  { id, name, input, raw }: ToolCallBlock,
  { seq, at, turnId }: Pick<CallRow, 'seq' | 'at' | 'turnId'>,
): CallRow {
  return { kind: 'call', id, seq, at, turnId, name, input, state: 'open', ...(raw !== undefined && { raw }) }
}

export function startCall(view: SessionView, entry: EntryOf<'call_started'>): SessionView {
  const { callId, seq, at, attempt, origin } = entry
  return changeCall(view, callId, (before) => {
    const { waitsFor: _, ...row } = before
    if (row.id === callId) return { ...row, state: 'running', started: { seq, at, attempt }, ...(origin && { origin }) }
    return before.state === 'running' ? before : { ...row, state: 'running' } // its tool made the call
  })
}

/** A run ended: a call that runs was suspended, to wait for an answer or for its sub-agent, or was interrupted. */
export function pauseCalls(
  view: SessionView,
  { status, stop }: Pick<EntryOf<'run_ended'>, 'status' | 'stop'>,
): SessionView {
  let now = view
  for (const { id, state } of openCalls(view)) {
    if (state !== 'running') continue
    const waitsFor = stop === 'permission-required' ? 'permission' : 'answer'
    now = changeCall(now, id, (row) =>
      status === 'suspended' ? { ...row, state: 'waiting', waitsFor } : { ...row, state: 'open' },
    )
  }
  return now
}

export function resultOf({ seq, at, output, outcome, isError, details }: EntryOf<'call_result'>): CallResultView {
  const edits = editOutcomesIn(details)
  const diff = isRecord(details) && typeof details.diff === 'string' && details.diff
  return {
    ...{ seq, at, output, outcome },
    ...(isError && { isError }),
    ...(details !== undefined && { details }),
    ...(diff && { diff }),
    ...(edits && { edits }),
  }
}

export function endCall(view: SessionView, callId: string, result: CallResultView): SessionView {
  if (!view.fold.open.has(callId)) {
    const jobs = jobsAfter(view.jobs, callId, result.details) // made by a tool or for the person, or answered before
    return jobs === view.jobs ? view : { ...view, jobs }
  }
  const ended = changeCall(view, callId, ({ waitsFor: _, ...row }) => ({ ...row, state: 'over', result }))
  const open = new Map(view.fold.open)
  open.delete(callId)
  return { ...ended, jobs: jobsAfter(view.jobs, callId, result.details), fold: { ...view.fold, open } }
}

export function requestApproval(view: SessionView, entry: EntryOf<'approval_requested'>): SessionView {
  const { callId, seq, digest, reason, request, origin, call } = entry
  const preview = parsePreview(questionAbout(request, callId).preview)
  const approval: ApprovalView = {
    ...{ seq, callId, digest },
    ...(call && { call }),
    ...(reason !== undefined && { reason }),
    ...(request !== undefined && { request }),
    ...(preview && { preview }),
  }
  return changeCall(view, callId, (row) => ({
    ...row,
    state: 'waiting',
    // A question that is no approval has neither a request nor a digest.
    waitsFor: request === undefined && digest === callId ? 'answer' : 'permission',
    approvals: [...(row.approvals ?? []), approval],
    ...(origin && row.id === callId && { origin }),
  }))
}

/** The first answer counts, and only if it has the digest of the question. */
export function answerApproval(view: SessionView, entry: EntryOf<'approval_answered'>): SessionView {
  const { seq, at, decision, by, scope, where, note, edits, clientKey, callId, digest } = entry
  const more = { ...(scope && { scope }), ...(where && { where }), ...(note && { note }), ...(edits && { edits }) }
  const answer = { seq, at, decision, by, ...more, ...(clientKey !== undefined && { clientKey }) }
  return changeCall(view, callId, (row) => {
    const { approvals = [] } = row
    const place = approvals.findLastIndex((one) => one.callId === callId)
    const asked = approvals[place]
    if (!asked || asked.answer || asked.digest !== digest) return row
    return answered(row, approvals.with(place, { ...asked, answer }))
  })
}

/** The answer to a question of a tool. The question itself is in the arguments of the call, and may have no entry. */
export function answerQuestion(view: SessionView, entry: EntryOf<'input'>): SessionView {
  const { callId, seq, at, content: note, clientKey } = entry
  if (callId === undefined) return view
  const answer = { seq, at, decision: 'reply', note, clientKey } as const
  return changeCall(view, callId, (row) => {
    const { approvals = [] } = row
    const place = approvals.findLastIndex((one) => one.callId === callId && !one.answer)
    const asked = approvals[place]
    const all = asked
      ? approvals.with(place, { ...asked, answer })
      : [...approvals, { seq, callId, digest: callId, answer }]
    return answered(row, all)
  })
}

function answered({ waitsFor: _, ...row }: CallRow, approvals: readonly ApprovalView[]): CallRow {
  return { ...row, state: row.started ? 'running' : 'open', approvals }
}

/** The shell tools tell of jobs in the details of their results: of one, or of all. */
function jobsAfter(jobs: readonly JobView[], callId: string, details: unknown): readonly JobView[] {
  const told = (isRecord(details) && Array.isArray(details.jobs) ? details.jobs : [details]).filter(isJob)
  if (told.length === 0) return jobs
  const others = jobs.filter((known) => !told.some(({ job }) => job === known.job))
  return [...others, ...told.filter(({ isRunning }) => isRunning).map(({ job, command }) => ({ job, command, callId }))]
}

interface ToldJob {
  readonly job: number
  readonly command: string
  readonly isRunning: boolean
}

function isJob(value: unknown): value is ToldJob {
  const { job, command, isRunning } = (value ?? {}) as Partial<ToldJob>
  return typeof job === 'number' && typeof command === 'string' && typeof isRunning === 'boolean'
}

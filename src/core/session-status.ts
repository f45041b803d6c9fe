import type { EntryBody, EntryOf, LogEntry } from './log-entry.ts'
import type { SessionStatus } from './session-summary.ts'
import { type SessionContentBlock, type SessionTurn, toolCallsOf } from './turn.ts'

/** What the status of a session follows from. A store keeps it beside the log. */
export interface StatusFacts {
  /** Without regard to the lease. */
  readonly status: SessionStatus
  /** For a parked session: the status that it gets when it is unparked. */
  readonly statusBeneath?: SessionStatus
  /** A run has begun and not ended. */
  readonly isActive?: true
  /** The last run. */
  readonly runId?: string
  /** The calls of the last reply that have no result yet. */
  readonly openCalls?: readonly string[]
  /** The calls that wait for an approval, with the digest of each request. */
  readonly asked?: readonly (readonly [callId: string, digest: string])[]
  /** An answer came after the run was suspended. */
  readonly isAnswered?: true
}

type Draft = { -readonly [Key in keyof StatusFacts]: StatusFacts[Key] }

/** Changes the facts by an entry. Entries of other versions and imported ones may lack fields or have wrong ones. */
export function foldStatus(draft: Draft, entry: LogEntry): void {
  const change = changes[entry.type] as ((draft: Draft, entry: LogEntry) => void) | undefined
  change?.(draft, entry)
}

/** Whether the status may follow from entries of this type. */
export const concernsStatus = ({ type }: LogEntry): boolean => Object.hasOwn(changes, type)

const changes: { readonly [Type in EntryBody['type']]?: (draft: Draft, entry: EntryOf<Type>) => void } = {
  run_started(draft, { runId }) {
    draft.isActive = true
    draft.runId = runId
    delete draft.isAnswered
    setActiveStatus(draft)
  },
  run_ended(draft, { runId, status, error }) {
    if (!isLastRun(draft, runId)) return // a later run is under way
    delete draft.isActive
    setStatus(draft, statusAfter(status, error !== undefined))
  },
  input(draft, { mode }) {
    if (mode === 'answer') noteAnswer(draft)
  },
  turn(draft, { turn }) {
    const content = blocksOf(turn)
    if (turn.role === 'user') {
      for (const block of content) if (block.type === 'tool_result') closeCall(draft, block.callId)
      return
    }
    setOpenCalls(
      draft,
      toolCallsOf({ ...turn, content }).map(({ id }) => id), // those of earlier turns are no longer open
    )
    setAsked(draft, [])
  },
  approval_requested(draft, { callId, digest }) {
    if (typeof callId === 'string' && typeof digest === 'string')
      setAsked(draft, [...othersAsked(draft, callId), [callId, digest]])
  },
  approval_answered(draft, { callId, digest }) {
    const asked = draft.asked?.find(([id]) => id === callId)
    if (asked?.[1] !== digest) return // only an answer to this very request counts
    setAsked(draft, othersAsked(draft, callId))
    noteAnswer(draft)
  },
  call_started(draft, { callId }) {
    setAsked(draft, othersAsked(draft, callId))
  },
  call_result(draft, { callId }) {
    closeCall(draft, callId)
  },
  rewind(draft) {
    delete draft.isAnswered
    setOpenCalls(draft, [])
    setAsked(draft, [])
    if (!draft.isActive) setStatus(draft, 'idle')
  },
  parked(draft) {
    if (draft.status !== 'parked') draft.statusBeneath = draft.status
    draft.status = 'parked'
  },
  unparked(draft) {
    if (draft.status === 'parked') draft.status = draft.statusBeneath ?? 'idle'
    delete draft.statusBeneath
  },
}

/** A reader of the end of a log knows no run yet. */
const isLastRun = (draft: Draft, runId: string): boolean =>
  draft.runId === undefined || (draft.isActive === true && runId === draft.runId)

/** The blocks of a turn, without what is none. */
export function blocksOf({ content }: SessionTurn): readonly SessionContentBlock[] {
  return Array.isArray(content) ? content.filter((block) => typeof block === 'object' && block !== null) : []
}

/** A parked session stays parked until it is unparked. */
export function setStatus(draft: Draft, status: SessionStatus): void {
  if (draft.status === 'parked') draft.statusBeneath = status
  else draft.status = status
}

function setActiveStatus(draft: Draft): void {
  if (draft.isActive) setStatus(draft, draft.asked ? 'waiting' : 'working')
}

function othersAsked({ asked = [] }: Draft, callId: string): NonNullable<StatusFacts['asked']> {
  return asked.filter(([id]) => id !== callId)
}

/** Requests stay here when the run ends: a later run waits for the same answer without a new request. */
function setAsked(draft: Draft, asked: NonNullable<StatusFacts['asked']>): void {
  if (asked.length > 0) draft.asked = asked
  else delete draft.asked
  setActiveStatus(draft)
}

function closeCall(draft: Draft, callId: string): void {
  const isWithin = (id: string): boolean => id === callId || id.startsWith(`${callId}.`) // or a call that it made
  setOpenCalls(draft, draft.openCalls?.filter((id) => id !== callId) ?? [])
  setAsked(draft, draft.asked?.filter(([id]) => !isWithin(id)) ?? [])
  // All calls of a suspended run have results now, although no run continued it: a new message or the parent gave them.
  if (draft.openCalls || draft.isActive || draft.status !== 'waiting') return
  draft.status = 'idle'
  delete draft.isAnswered
}

function setOpenCalls(draft: Draft, calls: readonly string[]): void {
  if (calls.length > 0) draft.openCalls = calls
  else delete draft.openCalls
}

function statusAfter(status: EntryOf<'run_ended'>['status'], hasError: boolean): SessionStatus {
  if (status === 'suspended') return 'waiting'
  if (status === 'left') return 'interrupted'
  if (status !== 'error') return 'idle'
  return hasError ? 'failed' : 'interrupted'
}

function noteAnswer(draft: Draft): void {
  if (!draft.isActive && draft.status === 'waiting') draft.isAnswered = true
}

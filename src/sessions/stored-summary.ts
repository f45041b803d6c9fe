import type { EntryBody, EntryOf, InboxItem, LogEntry } from '../core/log.ts'
import type { Attention, SessionDetails, SessionStatus, SessionSummary } from '../core/store.ts'
import { isProgress } from '../core/transcript.ts'
import { toolCallsOf } from '../core/turn.ts'
import { agentDetails, statusOfYield } from './agent-states.ts'
import { plainText, readableDetails, titleOf } from './summary-texts.ts'

/**
 * The part of a session's summary that is computed from its entries alone. A store updates it with each append and keeps it
 * beside the log, so that lists need not read the log. Stores keep it under the name `record`.
 */
export interface StoredSummary extends SessionDetails {
  readonly head: number
  readonly createdAt: number
  readonly updatedAt: number
  readonly turns: number
  readonly calls: number
  readonly tokens: number
  readonly cost: number
  readonly bytes: number
  /** Without regard to the lease. */
  readonly status: SessionStatus
  /** For a parked session: the status that it gets when it is unparked. */
  readonly statusBeneath?: SessionStatus
  /** A run has begun and not ended. */
  readonly isActive?: true
  /** The last run. */
  readonly runId?: string
  /** The process of the last run. */
  readonly processId?: string
  /** The calls of the last reply that have no result yet. */
  readonly openCalls?: readonly string[]
  /** The calls that wait for an approval, with the digest of each request. */
  readonly asked?: readonly (readonly [callId: string, digest: string])[]
  /** An answer came after the run was suspended. */
  readonly isAnswered?: true
  /** Accepted messages that no turn has delivered yet: the id and the number of each entry. */
  readonly undelivered: readonly (readonly [id: string, seq: number])[]
  readonly checkpoint?: number
  /**
   * Crashes of a process that held other sessions too, in runs without progress of this one: it may be the cause. 0 from the
   * beginning of a run, absent once it has made progress.
   */
  readonly suspicions?: number
}

export const emptySummary: StoredSummary = {
  ...{ head: 0, createdAt: 0, updatedAt: 0, turns: 0, calls: 0, tokens: 0, cost: 0, bytes: 0 },
  status: 'idle',
  undelivered: [],
}

/** The summary of a session to which these entries were appended. `bytes` is their approximate size in the store. */
export function applyEntries(summary: StoredSummary, entries: readonly LogEntry[], bytes: number): StoredSummary {
  const first = entries[0]
  if (!first) return summary
  const draft: Draft = { ...summary, createdAt: summary.head === 0 ? numberIn(first.at) : summary.createdAt }
  for (const entry of entries) {
    draft.head = entry.seq
    draft.updatedAt = numberIn(entry.at) || draft.updatedAt
    fold(draft, entry)
  }
  draft.bytes += bytes
  return draft
}

type Draft = { -readonly [Key in keyof StoredSummary]: StoredSummary[Key] }

/** Entries of other versions and imported ones may lack fields or have wrong ones, so nothing is taken for granted. */
function fold(draft: Draft, entry: LogEntry): void {
  const change = changes[entry.type] as ((draft: Draft, entry: LogEntry) => void) | undefined
  try {
    if (draft.suspicions !== undefined && isProgress(entry)) delete draft.suspicions
    change?.(draft, entry)
  } catch {
    // A malformed entry changes nothing here; reading the log reports it.
  }
}

/** More are not remembered, because the summary is written with each append. */
const maxUndelivered = 200

const changes: { readonly [Type in EntryBody['type']]?: (draft: Draft, entry: EntryOf<Type>) => void } = {
  details(draft, entry) {
    Object.assign(draft, readableDetails(entry))
  },
  run_started(draft, { runId, processId }) {
    draft.isActive = true
    draft.runId = runId
    draft.suspicions ??= 0
    delete draft.isAnswered
    if (typeof processId === 'string') draft.processId = processId
    else delete draft.processId
    setActiveStatus(draft)
  },
  run_ended(draft, { runId, status, stop, error, dropsTo, sharedCrash }) {
    if (dropsTo !== undefined) draft.undelivered = draft.undelivered.filter(([, seq]) => seq > dropsTo)
    if (sharedCrash && draft.suspicions !== undefined) draft.suspicions++
    if (stop !== 'crashed' && status !== 'left') delete draft.suspicions // its process has outlived the run
    if (!draft.isActive || runId !== draft.runId) return // a later run is under way
    delete draft.isActive
    setStatus(draft, statusAfter(status, error !== undefined))
  },
  input(draft, { mode, id, seq, content }) {
    if (mode === 'answer') noteAnswer(draft)
    else if (mode !== 'stop' && typeof id === 'string') {
      draft.undelivered = [...draft.undelivered, [id, seq] as const].slice(-maxUndelivered)
      draft.title ||= titleOf(content)
    }
  },
  withdrawn(draft, { input }) {
    draft.undelivered = draft.undelivered.filter(([id]) => id !== input)
  },
  turn(draft, { turn, consumed }) {
    const { role, content, usage } = turn
    draft.turns++
    addUsage(draft, usage)
    if (consumed) draft.undelivered = draft.undelivered.filter(([id]) => !consumed.includes(id))
    const blocks = Array.isArray(content) ? content.filter((block) => typeof block === 'object' && block !== null) : []
    if (role === 'user') {
      draft.title ||= titleOf(blocks)
      for (const block of blocks) if (block.type === 'tool_result') closeCall(draft, block.callId)
      return
    }
    const calls = toolCallsOf({ role, content: blocks }).map(({ id }) => id)
    draft.calls += calls.length
    setOpenCalls(draft, calls) // those of earlier turns are no longer open
    setAsked(draft, [])
  },
  usage(draft, { usage }) {
    addUsage(draft, usage)
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
  rewind(draft, { toSeq }) {
    draft.undelivered = draft.undelivered.filter(([, seq]) => seq <= toSeq)
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
    delete draft.suspicions
  },
  checkpoint(draft, { seq }) {
    draft.checkpoint = seq
  },
  state(draft, { owner, value }) {
    if (owner === 'workflow:agent') Object.assign(draft, agentDetails(value, draft))
    if (owner === 'workflow:yield') noteYield(draft, value)
    // The command line of earlier versions recorded the folder as its state.
    const cwd = owner === 'cli' ? (value as { readonly cwd?: unknown } | null)?.cwd : undefined
    if (typeof cwd === 'string' && cwd !== '') draft.folder ??= plainText(cwd)
  },
}

/** A parked session stays parked until it is unparked. */
function setStatus(draft: Draft, status: SessionStatus): void {
  if (draft.status === 'parked') draft.statusBeneath = status
  else draft.status = status
}

function setActiveStatus(draft: Draft): void {
  if (draft.isActive) setStatus(draft, draft.asked ? 'waiting' : 'working')
}

function othersAsked({ asked = [] }: Draft, callId: string): NonNullable<StoredSummary['asked']> {
  return asked.filter(([id]) => id !== callId)
}

/** Requests stay here when the run ends: a later run waits for the same answer without a new request. */
function setAsked(draft: Draft, asked: NonNullable<StoredSummary['asked']>): void {
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

function noteYield(draft: Draft, value: unknown): void {
  const status = statusOfYield(value)
  if (!status || draft.isActive) return
  setStatus(draft, status)
  delete draft.isAnswered
}

function addUsage(draft: Draft, usage: EntryOf<'usage'>['usage'] | undefined): void {
  draft.tokens += numberIn(usage?.input) + numberIn(usage?.output)
  draft.cost += numberIn(usage?.cost)
}

/** The number, or 0 if it is none. */
const numberIn = (value: unknown): number => (typeof value === 'number' && Number.isFinite(value) ? value : 0)

/** What a store knows of a session beside the stored summary. */
export interface SessionPresence {
  readonly id: string
  readonly parent?: string | undefined
  /** Whether a living process holds the lease. */
  readonly isHeld: boolean
  /** Messages in the inbox, and whether one of them is an answer. */
  readonly mail: 'none' | 'messages' | 'answer'
}

/** The mail of an inbox. */
export function mailIn(inbox: readonly Pick<InboxItem, 'mode'>[]): SessionPresence['mail'] {
  if (inbox.some(({ mode }) => mode === 'answer')) return 'answer'
  return inbox.length > 0 ? 'messages' : 'none'
}

/** The summary that a store gives to its callers: the stored one, with what the store knows now. */
export function summaryOf(stored: StoredSummary, { id, parent, isHeld, mail }: SessionPresence): SessionSummary {
  const { head, createdAt, updatedAt, turns, calls, tokens, cost, bytes, tags = [] } = stored
  const { title, tenant, kind, folder, checkpoint, suspicions } = stored
  const attention = isHeld ? undefined : attentionOf(stored, mail)
  return {
    ...{ id, head, createdAt, updatedAt, turns, calls, tokens, cost, bytes, tags },
    status: stored.isActive && !isHeld && stored.status !== 'parked' ? 'interrupted' : stored.status,
    ...(attention && { attention }),
    ...(isHeld && { isHeld }),
    ...(parent !== undefined && { parent }),
    ...(title && { title }),
    ...(tenant !== undefined && { tenant }),
    ...(kind !== undefined && { kind }),
    ...(folder !== undefined && { folder }),
    ...(checkpoint !== undefined && { checkpoint }),
    ...(suspicions !== undefined && { suspicions }),
  }
}

/** Why a session needs attention, if no living process holds its lease. */
export function attentionOf(stored: StoredSummary, mail: SessionPresence['mail']): Attention | undefined {
  if (stored.status === 'parked') return undefined
  if (stored.isActive) return 'owner_died'
  if (stored.status === 'interrupted') return 'interrupted'
  if (stored.isAnswered || mail === 'answer') return 'answered'
  return mail === 'messages' || stored.undelivered.length > 0 ? 'mail' : undefined
}
